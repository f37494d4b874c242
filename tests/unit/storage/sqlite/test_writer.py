from __future__ import annotations

import asyncio
import os
from pathlib import Path

import apsw
import pytest

from remora.errors import ForkError, StorageUnavailable
from remora.storage.sqlite.opening import Connection
from remora.storage.sqlite.store import SqliteStore
from remora.storage.sqlite.writer import translate


def insert(connection: Connection, key: str) -> str:
    connection.execute("INSERT INTO meta VALUES (?, 'x')", (key,))
    return key


async def test_one_failure_in_a_group_undoes_only_itself(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "memory.db")
    keys = ["a", "b", "a", "c"]
    done = await asyncio.gather(
        *(store._write(lambda c, key=key: insert(c, key)) for key in keys), return_exceptions=True
    )  # type: ignore[misc]
    assert [one for one in done if isinstance(one, str)] == ["a", "b", "c"]
    assert isinstance(done[2], apsw.ConstraintError)
    assert await store.read(lambda view: [view.meta(key) for key in "abc"]) == ["x", "x", "x"]
    await store.close()


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "memory.db")
    await store.close()
    await store.close()
    for work in (store.read(lambda view: 1), store.set_meta("a", "b")):
        with pytest.raises(StorageUnavailable, match="closed"):
            await work


def in_a_child(store: SqliteStore) -> int:
    """0 when the child was stopped."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            assert store._writer is not None
            store._writer.submit(lambda connection: None)
        except ForkError:
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


async def test_a_forked_child_is_stopped_before_it_touches_the_file(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "memory.db")
    assert in_a_child(store) == 0
    await store.set_meta("still", "sound")
    await store.close()


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        (apsw.BusyError("x"), "locked"),
        (apsw.FullError("x"), "disk_full"),
        (apsw.ReadOnlyError("x"), "read_only"),
        (apsw.CorruptError("x"), "damaged"),
        (apsw.IOError("x"), "storage_unavailable"),
    ],
)
def test_failures_of_the_file_have_names(cause: apsw.Error, code: str) -> None:
    told = translate(cause, "memory.db")
    assert isinstance(told, StorageUnavailable)
    assert told.code == code
    mistake = apsw.SQLError("our own")
    assert translate(mistake, "memory.db") is mistake
