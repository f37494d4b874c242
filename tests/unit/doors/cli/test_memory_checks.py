from __future__ import annotations

from pathlib import Path

from tests.unit.doors.cli.conftest import Run

from remora.config.load import load
from remora.doors.cli.memory_checks import memory


def told(home: Path) -> dict[str, tuple[str, str]]:
    return {each.id: (each.status, each.detail) for each in memory(load(home))}


def test_no_store_is_no_fault(home: Path) -> None:
    assert told(home) == {"memory": ("ok", "no memory.db yet")}


def test_a_sound_store(run: Run, words_alone: None, home: Path) -> None:
    run("mem", "store", "the rate limit is 100")
    run("mem", "store", "the rate limit is 200")
    found = told(home)
    assert found["memory"][0] == "ok"
    assert found["memory.conflicts"] == ("warn", "1 statements disagree")
    assert found["memory.encoder"][0] == "warn"


def test_a_damaged_store_is_named(home: Path) -> None:
    home.mkdir()
    (home / "memory.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 9000)
    assert told(home)["memory"][0] == "fail"
