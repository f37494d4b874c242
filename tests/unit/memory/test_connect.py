from __future__ import annotations

import pytest

from remora import AsyncMemory
from remora.errors import Invalid, NotFound


async def test_edges_of_several_types_and_one_each(memory: AsyncMemory) -> None:
    a, b = await memory.store("cause"), await memory.store("effect")
    await memory.connect(a, b, "causes", weight=0.4, reasons=["x"])
    again = await memory.connect(a, b, "causes", weight=0.9, reasons=["y"])
    assert (again.weight, again.reasons) == (0.9, ("x", "y"))
    await memory.connect(a, b, "supports")
    await memory.connect(b, a, "related")
    await memory.connect(a, b, "related")
    assert sorted(edge.type for edge in await memory.relations(a)) == ["causes", "related", "supports"]


async def test_bad_edges(memory: AsyncMemory) -> None:
    a, b = await memory.store("one"), await memory.store("two")
    for call, error, code in (
        ((a, a), Invalid, "self_loop"),
        ((a, b, "loves"), Invalid, "unknown_relation"),
        ((a, "01ARZ3NDEKTSV4RRFFQ69G5FAV"), NotFound, "not_found"),
    ):
        with pytest.raises(error) as refused:
            await memory.connect(*call)
        assert refused.value.code == code
    with pytest.raises(NotFound):
        await memory.disconnect(a, b)


async def test_taken_away_and_undone(memory: AsyncMemory) -> None:
    a, b = await memory.store("one"), await memory.store("two")
    await memory.connect(a, b)
    assert await memory.disconnect(a, b) == 1
    assert await memory.relations(a) == []
    await memory.undo()
    assert len(await memory.relations(a)) == 1
