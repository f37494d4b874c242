import math

import numpy as np
import pytest

from remora.memory.lexical import (
    K1,
    B,
    TermGroup,
    coverage,
    gram_shares,
    idf,
    idf_cosine,
    score_rows,
    telling_grams,
    trigrams,
)
from remora.memory.words import index_row
from remora.model.search import TermStats


def rows(*entries):
    return [(entry.length, entry.tf) for entry in entries]


def test_bm25_by_hand():
    found = score_rows([TermGroup("cat", ("cat",), 1, 2.0)], rows(index_row("cat cat dog")), 6.0).bm25
    assert found[0] == pytest.approx(2.0 * 2 * (K1 + 1) / (2 + K1 * (1 - B + B * 3 / 6)))


def test_columns_are_summed_before_saturation():
    groups = [TermGroup("cat", ("cat",), 1, 1.0)]
    both, body, context = score_rows(
        groups, rows(index_row("cat", "cat"), index_row("cat", "dog"), index_row("dog", "cat")), 2.0
    ).bm25
    assert both < body + context
    assert both > body > context


def test_where_a_term_stands():
    groups = [TermGroup("cat", ("cat",), 1, 1.0), TermGroup("dog", ("dog",), 1, 3.0)]
    found = score_rows(groups, rows(index_row("cat", "dog"), index_row("bird", tags="dog")), 2.0)
    assert found.own.tolist() == [[True, False], [False, True]]
    assert found.body.tolist() == [[True, False], [False, False]]
    assert found.anywhere.tolist() == [[True, True], [False, True]]
    assert found.fields.tolist() == [False, True]
    assert coverage(found.anywhere, groups, 4.0).tolist() == [0.5, 0.375]


def test_stems_of_several_languages_are_one_term():
    group = TermGroup("Banken", ("bank", "banken"), 2, 1.0)
    found = score_rows([group], rows(index_row("bank"), index_row("banken", lang="zh")), 1.0).bm25
    assert found[0] == found[1] > 0


def test_no_terms_or_no_rows():
    assert score_rows([], rows(index_row("x")), 1.0).bm25.tolist() == [0.0]
    assert score_rows([TermGroup("x", ("x",), 1, 1.0)], [], 1.0).bm25.tolist() == []


def test_gram_shares_need_one_word_well():
    shares = gram_shares(["username"], ["the getUserName call", "user of it", "nothing"], {}, 10)
    assert shares[0] == pytest.approx(1.0)
    assert shares[1] == shares[2] == 0.0


def test_gram_shares_forgive_a_typing_error():
    assert gram_shares(["kubernets"], ["a kubernetes cluster"], {}, 10)[0] > 0.5


def test_trigrams():
    assert trigrams("abcab") == ["abc", "bca", "cab"]
    assert trigrams("ab") == ["ab"]


def test_idf_never_goes_below_zero():
    assert idf(10, 50) > 0
    assert idf(1000, 1) > idf(1000, 500)


def test_idf_cosine():
    stats = TermStats(1000, 5.0, {"limit": 10, "is": 900})
    assert idf_cosine(["limit", "is"], ["limit", "is"], stats) == pytest.approx(1.0)
    assert idf_cosine(["limit"], ["is"], stats) == 0.0
    assert idf_cosine([], [], stats) == 0.0
    alike = idf_cosine(["limit", "is"], ["limit"], stats)
    assert math.isclose(alike, 1.0, abs_tol=0.01)
    assert np.isfinite(alike)


def test_trigrams_that_are_spread_over_a_long_text_are_no_word():
    text = " ".join(f"{gram}x filler words between them" for gram in trigrams("education"))
    assert gram_shares(["education"], [text], {}, 10)[0] == 0.0


def test_every_text_that_holds_enough_of_a_word_has_a_telling_trigram():
    word = "kubernetes"
    telling = telling_grams(word, {gram: 100 - number for number, gram in enumerate(trigrams(word))})
    assert len(telling) < len(trigrams(word))
    for start in range(len(word)):
        for end in range(start + 3, len(word) + 1):
            if gram_shares([word], [word[start:end]], {}, 10)[0]:
                assert any(gram in word[start:end] for gram in telling)
