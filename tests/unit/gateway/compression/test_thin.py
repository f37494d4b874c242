from __future__ import annotations

from remora.gateway.compression.thin import ENDS, LARGE, MOST, candidates

COUNT = LARGE // 30 + 10
LINES = [f"an ordinary line number {i:08d}" for i in range(COUNT)]
LINES[COUNT // 2] = "the connection was refused"
LINES[COUNT // 3] = "the Zebras of the zoo were fed"
TEXT = "\n".join(LINES)


def test_a_text_that_is_not_large_is_looked_at_whole() -> None:
    assert candidates("x\n" * 10, None) is None
    assert candidates("x" * LARGE, "x") is None


def test_both_ends_and_lines_of_trouble_with_their_neighbours() -> None:
    found = candidates(TEXT, None)
    assert found is not None
    assert found[:ENDS] == list(range(ENDS))
    assert found[-ENDS:] == list(range(COUNT - ENDS, COUNT))
    assert set(range(COUNT // 2 - 2, COUNT // 2 + 3)) <= set(found)


def test_lines_with_a_word_of_the_question() -> None:
    asked = candidates(TEXT, "who feeds the zebra?")
    assert asked is not None
    assert set(range(COUNT // 3 - 2, COUNT // 3 + 3)) <= set(asked)
    assert not set(range(COUNT // 3 - 2, COUNT // 3 + 3)) <= set(candidates(TEXT, None) or ())


def test_the_rest_is_spread_evenly_and_there_are_not_too_many() -> None:
    found = candidates(TEXT, None)
    assert found == candidates(TEXT, None)
    assert found == sorted(set(found or ()))
    assert len(found or ()) <= 2 * MOST
    assert max(b - a for a, b in zip(found or (), (found or ())[1:], strict=False)) <= COUNT // 1_000


def test_letters_that_grow_when_they_are_lowered_move_nothing() -> None:
    lines = ["İ" * 20, *LINES]
    found = candidates("\n".join(lines), "zebra")
    assert found is not None
    assert max(found) == len(lines) - 1
    assert lines.index("the connection was refused") in found
