from __future__ import annotations

from remora import AsyncMemory
from remora.memory import browse
from remora.memory.filters import where


async def test_lists_are_newest_first_and_go_on(memory: AsyncMemory) -> None:
    await memory.store_many([{"content": f"row {n}", "created_at": f"2026-01-{n + 1:02d}"} for n in range(25)])
    everything = where(memory.engine, {})
    first = await browse.listed(memory.engine, everything, 10)
    second = await browse.listed(memory.engine, everything, 10, first.next)
    assert [row.content for row in (*first.rows, *second.rows)] == [f"row {n}" for n in range(24, 4, -1)]
    assert [row.content for row in await memory.recent(2)] == ["row 24", "row 23"]


async def test_about_the_user(memory: AsyncMemory) -> None:
    await memory.store("dark", subject_key="user.theme")
    await memory.store("Ann", subject_key="user.name")
    await memory.store("deployed", kind="event")
    found = await browse.about(memory.engine)
    assert [row.subject_key for row in found["user"]] == ["user.name", "user.theme"]
    assert [row.content for row in found["events"]] == ["deployed"]


async def test_tags_and_namespaces_are_counted(memory: AsyncMemory) -> None:
    await memory.store("one", tags=["a", "b"])
    two = await memory.store("two", tags="a", namespace="other")
    assert await memory.tags(namespace="*") == {"a": 2, "b": 1}
    assert await memory.tags() == {"a": 1, "b": 1}
    assert await memory.namespaces() == {"global": 1, "other": 1}
    await memory.forget(two)
    assert await memory.tags(namespace="*") == {"a": 1, "b": 1}
    assert (await memory.namespaces())["other"] == 0


async def test_stale_and_everything(memory: AsyncMemory) -> None:
    old = await memory.store("old", created_at="2020-01-01")
    await memory.store("new")
    assert [row.id for row in await browse.stale(memory.engine, 365, where(memory.engine, {}))] == [old]
    await memory.forget(old, archive=True)
    assert len(await browse.everything(memory.engine, None)) == 2
