"""state.db deleted, damaged, locked and shared while it is in use: only warmth is lost, nothing waits for ever."""

from __future__ import annotations

import asyncio
import shutil
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from remora.storage.sqlite.state import StateDb

INSERT = "INSERT INTO upstream_events (ts, server, event, detail) VALUES (0, ?, 'x', '')"
WRITER = f"""
import asyncio, sys
from pathlib import Path
from remora.storage.sqlite.state import StateDb
async def main():
    state = StateDb(Path(sys.argv[1]))
    for n in range(int(sys.argv[3])):
        await state.run(lambda db: db.execute({INSERT!r}, (sys.argv[2] + "-" + str(n),)))
    await state.close()
asyncio.run(main())
"""


def servers(db: apsw.Connection) -> list[str]:
    return [server for (server,) in db.execute("SELECT server FROM upstream_events ORDER BY id")]


def overwrite(path: Path, data: bytes) -> None:
    """In place: whoever has it open sees it."""
    with path.open("r+b") as file:
        file.write(data)


async def write(state: StateDb, server: str) -> None:
    await state.run(lambda db: db.execute(INSERT, (server,)))


@pytest.fixture
async def state(tmp_path) -> AsyncIterator[StateDb]:
    state = StateDb(tmp_path / "home" / "state.db")
    await write(state, "before")
    assert await state.read(servers) == ["before"]
    yield state
    await state.close()


async def test_deleted_while_running(state):
    state.path.unlink()
    await write(state, "after")
    assert await state.read(servers) == ["after"]


async def test_deleted_with_everything_beside_it(state):
    shutil.rmtree(state.path.parent)
    assert await state.read(servers) == []
    await write(state, "after")
    assert await state.read(servers) == ["after"]


async def test_replaced_while_running(state, tmp_path):
    other = StateDb(tmp_path / "other.db")
    await write(other, "theirs")
    await other.close()
    (tmp_path / "other.db").rename(state.path)
    await write(state, "ours")
    assert (await state.read(servers))[-1] == "ours"


async def test_overwritten_with_rubbish_while_running(state):
    await state.close()
    running = StateDb(state.path)
    await write(running, "x")
    size = state.path.stat().st_size
    for suffix in ("", "-wal"):
        overwrite(Path(f"{state.path}{suffix}"), b"\xa5" * (size + 8192))
    other = StateDb(state.path)
    await write(other, "after")
    assert (await other.read(servers))[-1] == "after"
    await write(running, "again")
    assert (await running.read(servers))[-1] == "again"
    await other.close()
    await running.close()


async def test_cut_short_between_two_runs(state):
    await state.close()
    state.path.write_bytes(state.path.read_bytes()[:5000])
    again = StateDb(state.path)
    await write(again, "after")
    assert (await again.read(servers))[-1] == "after"
    await again.close()


async def test_deleted_by_another_process_that_writes_on(state):
    other = StateDb(state.path)
    await write(other, "theirs")
    state.path.unlink()
    await write(state, "ours")
    await write(other, "theirs again")
    assert await state.read(servers) == await other.read(servers) == ["ours", "theirs again"]
    await other.close()
    assert await state.read(servers) == ["ours", "theirs again"]


async def test_several_processes_write_and_each_row_counts(state):
    others = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, str(state.path), name, "60")
        for name in ("a", "b", "c")
    ]
    for n in range(60):
        await write(state, f"here-{n}")
    assert [await other.wait() for other in others] == [0, 0, 0]
    rows = await state.read(servers)
    assert len(rows) == 1 + 4 * 60
    assert len(set(rows)) == len(rows)


async def test_many_processes_make_the_same_new_file(tmp_path):
    path = tmp_path / "new" / "state.db"
    others = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, str(path), str(name), "5")
        for name in range(6)
    ]
    assert [await other.wait() for other in others] == [0] * 6
    state = StateDb(path)
    assert len(await state.read(servers)) == 30
    assert list(path.parent.glob("*.damaged-*")) == []
    await state.close()


async def test_a_foreign_lock_delays_writers_but_neither_the_loop_nor_readers(state):
    foreign = apsw.Connection(str(state.path))
    foreign.execute("BEGIN IMMEDIATE")
    writing = asyncio.ensure_future(write(state, "late"))
    assert await state.read(servers) == ["before"]
    assert not writing.done()
    foreign.execute("ROLLBACK")
    await writing
    foreign.close()
    assert await state.read(servers) == ["before", "late"]


async def test_a_writer_that_never_ends_does_not_hold_up_closing(state, monkeypatch):
    monkeypatch.setattr("remora.storage.sqlite.state.CLOSE_SECONDS", 0.05)
    hold = threading.Event()
    state.submit(lambda db: hold.wait())
    await state.close()
    hold.set()
