from __future__ import annotations

from typing import Any

from remora.demo import notes


def silent(*_: Any) -> None:
    """Nobody asked for progress."""


def test_notes_are_found_by_all_their_words(monkeypatch: Any) -> None:
    monkeypatch.setattr(notes, "_NOTES", [{"title": "One", "text": "red cat"}, {"title": "Two", "text": "red dog"}])
    assert len(notes._search({"query": "RED"}, silent)["notes"]) == 2
    assert notes._search({"query": "dog two"}, silent)["notes"] == [{"title": "Two", "text": "red dog"}]
    assert notes._add({"title": "Three", "text": "red fox"}, silent) == {"notes": 3}
    assert len(notes._search({"query": "red"}, silent)["notes"]) == 3


def test_tidying_tells_how_far_it_is(monkeypatch: Any) -> None:
    monkeypatch.setattr(notes.time, "sleep", lambda _: None)
    told: list[Any] = []
    count = notes._tidy({}, lambda *step: told.append(step))["tidied"]
    assert [step[0] for step in told] == list(range(1, count + 1))


def test_it_is_a_server_of_the_handshake_era() -> None:
    made = notes.server()
    assert made._era == "handshake"
    assert list(made._tools) == ["search_notes", "add_note", "tidy_notes"]
