from __future__ import annotations

import uuid

import pytest

from remora import AsyncMemory
from remora.errors import AmbiguousId, NotFound
from remora.memory.identify import candidates, find, short_ids, short_refs
from remora.model.memory import content_hash, decode_ulid


async def test_every_form_of_a_reference(memory: AsyncMemory) -> None:
    id_ = await memory.store("the one")
    forms = (id_, id_.lower(), str(uuid.UUID(int=decode_ulid(id_))), content_hash("the one"), id_[:12], f"#{id_[-5:]}")
    for form in forms:
        assert (await memory.get(form)).id == id_
    for form in ("", "abc", "#ab", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "no such thing"):
        with pytest.raises(NotFound):
            await memory.get(form)


async def test_a_hash_in_several_namespaces(memory: AsyncMemory) -> None:
    one = await memory.store("shared", namespace="a")
    two = await memory.store("shared", namespace="b")
    view = memory.engine.store
    assert await view.read(lambda view: candidates(view, content_hash("shared"), ("b", "a"))) == [two]
    with pytest.raises(AmbiguousId):
        await view.read(lambda view: find(view, content_hash("shared"), strict=True))
    assert one != two


async def test_short_forms_are_long_enough_to_be_clear(memory: AsyncMemory) -> None:
    ids: list[str] = list(map(str, await memory.store_many([f"row {n}" for n in range(30)])))
    short = await memory.engine.store.read(lambda view: short_ids(view, ids))
    assert len(set(short.values())) == 30
    assert all(len(text) >= 12 for text in short.values())
    assert len(set(short_refs(ids).values())) == 30
