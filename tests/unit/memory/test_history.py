from __future__ import annotations

import pytest

from remora import AsyncMemory
from remora.errors import Forbidden, Invalid, NotFound, UndoConflict
from remora.memory import history
from remora.model.ops import Actor


async def test_versions_know_what_changed(memory: AsyncMemory) -> None:
    id_ = await memory.store("the port is 80", tags="net")
    await memory.update(id_, content="the port is 8080", reason="moved")
    newest, oldest = await memory.history(id_)
    assert newest.changed == ("content",)
    assert newest.diff == "the port is [-80-]{+8080+}"
    assert newest.op is not None
    assert (newest.op.kind, newest.op.reason) == ("update", "moved")
    assert (oldest.memory.content, oldest.until) == ("the port is 80", newest.at)


async def test_as_of_shows_what_was_known_then(memory: AsyncMemory) -> None:
    id_ = await memory.store("first text", tags="t")
    at = (await memory.history(id_))[0].at
    for text in ("second text", "third text", "fourth text"):
        await memory.update(id_, content=text)
    moments = [version.at for version in reversed(await memory.history(id_))]
    for moment, text in zip(moments, ("first", "second", "third", "fourth"), strict=True):
        assert (await memory.get(id_, as_of=moment)).content == f"{text} text"
        assert [hit.content for hit in await memory.recall("text", as_of=moment)] == [f"{text} text"]
    assert [hit.content for hit in await memory.recall(tags="t", as_of=at)] == ["first text"]
    assert await memory.recall("text", as_of=at - 1) == []
    with pytest.raises(Invalid, match="future"):
        await memory.recall("text", as_of="2200-01-01")


async def test_undo_and_redo(memory: AsyncMemory) -> None:
    id_ = await memory.store("one")
    await memory.update(id_, content="two")
    (op,) = [op for op in await memory.audit() if op.kind == "update"]
    await memory.undo(op.op_id)
    assert (await memory.get(id_)).content == "one"
    with pytest.raises(Invalid, match="already"):
        await memory.undo(op.op_id)
    (undoing,) = [other for other in await memory.audit() if other.undoes == op.op_id]
    await memory.undo(undoing.op_id)
    assert (await memory.get(id_)).content == "two"
    await memory.undo(op.op_id)
    assert (await memory.get(id_)).content == "one"


async def test_a_later_change_of_the_same_field_stands_in_the_way(memory: AsyncMemory) -> None:
    id_ = await memory.store("one")
    await memory.update(id_, content="two")
    await memory.update(id_, importance=0.9)
    await memory.update(id_, content="three")
    middle = next(op for op in await memory.audit() if op.after.get("content") == "two").op_id
    with pytest.raises(UndoConflict, match="content"):
        await memory.undo(middle)
    await memory.undo(middle, force=True)
    kept = await memory.get(id_)
    assert (kept.content, kept.importance) == ("one", 0.9)


async def test_a_batch_is_undone_whole(memory: AsyncMemory) -> None:
    await memory.store_many([f"row {n}" for n in range(50)])
    assert await memory.undo() == 50
    assert await memory.list(100) == []
    assert (await memory.stats())["memories"] == 0


async def test_agents_undo_only_their_own_session(memory: AsyncMemory) -> None:
    await memory.store("mine")
    (op,) = await memory.audit()
    with pytest.raises(Forbidden):
        await history.undo(memory.engine, Actor(door="mcp", session="s", user=False), op.op_id)
    with pytest.raises(NotFound):
        await memory.undo("01ARZ3NDEKTSV4RRFFQ69G5FAV")


async def test_blame_names_the_operation_of_each_sentence(memory: AsyncMemory) -> None:
    id_ = await memory.store("Alpha is first.")
    await memory.update(id_, content="Alpha is first. Beta is second.")
    lines = await history.blame(memory.engine, id_)
    assert [(text, op.kind) for text, op in lines if op] == [
        ("Alpha is first.", "create"),
        ("Beta is second.", "update"),
    ]


async def test_history_follows_what_replaced_it(memory: AsyncMemory) -> None:
    old = await memory.store("limit is 100")
    new = await memory.store("limit is now 200")
    assert {version.memory.id for version in await memory.history(old)} == {old, new}
