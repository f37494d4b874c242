"""Reading without a question: one memory, lists, tags, what is known about the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from remora.memory.engine import Engine
from remora.memory.filters import where as as_where
from remora.memory.identify import find
from remora.model.memory import Memory
from remora.model.search import EVERYTHING, Where
from remora.storage.protocol import Page, View


async def get(engine: Engine, reference: str, *, as_of: int | None = None) -> Memory:
    """One memory by any reference; deleted ones are found only by history."""

    def read(view: View) -> Memory:
        memory = find(view, reference, namespaces=engine.read_set(None))
        if as_of is None:
            if memory.status == "deleted":
                raise _gone(reference)
            return memory
        state = next(
            (
                state
                for state, start, end, _ in view.versions(memory.id)
                if start <= as_of and (end is None or as_of < end)
            ),
            None,
        )
        if state is None or state.status == "deleted":
            raise _gone(reference)
        return state

    return await engine.store.read(read)


def _gone(reference: str) -> Exception:
    from remora.errors import NotFound

    return NotFound(f'no memory "{reference}"', hint="it was deleted; history shows it, restore brings it back")


async def listed(
    engine: Engine, where: Where, limit: int = 20, after: tuple[int, str] | None = None, *, order: str = "created"
) -> Page:
    """Newest first; `after` continues a page."""
    return await engine.store.read(lambda view: view.list(where, limit, after, order=order))


async def below(engine: Engine, prefix: str, limit: int, given: Mapping[str, Any]) -> list[Memory]:
    """Memories under a key, by key; an empty prefix means all that have one."""
    where = as_where(engine, {**given, "subject_key_prefix": prefix or None})

    def read(view: View) -> list[Memory]:
        found = [memory for memory in view.list(where, 10_000).rows if memory.subject_key is not None]
        return sorted(found, key=lambda memory: (memory.subject_key or "", memory.id))[:limit]

    return await engine.store.read(read)


async def about(engine: Engine) -> dict[str, list[Memory]]:
    """What is known about the user, and what happened last."""

    def read(view: View) -> dict[str, list[Memory]]:
        namespaces = engine.read_set(None)
        user = view.list(Where(namespaces=namespaces, key_prefix="user."), 200).rows
        events = view.list(Where(namespaces=namespaces, kinds=("event",)), 10).rows
        return {"user": sorted(user, key=lambda memory: memory.subject_key or ""), "events": list(events)}

    return await engine.store.read(read)


async def tags(engine: Engine, where: Where) -> Mapping[str, int]:
    return await engine.store.read(lambda view: view.tags(where))


async def namespaces(engine: Engine) -> Mapping[str, int]:
    return await engine.store.read(lambda view: view.namespaces())


async def pending(engine: Engine, where: Where, limit: int = 100) -> Sequence[Memory]:
    wanted = replace(where, statuses=("pending",), superseded=True, expired=True, any_validity=True)
    return (await listed(engine, wanted, limit)).rows


async def stale(engine: Engine, days: int, where: Where, limit: int = 100) -> Sequence[Memory]:
    """Not changed for so many days, oldest changes last."""
    before = engine.now() - days * 86_400_000_000
    return (await listed(engine, replace(where, time_field="updated", before=before), limit, order="updated")).rows


async def everything(engine: Engine, namespaces: tuple[str, ...] | None) -> list[Memory]:
    """All but tombstones, by id."""

    def read(view: View) -> list[Memory]:
        found = view.get_many(view.ids(replace(EVERYTHING, namespaces=namespaces)))
        return [found[id_] for id_ in sorted(found)]

    return await engine.store.read(read)
