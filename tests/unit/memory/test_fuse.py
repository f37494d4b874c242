import random

import numpy as np
import pytest
from bench.shelf import DAY, Shelf

from remora.memory.fuse import search
from remora.memory.plan import plan
from remora.memory.relevance import load_model
from remora.model.search import Where


def ask(shelf, query, **options):
    return search(shelf, plan(query), Where(), **options)


def found(shelf, query, **options):
    return [shelf.facts_of[hit.row].content for hit in ask(shelf, query, **options).hits]


def unit(*numbers):
    vector = np.array(numbers, np.float32)
    return vector / np.linalg.norm(vector)


@pytest.fixture
def notes():
    shelf = Shelf()
    for text in ("The limit is 200 requests a minute", "The office is near the harbour", "Bees navigate by the sun"):
        shelf.put(text)
    return shelf


def test_words_find(notes):
    assert found(notes, "what is the request limit?")[0] == "The limit is 200 requests a minute"


def test_an_empty_store_and_an_unknown_query(notes):
    assert ask(Shelf(), "anything").hits == ()
    assert ask(notes, "zebra").hits == ()


def test_a_turn_is_found_by_the_turn_before_it():
    shelf = Shelf()
    shelf.put("Ana: Which dog did you get?", conversation="c", session="s")
    shelf.put("Bo: A beagle!", conversation="c", session="s")
    shelf.put("Bo: A beagle!", conversation="d", session="s")
    hits = {hit.row: hit for hit in ask(shelf, "the dog that he got").hits}
    assert set(hits) == {0, 1}
    assert hits[1].reasons[0].startswith("context")


def test_the_speaker_who_is_named_goes_first():
    shelf = Shelf()
    shelf.put("Ana: I like red tulips a lot", conversation="c", session="1")
    shelf.put("Bo: I like red tulips a lot", conversation="d", session="2")
    assert found(shelf, "Which tulips does Bo like?")[0].startswith("Bo")


def test_a_question_answers_less_than_a_statement():
    shelf = Shelf()
    shelf.put("Do you like tulips from Holland?", conversation="c", session="1", speaker="a")
    shelf.put("Yes I like tulips from Holland!", conversation="d", session="1", speaker="b")
    assert not found(shelf, "tulips from Holland")[0].endswith("?")


def test_identifiers_stand_above_everything():
    shelf = Shelf()
    for number in range(40):
        shelf.put(f"the build error in the deploy pipeline of the web server failed again, try {number}")
    shelf.put("ERR-4711 seen once")
    assert found(shelf, "error ERR-4711 in the deploy pipeline of the web server")[0] == "ERR-4711 seen once"


def test_more_of_the_identifiers_stand_above_fewer():
    shelf = Shelf()
    shelf.put("QX-104432 QX-104432 QX-104432 and more about QX-104432")
    shelf.put("a note with QX-104432 and also ZZ-99817 in a rather long text that says much about other things too")
    assert found(shelf, "QX-104432 ZZ-99817")[0].startswith("a note")


def test_a_quoted_phrase_must_be_met():
    shelf = Shelf()
    shelf.put("reset the connection, connection reset reset")
    shelf.put("it said: connection was reset by peer")
    shelf.put("connection reset by peer")
    assert found(shelf, '"connection reset by peer"')[0] == "connection reset by peer"


def test_two_hundred_unique_codes_are_found_first():
    rng = random.Random(1)
    shelf = Shelf()
    words = ["build", "server", "order", "invoice", "customer", "payment", "cache", "queue", "login", "report"]
    codes = []
    for number in range(1200):
        code = f"{''.join(rng.choices('ABCDEFGHJK', k=2))}-{rng.randrange(10**6):06d}"
        shelf.put(f"{' '.join(rng.choices(words, k=8))} {code} {' '.join(rng.choices(words, k=4))}")
        if number % 6 == 0:
            codes.append((number, code))
    for row, code in codes:
        assert ask(shelf, f"what was the {rng.choice(words)} {rng.choice(words)} with {code}?").hits[0].row == row


def test_a_joined_word_is_found_by_its_letters():
    shelf = Shelf()
    shelf.put("call getUserName before the profile opens")
    shelf.put("the weather is fine today")
    for query in ("getUserName", "get user name", "username"):
        assert found(shelf, query)[0].startswith("call"), query


def test_a_compound_is_found_by_a_part():
    shelf = Shelf()
    shelf.put("Die Wärmepumpenförderung läuft im Herbst aus und wird nicht verlängert")
    shelf.put("Der Hausmeister ist im Urlaub und kommt erst am Montag wieder")
    assert found(shelf, "Wärmepumpen")[0].startswith("Die Wärme")


def test_chinese_and_korean():
    shelf = Shelf()
    for text in (
        "数据库每天凌晨三点备份",
        "奶奶的生日是五月初十",
        "회의실 예약은 하루 전에 해야 한다",
        "고양이 이름은 보리이다",
    ):
        shelf.put(text)
    assert found(shelf, "什么时候备份数据库")[0].startswith("数据库")
    assert found(shelf, "고양이의 이름")[0].startswith("고양이")


def test_vectors_find_what_words_do_not():
    shelf = Shelf()
    shelf.put("The feline rests", vector=unit(1, 0.1, 0))
    for number in range(5):
        shelf.put(f"Something else {number}", vector=unit(0, 1, number))
    ranking = ask(shelf, "cat sleeping", vectors=[unit(1, 0, 0)], space="s")
    assert shelf.facts_of[ranking.hits[0].row].content == "The feline rests"
    assert ranking.mode_used == "hybrid"
    assert any("cosine" in reason for reason in ranking.hits[0].reasons)


def test_rows_without_vector_take_part_by_words():
    shelf = Shelf()
    shelf.put("tulips and roses", vector=unit(1, 0))
    shelf.put("tulips from the market in town")
    hits = ask(shelf, "tulips market", vectors=[unit(1, 0)], space="s").hits
    assert {hit.row for hit in hits} == {0, 1}


def test_semantic_without_vectors_says_that_it_is_lexical(notes):
    ranking = ask(notes, "limit", mode="semantic")
    assert ranking.mode_used == "lexical"
    assert ranking.warnings


def test_scores_never_grow_down_the_list_and_say_their_kind(notes):
    for model in (None, load_model()[0]):
        ranking = ask(notes, "is the office near the limit of the sun?", model=model)
        scores = [hit.score for hit in ranking.hits]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)
        assert ranking.score_kind == ("calibrated" if model else "uncalibrated")


def test_the_answer_is_surer_than_a_word_in_common(notes):
    model = load_model()[0]
    sure = ask(notes, "bees navigate by the sun", model=model).hits[0].score
    unsure = ask(notes, "is the wedding near Rome?", model=model).hits
    assert sure > 0.5
    assert unsure[0].score < 0.5


def test_ties_go_to_the_newer():
    shelf = Shelf()
    shelf.put("same words", at=DAY)
    shelf.put("same words", at=DAY + 1)
    assert [hit.row for hit in ask(shelf, "same words").hits] == [1, 0]


@pytest.mark.parametrize("query", ['"', 'a" OR b', "*", "NEAR(", "\0", "word " * 10_000, "x" * 100_000, "?", "\ud800"])
def test_no_query_is_an_error(notes, query):
    ask(notes, query)


def test_code_is_ranked_by_meaning():
    shelf = Shelf()
    shelf.put("def retry(times):\n    for n in range(times):\n        run(n)\n", vector=unit(1, 0.2))
    shelf.put("def call(again):\n    for wait in again:\n        run(wait)\n", vector=unit(0.2, 1))
    assert found(shelf, "call again after a wait", vectors=[unit(1, 0)], space="s")[0].startswith("def retry")
