from __future__ import annotations

import numpy as np
import pytest

from remora.gateway.compression import auto, relevance, unusual
from remora.gateway.compression.relevance import Units, names_something, ranking, trust
from remora.gateway.compression.words import table


def best(texts: list[str], query: str | None, up: list[int] | None = None) -> int:
    units = Units(texts, up)
    return int(np.argmax(ranking(units, query, np.zeros(len(texts)))[0]))


LINES = [
    "service started on port 80", "worker 6 killed by signal 11 while decoding a tile", "bounce rate 11.4 percent",
    "def remove_entry(self, key):", "cache hit for key a1", "cache hit for key b2", "cache hit for key c3",
]  # fmt: skip


def test_exact_words_and_parts_of_names_are_found() -> None:
    assert best(LINES, "what does remove_entry take?") == 3
    assert best(LINES, "entry removal in removeEntry") == 3


def test_other_words_for_the_same_are_found() -> None:
    assert table() is not None
    assert best(LINES, "Which process crashed?") == 1
    assert best(LINES, "How is an item deleted?") == 3


def test_quotes_and_phrases_count_as_a_whole() -> None:
    lines = [f"the value of key {i} and more" for i in range(30)] + ["you and wants more of it"]
    assert best(lines, "which line starts with 'you and wants'?") == 30


def test_without_a_question_trouble_and_odd_lines_come_first() -> None:
    lines = (
        [f"GET /items/{i} 200" for i in range(50)]
        + ["payment refused: card expired"]
        + [f"GET /items/{i} 200" for i in range(50)]
    )
    assert best(lines, None) == 50


def test_errands_are_not_questions() -> None:
    assert not names_something("tell me more")
    assert names_something("which port is open")
    assert trust("get an overview of the results page") < trust("which port does nginx listen on?") == 1.0


def test_without_the_table_search_is_lexical_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (relevance, unusual, auto):
        monkeypatch.setattr(module, "table", lambda: None)
    unusual.chunks.cache_clear()
    try:
        assert best(LINES, "what does remove_entry take?") == 3
        made = auto.compress("\n".join(LINES * 40), budget_chars=600, query="remove_entry")
        assert made.scorer == "lexical"
        assert "remove_entry" in made.text
    finally:
        unusual.chunks.cache_clear()


def test_numbers_far_from_the_others_stand_out() -> None:
    lines = [f"sensor a value {i % 9 + 100} ok" for i in range(60)]
    lines[33] = "sensor a value 99831 ok"
    assert best(lines, None) == 33
