from __future__ import annotations

import pytest

from remora.gateway.compression.unusual import chunks, read, shape

REQUESTS = [f"GET /item/{i * 37 % 101} 200 in {20 + i * 7 % 9} ms" for i in range(60)]


def test_a_number_far_from_the_others_at_its_place_stands_out() -> None:
    lines = [*REQUESTS]
    lines[40] = "GET /item/40 200 in 9000 ms"
    outlier = shape(lines).outlier
    assert outlier[40] == 1.0
    assert outlier.sum() == 1.0


def test_counters_that_rise_are_no_outliers() -> None:
    assert not shape([f"tick {i * i * i} done" for i in range(60)]).outlier.any()


def test_few_of_a_shape_are_not_compared() -> None:
    assert not shape(["a 1", "a 2", "a 3", "a 999999"]).outlier.any()


def test_a_shape_of_its_own_is_odd_and_its_first_counts_most() -> None:
    found = shape([*REQUESTS, "worker exchanged"])
    assert found.odd.argmax() == 60
    assert found.odd[0] == found.odd[1]
    assert found.first[:3].tolist() == [1, 1 / 2, pytest.approx(1 / 3)]
    assert found.first[60] == 1.0


def test_copies_count_half() -> None:
    assert shape(["a line", "other", "  a line  ", "a line"]).repeat.tolist() == [1.0, 1.0, 0.5, 0.5]


def test_quoted_text_counts_for_one_measure_only() -> None:
    found = shape(['say "one"', 'say "two"', 'say "three"'])
    assert found.odd.min() > 0
    assert not found.wide.any()


@pytest.mark.parametrize("word", ["ERROR", "failed", "Traceback", "TypeError", "refused", "oomkilled"])
def test_words_of_trouble(word: str) -> None:
    found = read([f"all is well {i}" for i in range(20)] + [f"this {word} here"])
    assert found.trouble.argmax() == 20
    assert not found.trouble[:20].any()


@pytest.mark.parametrize("word", ["warning", "timeout", "deprecated", "retrying", "expired"])
def test_words_that_only_make_suspicious(word: str) -> None:
    found = read(["all is well"] * 20 + [f"this {word} here"])
    assert found.suspect[20] > 0
    assert not found.trouble.any()


def test_trouble_everywhere_is_less_trouble() -> None:
    everywhere, once = read(["an error"] * 20), read(["fine"] * 19 + ["an error"])
    assert 0 < everywhere.trouble[19] < once.trouble[19] == 1.0


def test_rare_words_weigh_more_and_forms_know_their_places() -> None:
    found = read(["common words", "common words", "common zebra crossing"])
    assert found.rare.argmax() == 2
    assert found.forms["zebra"] == [2]
    assert read([]).rare.size == 0


def test_names_are_taken_apart() -> None:
    found = chunks().of("ConnectionRefusedError")
    assert "connectionrefusederror" in found.low
    assert found.trouble
