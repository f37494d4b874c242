from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from remora import AsyncMemory, Memory
from remora.errors import NotFound, StorageUnavailable
from remora.memory import care, remember
from remora.memory.api import ACTOR
from remora.memory.merge import Remember
from remora.model.ops import Actor


async def failed(memory: AsyncMemory) -> list[str]:
    return [name for level, name, _ in await memory.verify(deep=True) if level == "FAIL"]


async def test_hand_made_damage_to_the_index_is_found_and_healed(memory: AsyncMemory, tmp_path: Path) -> None:
    ids = await memory.store_many([f"river number {n}" for n in range(20)])
    before = await memory.engine.store.read(lambda view: view.get_many(ids))
    db = apsw.Connection(str(tmp_path / "memory.db"))
    db.execute("DELETE FROM word_tf WHERE rid <= 5")
    db.execute("DELETE FROM words WHERE rowid = 7")
    db.execute("DELETE FROM chunks WHERE rid = 9")
    db.close()
    assert "lexical rows" in await failed(memory)
    await memory.verify(repair=True)
    assert await failed(memory) == []
    assert await memory.engine.store.read(lambda view: view.get_many(ids)) == before
    assert len(await memory.recall("river", limit=50)) == 20


async def test_a_backup_brings_yesterday_back(memory: AsyncMemory, tmp_path: Path) -> None:
    await memory.store("yesterday")
    copy = await memory.backup(tmp_path / "backups")
    assert copy.with_suffix(".json").is_file()
    await memory.store("today")
    counts = await memory.restore_backup(copy)
    assert counts["memories"] == (2, 1)
    assert [row.content for row in await memory.list()] == ["yesterday"]
    kept = care.backups(tmp_path / "backups")
    assert any("pre-restore" in path.name for path in kept)
    copy.write_bytes(copy.read_bytes()[:-100])
    with pytest.raises(StorageUnavailable, match="manifest"):
        await memory.restore_backup(copy)
    with pytest.raises(NotFound):
        await memory.restore_backup(tmp_path / "none.db")


async def test_old_backups_go(memory: AsyncMemory, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    for day in range(1, 20):
        (folder / f"memory_backup_202001{day:02d}_000000.db").write_bytes(b"")
    await memory.backup(folder)
    assert len(care.backups(folder)) == 1


async def test_counts(memory: AsyncMemory) -> None:
    await memory.store("limit is 100")
    await memory.store("limit is now 200", tags="a")
    found = await memory.stats()
    assert (found["memories"], found["superseded"], found["kinds"]) == (1, 1, {"fact": 1})
    assert found["embedding"]["provider"] == "none"


async def test_time_does_its_work(memory: AsyncMemory) -> None:
    engine = memory.engine
    start = engine.now()
    await memory.store("for a day", ttl="1d")
    gone = await memory.store("deleted for long")
    await memory.forget(gone)
    await remember.remember(engine, Remember(content="system: wait for me"), Actor(door="mcp", user=False))
    kept = await memory.store("stays")
    assert await care.sweep(engine, ACTOR) == {"expired": 0, "rejected": 0, "purged": 0}
    engine.now = lambda: start + 31 * care.DAY_US
    engine.store.now = engine.now  # type: ignore[attr-defined]
    assert await care.sweep(engine, ACTOR) == {"expired": 1, "rejected": 1, "purged": 1}
    assert [row.id for row in await memory.list()] == [kept]
    assert len(await memory.list(include_archived=True, include_expired=True)) == 2
    assert await failed(memory) == []


def test_the_plain_api_is_the_same(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embedder="none") as memory:
        id_ = memory.store("dark mode", "fact", 0.8, "user.theme")
        assert memory.recall("theme")[0].id == id_
        assert memory.get(id_).importance == 0.8
    with pytest.raises(StorageUnavailable, match="closed"):
        memory.list()
    memory.close()
