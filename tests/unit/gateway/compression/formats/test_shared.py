from __future__ import annotations

from remora.gateway.compression.formats import shared


def test_neighbours_share_beginning_and_end() -> None:
    text = "\n".join(["start", *(f"test words::{n}::case ... ok" for n in "abcdefgh"), "@) is no mark here", "end"])
    made = shared.encode(text)
    assert made.count("... ok") == 1
    assert len(made) < len(text) + len(shared.HEAD)
    assert shared.decode(made) == text


def test_lines_unlike_each_other_stay() -> None:
    assert shared.encode("one\ntwo\nthree") == "one\ntwo\nthree"
