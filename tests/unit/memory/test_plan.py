from remora.memory.plan import MOST_TERMS, content_words, plan, store_languages, term_tokens, weigh
from remora.model.search import TermStats


def test_identifiers_and_phrases_are_literals():
    found = plan('why does "connection reset" follow ERR-404 in src/net/pool.py?')
    assert found.identifiers == ("ERR-404", "src/net/pool.py")
    assert found.phrases == ("connection reset",)
    assert found.literals == ("ERR-404", "src/net/pool.py", "connection reset")


def test_scripts():
    assert plan("数据库备份什么时候").cjk
    assert plan("где ключ").latin_share == 0
    assert plan("where is it").latin_share == 1


def test_stop_words_of_one_language_only():
    assert content_words(["when", "did", "the", "war", "start"], ("en", "de")) == ("war", "start")
    assert content_words(["was", "war", "das", "Limit"], ("en", "de")) == ("Limit",)


def test_nothing_left_keeps_all():
    assert content_words(["to", "be", "or", "not", "to", "be"], ("en",)) == ("to", "be", "or", "not", "to", "be")


def test_languages_of_a_store():
    assert store_languages({"en": 900, "de": 99, "fr": 1}) == ("en", "de")
    assert store_languages({}) == ("en",)


def test_one_group_for_the_stems_of_a_word():
    assert term_tokens(["Datenbanken"], ("de", "en")) == {("datenbank", "datenbanken"): "Datenbanken"}


def test_unknown_words_keep_their_weight():
    terms = weigh({("known",): "known", ("never",): "never"}, TermStats(100, 5.0, {"known": 50}))
    assert [group.word for group in terms.groups] == ["known"]
    assert terms.unknown == ("never",)
    assert terms.unknown_mass > terms.groups[0].idf


def test_a_log_is_cut_to_its_rarest_terms():
    text = "\n".join(f"word{number} in line" for number in range(500)) + "\nValueError: bad thing at app/main.py:3"
    found = plan(text)
    stats = TermStats(1000, 9.0, {f"word{number}": number + 1 for number in range(500)})
    assert found.words[0] == "ValueError"
    assert len(weigh(term_tokens(found.words, ("en",)), stats).groups) == MOST_TERMS
    assert len(found.dense_texts) == 2
