"""Edges between memories: made, strengthened, hidden, listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from remora.errors import Invalid, NotFound
from remora.memory import normalise
from remora.memory.engine import Engine
from remora.memory.identify import find
from remora.memory.modes import permit
from remora.memory.writing import Planner, write
from remora.model.graph import DIRECTED, SYMMETRIC, Relation
from remora.model.memory import Memory
from remora.model.ops import Actor
from remora.storage.protocol import View

TYPES = (*DIRECTED, *SYMMETRIC)


async def connect(
    engine: Engine,
    actor: Actor,
    src: str,
    dst: str,
    kind: str = "related",
    *,
    weight: float = 1.0,
    confidence: float = 1.0,
    reasons: Sequence[str] = ("manual",),
    metadata: Mapping[str, Any] | None = None,
) -> Relation:
    """Add an edge; adding it again keeps the larger weight and all reasons."""
    permit(engine, actor, "write")
    if kind not in TYPES:
        raise Invalid(f'unknown relation "{kind}"', code="unknown_relation", hint=", ".join(TYPES))
    fields: dict[str, Any] = {
        "weight": normalise.fraction(weight, "weight", 1.0),
        "confidence": normalise.fraction(confidence, "confidence", 1.0),
        "reasons": tuple(reasons),
        "metadata": normalise.metadata(metadata, []),
        "origin": "user" if actor.user else "agent",
    }

    def plan(planner: Planner) -> Relation:
        first, second = _ends(planner.view, src, dst)
        return planner.relate(first.id, second.id, kind, symmetric=kind in SYMMETRIC, **fields)

    result, _ = await write(engine, actor, plan)
    return result


async def disconnect(engine: Engine, actor: Actor, src: str, dst: str, kind: str | None = None) -> int:
    """Take the edges between two memories away; undo brings them back."""
    permit(engine, actor, "write")

    def plan(planner: Planner) -> int:
        first, second = _ends(planner.view, src, dst)
        ends = {first.id, second.id}
        edges = planner.view.relations([first.id], types=(kind,) if kind else (), hidden=True)
        wanted = [edge for edge in edges if {edge.src, edge.dst} == ends and edge.status != "deleted"]
        if not wanted:
            raise NotFound("these two are not connected")
        for edge in wanted:
            planner.put("unrelate", edge, replace(edge, status="deleted"))
        return len(wanted)

    result, _ = await write(engine, actor, plan)
    return result


async def edges(engine: Engine, reference: str, kinds: Sequence[str] = ()) -> list[Relation]:
    """All edges at one memory whose other end is visible."""
    return await engine.store.read(lambda view: list(view.relations([find(view, reference).id], types=kinds)))


def _ends(view: View, src: str, dst: str) -> tuple[Memory, Memory]:
    first, second = find(view, src), find(view, dst)
    if first.id == second.id:
        raise Invalid("a memory cannot be connected with itself", code="self_loop")
    for memory in (first, second):
        if memory.status == "deleted":
            raise NotFound(f"memory {memory.id} is deleted")
    return first, second
