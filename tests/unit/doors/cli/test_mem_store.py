from __future__ import annotations

from pathlib import Path

from remora.doors.cli.mem_store import ask, place
from remora.doors.cli.terminal import Terminal


def test_a_store_is_the_homes_unless_another_is_named(home: Path, tmp_path: Path) -> None:
    assert place(Terminal(), None) == home / "memory.db"
    assert place(Terminal(), Path("x.db")) == tmp_path / "x.db"


def test_calls_share_one_open_store(words_alone: None, home: Path) -> None:
    done, found = ask(
        Terminal(),
        None,
        ("memory.remember", {"content": "one", "tags": ("a", "b"), "kind": None}),
        ("memory.recall", {}),
    )
    assert found["memories"][0]["id"] == done["id"]
    assert done["memory"]["tags"] == ["a", "b"]
