from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from remora.errors import StorageUnavailable, WrongFormat
from remora.storage.contract import a_batch, a_memory, created
from remora.storage.sqlite import backup
from remora.storage.sqlite.store import SqliteStore


async def test_a_backup_during_writes_is_whole(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "memory.db")
    await store.apply(a_batch(*(created(a_memory(f"row {n} {'x' * 5000}")) for n in range(300))))
    writing = [store.apply(a_batch(created(a_memory(f"during {n}")))) for n in range(100)]
    await asyncio.gather(store.backup(tmp_path / "copy.db"), *writing)
    backup.check(tmp_path / "copy.db")
    copy = SqliteStore.open(tmp_path / "copy.db")
    assert (await copy.stats())["memories"] >= 300
    assert [check for check in await copy.verify(deep=True) if check[0] == "FAIL"] == []
    await copy.close()
    with pytest.raises(StorageUnavailable, match="exists"):
        await store.backup(tmp_path / "copy.db")
    await store.close()


async def test_what_is_no_backup_is_not_put_back(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "memory.db")
    await store.apply(a_batch(created(a_memory("kept"))))
    bad = tmp_path / "bad.db"
    for content, error in ((b"x" * 4096, StorageUnavailable), (b"", WrongFormat)):
        bad.write_bytes(content)
        with pytest.raises(error):
            await store.restore(bad)
    with pytest.raises(StorageUnavailable):
        await store.restore(tmp_path / "none.db")
    assert (await store.stats())["memories"] == 1
    await store.close()


async def test_other_handles_notice_a_restored_file(tmp_path: Path) -> None:
    one, two = SqliteStore.open(tmp_path / "memory.db"), SqliteStore.open(tmp_path / "memory.db")
    await one.apply(a_batch(created(a_memory("first"))))
    await one.backup(tmp_path / "copy.db")
    await one.apply(a_batch(created(a_memory("second"))))
    assert (await two.stats())["memories"] == 2
    await one.restore(tmp_path / "copy.db")
    assert (await two.stats())["memories"] == 1
    await one.close()
    await two.close()
