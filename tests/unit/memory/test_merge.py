from __future__ import annotations

from remora import AsyncMemory


async def test_a_merge_unites_and_confirms(memory: AsyncMemory) -> None:
    first = await memory.store("fact", tags="a", metadata={"x": 1}, valid_to="2100-01-01", expires_at="2100-01-01")
    await memory.store("fact", tags="b", metadata={"x": 2, "y": 3}, pinned=True)
    row = await memory.get(first)
    assert (row.tags, row.metadata, row.valid_to) == (("a", "b"), {"x": 1, "y": 3}, None)
    (state, *_) = [version.memory for version in await memory.history(first)]
    assert (state.confirmations, state.pinned, state.expires_at) == (1, True, None)


async def test_an_archived_twin_comes_back(memory: AsyncMemory) -> None:
    first = await memory.store("fact")
    await memory.forget(first, archive=True)
    again = await memory.store("fact")
    assert (again, again.record.status) == (first, "active")


async def test_a_key_goes_to_the_text_that_has_none(memory: AsyncMemory) -> None:
    plain = await memory.store("dark mode")
    keyed = await memory.store("dark mode", subject_key="user.theme", namespace="global")
    assert (keyed, keyed.record.subject_key) == (plain, "user.theme")
    other = await memory.store("dark mode", subject_key="app.theme")
    assert other != keyed


async def test_an_update_takes_what_was_given(memory: AsyncMemory) -> None:
    await memory.store("v1", "decision", 0.9, "app.db", tags="a")
    row = (await memory.store("v2", subject_key="app.db", tags="b")).record
    assert (row.content, row.importance, row.tags, row.version) == ("v2", 0.9, ("a", "b"), 2)
