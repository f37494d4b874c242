from __future__ import annotations

from pathlib import Path

import pytest

from remora import AsyncMemory
from remora.errors import StorageUnavailable
from remora.memory.api import default_path


async def test_the_five_minute_walk(tmp_path: Path) -> None:
    async with AsyncMemory(tmp_path / "deep" / "memory.db", embedder="none") as memory:
        assert await memory.list() == []
        id_ = await memory.store("prefers dark mode", "fact", 0.8, "user.theme", {"from": "chat"})
        row = (await memory.recall("dark", 5, "fact"))[0]
        assert (row.id, row.kind, row.importance, row.subject_key) == (id_, "fact", 0.8, "user.theme")
        assert (row.metadata, row.source) == ({"from": "chat"}, "manual")
        await memory.update(id_, "prefers light mode", 0.9)
        assert [row.content for row in await memory.browse("user.")] == ["prefers light mode"]
        assert (await memory.stats())["memories"] == 1
        assert await memory.forget(id_)
        assert await memory.recent() == []
        assert await memory.export(tmp_path / "out.jsonl") == 0


async def test_two_handles_of_one_file(tmp_path: Path) -> None:
    async with (
        AsyncMemory(tmp_path / "m.db", embedder="none") as one,
        AsyncMemory(tmp_path / "m.db", embedder="none") as two,
    ):
        id_ = await one.store("seen by the other")
        assert [hit.id for hit in await two.recall("seen")] == [id_]
        await two.forget(id_)
        assert await one.recall("seen") == []


async def test_namespaces_separate_projects(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with (
        AsyncMemory(path, namespace="one", embedder="none") as one,
        AsyncMemory(path, namespace="two", embedder="none") as two,
    ):
        await one.store("only here")
        await one.store("about the user", subject_key="user.name")
        assert [row.content for row in await two.list()] == ["about the user"]
        assert len(await two.list(namespace="*")) == 2


async def test_a_closed_memory_says_so(tmp_path: Path) -> None:
    memory = AsyncMemory(tmp_path / "m.db", embedder="none")
    with pytest.raises(StorageUnavailable):
        await memory.list()
    await memory.close()


def test_the_default_lies_in_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REMORA_HOME", str(tmp_path))
    assert default_path() == tmp_path / "memory.db"
