from __future__ import annotations

from typing import Any

import pytest

from remora import AsyncMemory
from remora.errors import VersionConflict
from remora.memory import writing
from remora.memory.api import ACTOR
from remora.memory.writing import Planner, write
from remora.storage.protocol import Stale


async def test_a_plan_sees_its_own_changes(memory: AsyncMemory) -> None:
    id_ = await memory.store("one", subject_key="k.a")

    def plan(planner: Planner) -> list[str | None]:
        before = planner.view.get(id_)
        assert before is not None
        planner.update("update", before, subject_key="k.b")
        held = [planner.view.by_key("global", key) for key in ("k.a", "k.b")]
        return [memory.id if memory else None for memory in held]

    found, ops = await write(memory.engine, ACTOR, plan)
    assert found == [None, id_]
    assert [op.kind for op in ops] == ["update"]


async def test_a_plan_that_was_overtaken_is_made_again(memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    id_ = await memory.store("one")
    tries = 0
    apply = memory.engine.store.apply

    async def overtaken(batch: Any) -> Any:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise Stale("somebody was faster")
        return await apply(batch)

    monkeypatch.setattr(memory.engine.store, "apply", overtaken)
    await memory.update(id_, content="two")
    assert tries == 3
    monkeypatch.setattr(writing, "ATTEMPTS", 2)
    tries = -10
    with pytest.raises(VersionConflict):
        await memory.update(id_, content="three")


async def test_nothing_planned_is_nothing_written(memory: AsyncMemory) -> None:
    result, ops = await write(memory.engine, ACTOR, lambda planner: 7)
    assert (result, ops) == (7, ())
