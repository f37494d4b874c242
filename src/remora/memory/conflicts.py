"""Statements that disagree: what is open, and what a person decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from remora.errors import Invalid, NotFound
from remora.memory import normalise
from remora.memory.engine import Engine
from remora.memory.identify import find
from remora.memory.modes import permit
from remora.memory.writing import Planner, write
from remora.model.graph import Conflict
from remora.model.memory import TRUST_ORDER, Memory, content_hash
from remora.model.ops import Actor
from remora.storage.protocol import View


@dataclass(frozen=True, slots=True)
class Dispute:
    conflict: Conflict
    a: Memory
    b: Memory
    winner: str  # the suggestion: higher trust, then newer, then more often confirmed


async def disputes(
    engine: Engine, *, status: str | None = "open", namespaces: tuple[str, ...] | None = None
) -> list[Dispute]:
    def read(view: View) -> list[Dispute]:
        found = []
        conflicts = view.conflicts(status=status)
        memories = view.get_many([id_ for conflict in conflicts for id_ in (conflict.a, conflict.b)])
        for conflict in conflicts:
            a, b = memories.get(conflict.a), memories.get(conflict.b)
            if a is not None and b is not None and (namespaces is None or a.namespace in namespaces):
                found.append(Dispute(conflict, a, b, max((a, b), key=_strength).id))
        return found

    return await engine.store.read(read)


def _strength(memory: Memory) -> tuple[int, int, int]:
    return TRUST_ORDER.index(memory.trust), memory.created_at, memory.confirmations


async def resolve(
    engine: Engine, actor: Actor, winner: str, loser: str, *, how: Literal["supersede", "keep_both"] = "supersede",
    text: str | None = None,
) -> str:  # fmt: skip
    """Let one replace the other, keep both, or write what is right (`text`) into the winner. Gives the batch."""
    permit(engine, actor, "write")

    def plan(planner: Planner) -> str:
        first, second = find(planner.view, winner), find(planner.view, loser)
        if first.id == second.id:
            raise Invalid("winner and loser are the same memory", code="same_memory")
        between = [one for one in planner.view.conflicts(ids=[first.id]) if second.id in (one.a, one.b)]
        if not between and how == "keep_both":
            raise NotFound("these two have no open conflict")
        if how == "supersede":
            planner.update("supersede", second, touched=False, superseded_by=first.id)
            fields: dict[str, Any] = {"confidence": 1.0}
            if text is not None:
                clean = normalise.content(text, [])
                planner.update("update", first, content=clean, content_hash=content_hash(clean), **fields)
            elif first.confidence != 1.0:
                planner.update("resolve", first, touched=False, **fields)
        status: Literal["resolved", "dismissed"] = "resolved" if how == "supersede" else "dismissed"
        for conflict in between:
            planner.put("resolve", conflict, replace(conflict, status=status, resolution=how))
        return planner.batch_id

    result, _ = await write(engine, actor, plan)
    return result


def may_resolve(dispute: Dispute) -> bool:
    """The narrow case that `auto_resolve` may decide alone."""
    winner, loser = (dispute.a, dispute.b) if dispute.winner == dispute.a.id else (dispute.b, dispute.a)
    week = 7 * 86_400_000_000
    return (
        winner.kind == loser.kind
        and dispute.conflict.similarity >= 0.95
        and abs(winner.created_at - loser.created_at) > week
        and not (winner.pinned or loser.pinned)
    )


async def auto_resolve(engine: Engine, actor: Actor) -> Sequence[str]:
    """Decide the clear cases, when the configuration allows it."""
    if not engine.settings.auto_resolve:
        return ()
    done = []
    for dispute in await disputes(engine):
        if may_resolve(dispute):
            loser = dispute.b.id if dispute.winner == dispute.a.id else dispute.a.id
            done.append(await resolve(engine, actor, dispute.winner, loser))
    return done
