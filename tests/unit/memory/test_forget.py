from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from remora import AsyncMemory
from remora.errors import Invalid, NotFound, RefusedError
from remora.memory import forget
from remora.memory.api import ACTOR
from remora.memory.filters import where
from remora.model.ops import Actor


async def test_what_is_forgotten_is_nowhere_until_it_is_restored(memory: AsyncMemory, tmp_path: Path) -> None:
    gone, other = await memory.store("zebra stripes", tags="animal"), await memory.store("lion")
    await memory.connect(gone, other)
    assert await memory.forget(gone)
    assert not await memory.forget(gone), "a second time is no error"
    assert await memory.recall("zebra") == []
    assert await memory.recall("zebra", mode="exact") == []
    assert [row.id for row in await memory.list()] == [other]
    assert await memory.tags() == {}
    assert await memory.relations(other) == []
    assert [hit.id for hit in await memory.similar(other)] == []
    assert await memory.export(tmp_path / "out.jsonl") == 1
    assert "zebra" not in (tmp_path / "out.jsonl").read_text()
    with pytest.raises(NotFound):
        await memory.get(gone)
    await memory.restore(gone)
    assert [hit.id for hit in await memory.recall("zebra")] == [gone]
    assert await memory.tags() == {"animal": 1}
    assert len(await memory.relations(other)) == 1


async def test_archived_is_kept_out_of_sight(memory: AsyncMemory) -> None:
    id_ = await memory.store("an old plan")
    await memory.forget(id_, archive=True)
    assert await memory.recall("plan") == []
    assert [hit.id for hit in await memory.recall("plan", include_archived=True)] == [id_]


async def test_a_purge_leaves_no_word_in_the_file(memory: AsyncMemory, tmp_path: Path) -> None:
    first = await memory.store(
        "the secret word is abracadabraxyz", conversation_id="c", turn=1, tags="tagabracadabraxyz"
    )
    second = await memory.store("what did you say?", conversation_id="c", turn=2)
    await memory.update(first, metadata={"hint": "abracadabraxyz"}, reason="abracadabraxyz")
    assert second in [hit.id for hit in await memory.recall("abracadabraxyz")], "found by its context"
    await memory.forget(first, hard=True)
    await memory.close()
    for file in tmp_path.iterdir():
        assert b"abracadabraxyz" not in file.read_bytes(), file
    await memory.open()
    assert await memory.recall("abracadabraxyz") == []
    assert [check for check in await memory.verify(deep=True) if check[0] == "FAIL"] == []
    (purged,) = [op for op in await memory.audit() if op.kind == "purge"]
    with pytest.raises(Invalid, match="purged"):
        await memory.undo(purged.op_id)
    with pytest.raises(NotFound):
        await memory.restore(first)


async def test_many_need_a_filter_and_a_preview_that_still_holds(memory: AsyncMemory) -> None:
    await memory.store_many([{"content": f"note {n}", "tags": "old"} for n in range(7)])
    with pytest.raises(Invalid) as refused:
        await memory.forget_where()
    assert refused.value.code == "no_filter"
    old = where(memory.engine, {"tags": "old"})
    look = await forget.forget_where(memory.engine, ACTOR, old, dry_run=True)
    assert (len(look.ids), len(look.previews)) == (7, 5)
    await memory.store("one more note", tags="old")
    with pytest.raises(RefusedError, match="changed_since_preview"):
        await forget.forget_where(memory.engine, ACTOR, old, confirm=look.confirm)
    with pytest.raises(RefusedError):
        await forget.forget_where(memory.engine, ACTOR, old, confirm="made-up")
    look = await forget.forget_where(memory.engine, ACTOR, old, dry_run=True)
    await forget.forget_where(memory.engine, ACTOR, old, confirm=look.confirm)
    assert await memory.list() == []
    assert await memory.undo() == 8


async def test_a_prefix_takes_the_key_and_all_below(memory: AsyncMemory) -> None:
    for key in ("user", "user.theme", "user.font.size", "username"):
        await memory.store(f"about {key}", subject_key=key)
    assert await memory.forget_prefix("user.") == 3
    assert [row.subject_key for row in await memory.list()] == ["username"]
    with pytest.raises(Invalid):
        await memory.forget_prefix(".")


async def test_a_taken_key_is_in_the_way_of_restoring(memory: AsyncMemory) -> None:
    first = await memory.store("dark", subject_key="user.theme")
    await memory.forget(first)
    await memory.store("light", subject_key="user.theme")
    with pytest.raises(Invalid) as refused:
        await memory.restore(first)
    assert refused.value.code == "key_taken"
    (back,) = await memory.restore(first, drop_key=True)
    assert back.subject_key is None


async def test_confirm_mode_only_notes_the_wish(memory: AsyncMemory) -> None:
    id_ = await memory.store("keep me")
    memory.engine.settings = replace(memory.engine.settings, mode="confirm")
    await forget.forget(memory.engine, Actor(door="mcp", user=False), id_)
    assert (await memory.get(id_)).metadata == {"pending_deletion": True}
