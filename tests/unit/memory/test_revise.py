from __future__ import annotations

import pytest

from remora import AsyncMemory
from remora.errors import Invalid, NotFound, VersionConflict
from remora.memory import revise
from remora.memory.api import ACTOR


async def test_fields_change_and_the_rest_stays(memory: AsyncMemory) -> None:
    id_ = await memory.store("text", tags=["a", "b"], metadata={"x": 1, "y": 2})
    await memory.update(id_, add_tags="c", remove_tags="a", metadata={"x": None, "z": 3}, kind="bug", pinned=True)
    row = await memory.get(id_)
    assert (row.tags, row.metadata, row.kind, row.version) == (("b", "c"), {"y": 2, "z": 3}, "bug", 2)
    await memory.update(id_, metadata_replace={"only": 1}, tags=[])
    row = await memory.get(id_)
    assert (row.metadata, row.tags) == ({"only": 1}, ())


async def test_refusals(memory: AsyncMemory) -> None:
    one, two = await memory.store("one", subject_key="k.one"), await memory.store("two")
    for changes, error, code in (
        ({}, Invalid, "nothing_to_do"),
        ({"wobble": 1}, Invalid, "unknown_argument"),
        ({"content": " "}, Invalid, "empty_content"),
        ({"subject_key": "k.one"}, Invalid, "key_taken"),
        ({"content": "x", "if_version": 7}, VersionConflict, "version_conflict"),
    ):
        with pytest.raises(error) as refused:
            await memory.update(two, **changes)
        assert refused.value.code == code
    with pytest.raises(NotFound):
        await memory.update("01ARZ3NDEKTSV4RRFFQ69G5FAV", content="x")
    assert (await memory.get(one)).version == 1


async def test_equal_content_is_no_change(memory: AsyncMemory) -> None:
    id_ = await memory.store("same")
    assert (await memory.update(id_, content="same")).version == 1


async def test_a_text_that_is_there_already(memory: AsyncMemory) -> None:
    one, two = await memory.store("one"), await memory.store("two")
    with pytest.raises(Invalid) as refused:
        await memory.update(two, content="one")
    assert refused.value.code == "would_duplicate"
    assert (await memory.update(two, content="one", on_duplicate="merge")).id == one
    assert (await memory.get(two)).superseded_by == one


async def test_a_new_version_takes_the_place_of_the_old(memory: AsyncMemory) -> None:
    old = await memory.store("first wording", tags="t", subject_key="k")
    new = await memory.update(old, content="second wording", versioned=True)
    assert (new.id == old, new.tags, new.subject_key, new.version) == (False, ("t",), "k", 1)
    assert [hit.id for hit in await memory.recall("wording")] == [new.id]
    assert len(await memory.recall("wording", include_superseded=True)) == 2


async def test_tags_are_renamed_everywhere_at_once(memory: AsyncMemory) -> None:
    await memory.store_many([{"content": f"row {n}", "tags": ["old", f"n{n % 3}"]} for n in range(30)])
    assert await memory.retag(rename={"old": "New"}) == 30
    assert (await memory.tags())["new"] == 30
    assert "old" not in await memory.tags()
    await memory.undo()
    assert (await memory.tags())["old"] == 30
    assert await memory.retag(tags="n1", add=["x"], remove=["old"]) == 10
    assert (await memory.tags())["old"] == 20


async def test_a_namespace_moves_whole(memory: AsyncMemory) -> None:
    await memory.store("kept", namespace="a")
    await memory.store("both", namespace="a", tags="from-a")
    await memory.store("both", namespace="b")
    await revise.rename_namespace(memory.engine, ACTOR, "a", "b")
    rows = await memory.list(namespace="b")
    assert sorted(row.content for row in rows) == ["both", "kept"]
    assert await memory.list(namespace="a") == []
    await memory.undo()
    assert len(await memory.list(namespace="a")) == 2
