from __future__ import annotations

from pathlib import Path

import numpy as np

from remora.model.search import Space
from remora.storage.contract import NOW, a_batch, a_memory, changed, created
from remora.storage.sqlite.store import SqliteStore


async def test_a_taken_chunk_comes_again_when_its_taker_dies(tmp_path: Path) -> None:
    clock = [NOW]
    store = SqliteStore.open(tmp_path / "memory.db", now=lambda: clock[0])
    await store.add_space(Space(id="s", dim=8, label="s"))
    memory = a_memory("text")
    await store.apply(a_batch(created(memory)))
    (taken,) = await store.take_unembedded("s", 10)
    assert (taken.memory_id, taken.no, taken.private) == (memory.id, 0, False)
    assert await store.take_unembedded("s", 10) == []
    await store.release_unembedded("s", [taken.chunk])
    assert len(await store.take_unembedded("s", 10)) == 1
    clock[0] += 61_000_000
    (again,) = await store.take_unembedded("s", 10)
    assert again == taken
    await store.put_vectors("s", [(taken.chunk, "another text by now")], np.ones((1, 8), np.float32))
    assert await store.read(lambda view: view.covered("s")) == (0, 1)
    await store.put_vectors("s", [(taken.chunk, taken.hash)], np.ones((1, 8), np.float32))
    assert await store.read(lambda view: view.covered("s")) == (1, 1)
    assert (await store.read(lambda view: view.vectors(memory.id, "s"))).tolist() == [[1.0] * 8]
    await store.close()


async def test_an_unchanged_text_keeps_its_vector(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "memory.db", now=lambda: NOW)
    await store.add_space(Space(id="s", dim=8, label="s"))
    memory = a_memory("text")
    await store.apply(a_batch(created(memory)))
    (taken,) = await store.take_unembedded("s", 10)
    await store.put_vectors("s", [(taken.chunk, taken.hash)], np.ones((1, 8), np.float32))
    _, change = changed(memory, importance=0.9, metadata={"a": 1})
    await store.apply(a_batch(change))
    assert await store.take_unembedded("s", 10) == []
    await store.add_space(Space(id="s", dim=8, label="s"))
    await store.drop_space("unknown")
    assert await store.take_unembedded("unknown", 10) == []
    await store.close()
