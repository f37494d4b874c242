from __future__ import annotations

from dataclasses import replace

import pytest

from remora import AsyncMemory
from remora.errors import ModeError
from remora.memory import recall, remember
from remora.memory.merge import Remember
from remora.memory.recall import Query
from remora.model.ops import Actor

AGENT = Actor(door="mcp", session="s1", user=False)


@pytest.mark.parametrize(
    ("mode", "reads", "status"),
    [("off", False, None), ("recall", True, None), ("confirm", True, "pending"), ("auto", True, "created")],
)
async def test_what_an_agent_may_do(memory: AsyncMemory, mode: str, reads: bool, status: str | None) -> None:
    await memory.store("known")
    memory.engine.settings = replace(memory.engine.settings, mode=mode)  # type: ignore[arg-type]
    if status is None:
        with pytest.raises(ModeError):
            await remember.remember(memory.engine, Remember(content="new"), AGENT)
    else:
        stored = await remember.remember(memory.engine, Remember(content="new"), AGENT)
        assert stored.status == status
    if reads:
        assert (await recall.recall(memory.engine, Query(text="known"), AGENT)).hits
    else:
        with pytest.raises(ModeError):
            await recall.recall(memory.engine, Query(text="known"), AGENT)
    assert (await memory.store("by the user")).status == "created"


async def test_pending_is_invisible_until_approved(memory: AsyncMemory) -> None:
    memory.engine.modes["s1"] = "confirm"
    await memory.store("theme is light", subject_key="user.theme")
    await remember.remember(memory.engine, Remember(content="theme is dark", subject_key="user.theme"), AGENT)
    assert (await memory.browse("user."))[0].content == "theme is light"
    (waiting,) = await memory.pending(namespace="*")
    (stored,) = await memory.approve(waiting.id)
    assert stored.status == "updated"
    assert (await memory.browse("user."))[0].content == "theme is dark"
    await memory.undo()
    assert (await memory.browse("user."))[0].content == "theme is light"


async def test_incognito_leaves_no_trace(memory: AsyncMemory) -> None:
    memory.engine.incognito.add("s1")
    for user in (True, False):
        with pytest.raises(ModeError, match="incognito"):
            await remember.remember(memory.engine, Remember(content="x"), replace(AGENT, user=user))
    assert await memory.list() == []
