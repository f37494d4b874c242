from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.doors.cli.conftest import Run
from tests.unit.gateway.tuning.conftest import CONFIG, INSERT

from remora.storage.sqlite.state import StateDb


@pytest.fixture
def recorded(home: Path, config: Callable[[str], Path]) -> Path:
    """Twenty answers of git/log, ten of which were read on."""

    async def record() -> None:
        state = StateDb(home / "state.db")

        def insert(db: Any) -> None:
            for n in range(20):
                row = {"ts": time.time() - 60 + n, "trace": "t", "server": "git", "tool": "log", "session": "s",
                       "handle": f"h{n}", "strategy": "auto→log", "type": "log", "tokens_in": 20_000,
                       "tokens_out": 4_000, "bytes": 60_000, "ms": 5.0, "key": None}  # fmt: skip
                db.execute(INSERT, row)
                if n < 10:
                    db.execute("INSERT INTO recoveries (ts, handle, mode, out_tokens) VALUES (?, ?, 'range', 1)",
                               (time.time(), f"h{n}"))  # fmt: skip

        await state.run(insert)
        await state.close()

    path = config(CONFIG)
    asyncio.run(record())
    return path


def test_nothing_recorded_is_well(run: Run) -> None:
    assert run("tune").code == 0
    assert run("tune", "--json").document["recommendations"] == []
    assert run("tune", "--history").code == 0
    assert run("tune", "--apply").out.strip() == "Nothing to apply."
    assert run("tune", "--rollback", "last").code == 1


def test_looking_changes_nothing(run: Run, recorded: Path) -> None:
    (one,) = run("tune", "--json").document["recommendations"]
    assert (one["rule"], one["field"], one["current"], one["recommended"], one["confidence"]) == (
        "R1", "max_result_tokens", 4_500, 6_750, "high",
    )  # fmt: skip
    text = run("tune").out
    assert one["id"] in text
    assert "remora tune --apply" in text
    assert run("tune", "--tool", "git/diff", "--json").document["recommendations"] == []
    assert recorded.read_text() == CONFIG


def test_applied_shown_and_taken_back(run: Run, recorded: Path) -> None:
    (one,) = run("tune", "--json").document["recommendations"]
    assert run("tune", "--apply", one["id"]).code == 0
    assert "max_result_tokens = 6750" in recorded.read_text()
    (row,) = run("tune", "--history", "--json").document["changes"]
    assert (row["status"], row["old"], row["new"], row["field"]) == ("applied", None, 6_750, "max_result_tokens")
    assert "not set -> 6750" in run("tune", "--history").out
    assert run("tune", "--rollback", str(row["id"])).code == 0
    assert recorded.read_text() == CONFIG


@pytest.mark.parametrize(
    "words",
    [("--apply", "nope"), ("--since", "soon"), ("abc",), ("--apply", "--history"), ("--history", "--rollback", "last")],
)
def test_words_that_are_off(run: Run, recorded: Path, words: tuple[str, ...]) -> None:
    assert run("tune", *words).code == 2
    assert recorded.read_text() == CONFIG


def test_a_value_set_by_hand_since_is_not_touched(run: Run, recorded: Path) -> None:
    run("tune", "--apply")
    run("config", "set", "servers.git.tools.log.max_result_tokens", "9000")
    done = run("tune", "--rollback", "last", "--json")
    assert (done.code, done.document["error"]) == (1, "failed")
    assert "max_result_tokens = 9000" in recorded.read_text()
