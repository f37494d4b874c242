from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from remora.errors import StorageUnavailable
from remora.model.search import Where
from remora.storage.contract import a_batch, a_memory, an_entry, changed, created
from remora.storage.sqlite.store import SqliteStore


async def test_a_full_disk_stops_writes_and_nothing_else(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "memory.db")
    kept = a_memory("kept")
    await store.apply(a_batch(created(kept)))

    def limited(connection: apsw.Connection) -> None:
        connection.pragma("max_page_count", connection.pragma("page_count") + 1)

    await store._write(limited)
    with pytest.raises(StorageUnavailable) as refused:
        await store.apply(a_batch(*(created(a_memory(f"row {n} {'x' * 9000}")) for n in range(50))))
    assert refused.value.code == "disk_full"
    assert await store.read(lambda view: view.get(kept.id)) == kept
    await store._write(lambda connection: connection.pragma("max_page_count", 1_000_000))
    await store.apply(a_batch(created(a_memory("again"))))
    assert (await store.stats())["memories"] == 2
    await store.close()


async def test_a_process_that_slept_through_the_changes_reads_all_anew(tmp_path: Path) -> None:
    one, two = SqliteStore.open(tmp_path / "memory.db"), SqliteStore.open(tmp_path / "memory.db")
    first = a_memory("first words")
    await one.apply(a_batch(created(first)))
    assert await two.read(lambda view: view.matching(Where())) == 1
    for number in range(5):
        await one.apply(a_batch(created(a_memory(f"row {number}"))))
    _, change = changed(first, status="deleted")
    await one.apply(a_batch(change))
    await one._write(
        lambda connection: connection.execute("DELETE FROM changes WHERE seq < (SELECT max(seq) FROM changes)")
    )
    assert await two.read(lambda view: view.matching(Where())) == 5
    assert await two.read(lambda view: view.lexical(["words"], Where(), 5)) == []
    await one.close()
    await two.close()


async def test_upkeep_keeps_the_last_change(tmp_path: Path) -> None:
    clock = [1_000_000_000_000_000]
    store = SqliteStore.open(tmp_path / "memory.db", now=lambda: clock[0])
    await store.apply(a_batch(created(a_memory("one")), created(a_memory("two")), at=clock[0]))
    clock[0] += 2 * 86_400_000_000
    await store.optimize()
    left = await store.read(lambda view: view.connection.execute("SELECT count(*) FROM changes").fetchall())
    assert left == [(1,)]
    assert await store.read(lambda view: view.matching(Where())) == 2
    await store.close()


async def test_rows_can_be_indexed_anew(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "memory.db")
    memory = a_memory("some words")
    await store.apply(a_batch(created(memory)))
    await store.reindex([(memory.id, an_entry(a_memory("other signs")))])
    assert await store.read(lambda view: view.lexical(["words"], Where(), 5)) == []
    assert len(await store.read(lambda view: view.lexical(["signs"], Where(), 5))) == 1
    await store.close()
