from __future__ import annotations

from pathlib import Path

from remora.model.search import Where
from remora.storage.contract import NOW, a_batch, a_memory, changed, created
from remora.storage.sqlite.store import SqliteStore


async def test_the_log_is_filtered_and_paged(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "memory.db", now=lambda: NOW)
    memories = [a_memory(f"row {n}") for n in range(5)]
    for number, memory in enumerate(memories):
        await store.apply(a_batch(created(memory), at=NOW + number))
    _, change = changed(memories[0], importance=0.9)
    await store.apply(a_batch(change, at=NOW + 9))
    log = await store.read(lambda view: view.ops())
    assert [op.kind for op in log] == ["create"] * 5 + ["update"]
    assert log[-1].before == {"importance": 0.5, "version": 1}
    assert log[-1].after == {"importance": 0.9, "version": 2}
    newest = await store.read(lambda view: view.ops(newest_first=True, limit=2))
    assert [op.op_id for op in newest] == [log[5].op_id, log[4].op_id]
    more = await store.read(lambda view: view.ops(newest_first=True, limit=2, after=newest[-1].op_id))
    assert [op.op_id for op in more] == [log[3].op_id, log[2].op_id]
    assert len(await store.read(lambda view: view.ops(since=NOW + 1, until=NOW + 3))) == 2
    assert len(await store.read(lambda view: view.ops(target=memories[0].id))) == 2
    assert len(await store.read(lambda view: view.ops(kind="update"))) == 1
    assert await store.read(lambda view: view.ops(actor="nobody")) == []
    assert await store.read(lambda view: view.first_op_at()) == NOW
    await store.close()


async def test_the_past_obeys_the_filter_too(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "memory.db", now=lambda: NOW)
    memory = a_memory("tagged", tags=("old",))
    await store.apply(a_batch(created(memory), at=NOW - 10))
    _, change = changed(memory, tags=("new",))
    await store.apply(a_batch(change, at=NOW - 5))
    for at, tag in ((NOW - 10, "old"), (NOW - 5, "new")):
        for wanted in ("old", "new"):
            found = await store.read(lambda view, at=at, wanted=wanted: view.as_of(at, Where(tags=(wanted,))))  # type: ignore[misc]
            assert len(found) == (wanted == tag)
    await store.close()
