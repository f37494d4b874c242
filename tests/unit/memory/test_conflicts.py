from __future__ import annotations

from dataclasses import replace

import pytest

from remora import AsyncMemory
from remora.errors import Invalid, NotFound
from remora.memory import conflicts
from remora.memory.api import ACTOR


async def a_dispute(memory: AsyncMemory) -> tuple[str, str]:
    return await memory.store("timeout is 10 s"), await memory.store("timeout is 20 s")


async def test_a_winner_replaces_the_other(memory: AsyncMemory) -> None:
    old, new = await a_dispute(memory)
    await memory.resolve(new, old)
    assert await memory.conflicts() == []
    assert [hit.id for hit in await memory.recall("timeout")] == [new]
    await memory.undo()
    assert len(await memory.conflicts()) == 1


async def test_both_may_stay_and_are_not_asked_again(memory: AsyncMemory) -> None:
    old, new = await a_dispute(memory)
    await memory.resolve(new, old, "keep_both")
    assert await memory.conflicts() == []
    assert [dispute.conflict.status for dispute in await memory.conflicts(status=None)] == ["dismissed"]
    assert len(await memory.recall("timeout")) == 2
    with pytest.raises(NotFound):
        await memory.resolve(new, old, "keep_both")


async def test_the_right_text_may_be_given(memory: AsyncMemory) -> None:
    old, new = await a_dispute(memory)
    await memory.resolve(new, old, text="timeout is 15 s")
    assert [hit.content for hit in await memory.recall("timeout")] == ["timeout is 15 s"]


async def test_a_conflict_ends_with_one_of_its_sides(memory: AsyncMemory) -> None:
    old, new = await a_dispute(memory)
    with pytest.raises(Invalid):
        await memory.resolve(new, new)
    await memory.forget(old)
    assert await memory.conflicts() == []


async def test_only_clear_cases_decide_themselves(memory: AsyncMemory) -> None:
    await a_dispute(memory)
    (dispute,) = await memory.conflicts()
    assert not conflicts.may_resolve(dispute)
    older = replace(dispute.a, created_at=dispute.b.created_at - 8 * 86_400_000_000)
    clear = replace(dispute, a=older, conflict=replace(dispute.conflict, similarity=0.97))
    assert conflicts.may_resolve(clear)
    assert not conflicts.may_resolve(replace(clear, a=replace(older, pinned=True)))
    assert await conflicts.auto_resolve(memory.engine, ACTOR) == ()
