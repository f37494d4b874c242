from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.unit.doors.cli.conftest import Run

from remora.config.results import StashConfig
from remora.gateway.stash.store import Stash
from remora.storage.sqlite.state import StateDb

TEXT = "a long answer\r\nwithout an end of line"


@pytest.fixture
def handle(home: Path) -> str:
    async def put() -> str:
        state = StateDb(home / "state.db")
        try:
            made = await Stash(state, StashConfig()).put(TEXT, principal="local", server="git", tool="log", kind="log")
        finally:
            await state.close()
        return made

    return asyncio.run(put())


def test_an_empty_stash(run: Run) -> None:
    assert run("stash", "list", "--json").document == {"entries": []}
    assert "Nothing is kept" in run("stash", "list").out


def test_what_is_kept_is_listed_and_shown_byte_for_byte(run: Run, handle: str) -> None:
    (entry,) = run("stash", "list", "--json").document["entries"]
    assert (entry["handle"], entry["server"], entry["tool"], entry["chars"]) == (handle, "git", "log", len(TEXT))
    assert handle in run("stash", "list").out
    assert run("stash", "show", handle).out == TEXT
    assert run("stash", "show", handle, "--json").document["text"] == TEXT


def test_an_unknown_handle(run: Run) -> None:
    assert run("stash", "show", "0123456789abcdef").code != 0


def test_nothing_is_forgotten_unasked(run: Run, handle: str) -> None:
    assert run("stash", "clear").code == 6
    assert run("stash", "clear", "--dry-run", "--json").document == {"cleared": 0, "would_clear": 1}
    assert run("stash", "show", handle).code == 0


def test_forgotten_on_request(run: Run, handle: str) -> None:
    assert run("stash", "clear", "0123456789abcdef", "--yes", "--json").document == {"cleared": 0}
    assert run("stash", "clear", handle, "--yes", "--json").document == {"cleared": 1}
    assert run("stash", "list", "--json").document == {"entries": []}
    assert "0 forgotten" in run("stash", "clear", "-y").out


def test_clearing_an_empty_cache(run: Run) -> None:
    assert run("cache", "clear", "--json").document == {"cleared": 0}
    assert "0 forgotten" in run("cache", "clear", "--server", "git", "--tool", "log").out
