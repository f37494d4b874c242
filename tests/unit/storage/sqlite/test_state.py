from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from collections.abc import AsyncIterator

import apsw
import pytest

from remora.storage.sqlite.connection import StateUnavailable
from remora.storage.sqlite.state import StateDb

INSERT = "INSERT INTO upstream_events (ts, server, event, detail) VALUES (0, ?, 'x', '')"


def servers(db: apsw.Connection) -> list[str]:
    return [server for (server,) in db.execute("SELECT server FROM upstream_events ORDER BY id")]


@pytest.fixture
async def state(tmp_path) -> AsyncIterator[StateDb]:
    state = StateDb(tmp_path / "state.db")
    yield state
    await state.close()


def test_nothing_is_imported_or_opened_before_it_is_used(tmp_path):
    code = (
        "import sys; from pathlib import Path; from remora.storage.sqlite.state import StateDb;"
        f"StateDb(Path({str(tmp_path / 'state.db')!r})); assert 'apsw' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert list(tmp_path.iterdir()) == []


async def test_jobs_run_in_order_in_one_thread_that_is_not_the_loops(state):
    threads = set()

    def job(db: apsw.Connection, name: str) -> None:
        threads.add(threading.current_thread().name)
        db.execute(INSERT, (name,))

    for name in "abc":
        state.submit(lambda db, name=name: job(db, name))
    await state.run(lambda db: job(db, "d"))
    assert await state.read(servers) == ["a", "b", "c", "d"]
    assert threads == {"state-write"}


async def test_a_job_that_fails_leaves_nothing_behind(state):
    def job(db: apsw.Connection) -> None:
        db.execute(INSERT, ("half",))
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await state.run(job)
    assert await state.read(servers) == []


async def test_a_submitted_job_that_fails_is_told_once_and_ends_nothing(state, caplog):
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            state.submit(lambda db: db.execute("SELECT * FROM nowhere"))
        await state.run(lambda db: db.execute(INSERT, ("after",)))
    assert [record.message for record in caplog.records].count(caplog.records[0].message) == 1
    assert "nowhere" in caplog.text
    assert await state.read(servers) == ["after"]


async def test_a_reader_cannot_write(state):
    with pytest.raises(StateUnavailable, match="readonly"):
        await state.read(lambda db: db.execute(INSERT, ("x",)))


async def test_a_cancelled_job_is_not_run(state):
    hold = threading.Event()
    state.submit(lambda db: hold.wait())
    waiting = asyncio.ensure_future(state.run(lambda db: db.execute(INSERT, ("x",))))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    hold.set()
    await state.run(lambda db: None)
    assert await state.read(servers) == []


async def test_closing_writes_what_was_submitted(tmp_path):
    state = StateDb(tmp_path / "state.db")
    state.submit(lambda db: db.execute(INSERT, ("last",)))
    await state.close()
    await state.close()
    assert not (tmp_path / "state.db-wal").exists()
    again = StateDb(tmp_path / "state.db")
    assert await again.read(servers) == ["last"]
    await again.close()


async def test_after_closing_questions_fail_and_notes_are_dropped(state):
    await state.close()
    state.submit(lambda db: db.execute(INSERT, ("x",)))
    with pytest.raises(StateUnavailable, match="closed"):
        await state.read(servers)


async def test_two_of_one_file_see_each_others_rows(state):
    other = StateDb(state.path)
    await other.run(lambda db: db.execute(INSERT, ("theirs",)))
    assert await state.read(servers) == ["theirs"]
    await other.close()
