from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from remora.model.search import Where
from remora.storage.contract import NOW, a_batch, a_memory, an_entry, changed, created
from remora.storage.sqlite.store import SqliteStore


async def test_counts_follow_every_change(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "memory.db", now=lambda: NOW)
    memory = a_memory("ein Satz", tags=("a", "b"), lang="de")
    await store.apply(a_batch(created(memory)))
    memory, change = changed(memory, tags=("b", "c"), lang="en")
    await store.apply(a_batch(change))
    assert await store.read(lambda view: view.tags(Where())) == {"b": 1, "c": 1}
    assert await store.read(lambda view: view.languages(None)) == {"en": 1}
    memory, change = changed(memory, status="archived")
    await store.apply(a_batch(change))
    assert await store.read(lambda view: view.tags(Where())) == {}
    memory, change = changed(memory, status="deleted")
    await store.apply(a_batch(change))
    assert await store.read(lambda view: view.languages(["global"])) == {}
    assert (await store.read(lambda view: view.term_stats([]))).rows == 0
    await store.close()


async def test_neighbours_are_indexed_in_the_same_transaction(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "memory.db", now=lambda: NOW)
    first, second = a_memory("first"), a_memory("second")
    await store.apply(a_batch(created(first)))
    entry = an_entry(a_memory("first again"))
    await store.apply(replace(a_batch(created(second)), reindex=((first.id, entry),)))
    assert len(await store.read(lambda view: view.lexical(["again"], Where(), 5))) == 1
    await store.close()


async def test_an_answer_is_kept_with_its_key_for_a_day(tmp_path: Path) -> None:
    clock = [NOW]
    store = SqliteStore.open(tmp_path / "memory.db", now=lambda: clock[0])
    await store.apply(replace(a_batch(created(a_memory("x"))), idempotency_key="k", result={"id": "1"}))
    assert await store.read(lambda view: view.idempotent("contract", "k")) == {"id": "1"}
    assert await store.read(lambda view: view.idempotent("other", "k")) is None
    clock[0] += 2 * 86_400_000_000
    assert await store.read(lambda view: view.idempotent("contract", "k")) is None
    await store.close()
