from __future__ import annotations

from remora.gateway.compression.thin import ENDS, LARGE, MOST, candidates


def test_texts_of_usual_length_are_looked_at_whole() -> None:
    assert candidates("a\n" * 100, "a") is None


def test_of_a_very_long_text_what_was_asked_for_is_among_the_lines() -> None:
    lines = [f"{i} plain words in a line" for i in range(LARGE // 20)]
    lines[31_337] = "the zebra is here"
    lines[41_414] = "it failed"
    found = candidates("\n".join(lines), "where is the zebra?")
    assert found is not None
    assert {0, ENDS - 1, len(lines) - 1, 31_335, 31_337, 31_339, 41_414} <= set(found)
    assert found == sorted(set(found))
    assert len(found) < 2 * MOST
