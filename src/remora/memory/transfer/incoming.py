"""What an import brings, and taking it in: once, with its times, respecting what was deleted here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from remora.memory import gate
from remora.memory.engine import Engine
from remora.memory.modes import permit
from remora.memory.writing import Planner, write
from remora.model.graph import Conflict, Relation
from remora.model.memory import Memory, content_hash, new_id
from remora.model.ops import Actor
from remora.storage.protocol import View

SLICE = 500


@dataclass(slots=True)
class Incoming:
    """`native`: rows keep their id, version and provenance exactly."""

    system: str
    native: bool = False
    memories: list[Memory] = field(default_factory=list)
    aliases: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # by memory id: (system, alias)
    relations: list[Relation] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    versions: list[tuple[Memory, int, int, str]] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)


async def take(engine: Engine, actor: Actor, incoming: Incoming, *, dry_run: bool = False) -> dict[str, Any]:
    """Import in slices that share one batch, so that one undo takes all of it back."""
    permit(engine, actor, "write")
    batch, counts = new_id(), Counter[str]()
    placed: dict[str, str] = {}  # the id in the source → the id here
    if dry_run:
        await engine.store.read(
            lambda view: _take_slice(
                engine, Planner(view, actor, engine.now()), incoming, incoming.memories, placed, counts
            )
        )
        return _report(incoming, counts, batch=None)
    for at in range(0, len(incoming.memories), SLICE):
        part = incoming.memories[at : at + SLICE]

        def plan(
            planner: Planner, part: Sequence[Memory] = part, placed: dict[str, str] = placed
        ) -> tuple[dict[str, str], Counter[str]]:
            planner.batch_id = batch
            here, found = dict(placed), Counter[str]()
            _take_slice(engine, planner, incoming, part, here, found)
            return here, found

        (here, found), _ = await write(engine, actor, plan)
        placed |= here
        counts += found

    def connect(planner: Planner) -> Counter[str]:
        planner.batch_id = batch
        return _take_edges(planner, incoming, placed)

    counts += (await write(engine, actor, connect))[0]
    if incoming.versions:
        await engine.store.import_history([row for row in incoming.versions if placed.get(row[0].id) == row[0].id])
    return _report(incoming, counts, batch=batch)


def _report(incoming: Incoming, counts: Counter[str], batch: str | None) -> dict[str, Any]:
    names = ("new", "merged", "known", "suppressed", "key_taken", "relations", "conflicts")
    return {
        "found": len(incoming.memories),
        **{name: counts[name] for name in names},
        "warnings": dict(incoming.warnings),
        "batch": batch,
    }


def _take_slice(
    engine: Engine,
    planner: Planner,
    incoming: Incoming,
    part: Sequence[Memory],
    placed: dict[str, str],
    counts: Counter[str],
) -> None:
    for memory in part:
        known = _known(planner.view, incoming, memory)
        if known is not None:
            placed[memory.id] = known
            back = _undone(planner.view, known)
            if back is not None:
                planner.update("restore", back, touched=False, status=memory.status, deleted_at=None)
            counts["known" if back is None else "new"] += 1
            continue
        what, id_ = _place(engine, planner, incoming, memory)
        counts[what] += 1
        if id_ is not None:
            placed[memory.id] = id_
            planner.aliases += [(system, alias, id_) for system, alias in incoming.aliases.get(memory.id, ())]


def _known(view: View, incoming: Incoming, memory: Memory) -> str | None:
    """Imported before: by its name in the source, or under the same id."""
    for _, alias in incoming.aliases.get(memory.id, ()):
        found = view.by_alias(alias)
        if found:
            return str(found[0])
    held = view.get(memory.id)
    return held.id if held is not None else None


def _undone(view: View, id_: str) -> Memory | None:
    """The row of an import that was taken back: it comes in once more."""
    held = view.get(id_)
    if held is None or held.status != "deleted" or not held.content:
        return None
    return held if view.tombstone(held.content_hash, held.namespace) is None else None


def _place(engine: Engine, planner: Planner, incoming: Incoming, memory: Memory) -> tuple[str, str | None]:
    view = planner.view
    if not incoming.native:
        memory = _gated(engine, incoming, memory)
    if memory.status == "deleted":
        planner.put("import", None, memory)
        return "known", memory.id
    if view.tombstone(memory.content_hash, memory.namespace) is not None:
        return "suppressed", None
    same = [row for row in view.by_hash(memory.content_hash, memory.namespace) if row.document_id == memory.document_id]
    twin = next((row for row in same if row.subject_key == memory.subject_key), None)
    if twin is not None:
        tags = tuple(dict.fromkeys((*twin.tags, *memory.tags)))
        if tags != twin.tags:
            planner.update("merge", twin, tags=tags)
        return "merged", twin.id
    what = "new"
    if memory.subject_key is not None and memory.status in ("active", "pending") and memory.superseded_by is None:
        holder = view.by_key(memory.namespace, memory.subject_key, memory.status)
        if holder is not None:
            # What stands here under this key stays; the other text comes without it.
            memory, what = (
                replace(memory, subject_key=None, metadata={**memory.metadata, "import_key": memory.subject_key}),
                "key_taken",
            )
    # Pointers to rows that come later in the file are set when all are there.
    planner.put("import", None, memory)
    return what, memory.id


def _gated(engine: Engine, incoming: Incoming, memory: Memory) -> Memory:
    warnings: list[str] = []
    clean, types = engine.redact(memory.content)
    metadata = gate.clean_values(engine, dict(memory.metadata), warnings)
    if types or warnings:
        incoming.warnings["a secret was left out"] += 1
    return replace(
        memory, content=clean, content_hash=content_hash(clean) if types else memory.content_hash, metadata=metadata
    )


def _take_edges(planner: Planner, incoming: Incoming, placed: dict[str, str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for edge in incoming.relations:
        src, dst = placed.get(edge.src), placed.get(edge.dst)
        if src is None or dst is None or src == dst:
            incoming.warnings["relations to memories that were not imported"] += 1
            continue
        symmetric = edge.type in ("related", "contradicts", "shares_entity")
        if symmetric and dst < src:
            src, dst = dst, src
        if planner.view.edge(src, dst, edge.type) is None and (src, dst, edge.type) not in _planned(planner):
            planner.put("relate", None, replace(edge, src=src, dst=dst))
            counts["relations"] += 1
    for conflict in incoming.conflicts:
        a, b = placed.get(conflict.a), placed.get(conflict.b)
        if a is not None and b is not None and planner.view.conflict(conflict.id) is None:
            planner.put("conflict", None, replace(conflict, a=a, b=b))
            counts["conflicts"] += 1
    for memory in incoming.memories:
        _point(planner, memory, placed)
    return counts


def _planned(planner: Planner) -> set[tuple[str, str, str]]:
    return {(edge.src, edge.dst, edge.type) for change in planner.changes if isinstance(edge := change.after, Relation)}


def _point(planner: Planner, memory: Memory, placed: dict[str, str]) -> None:
    """A pointer to a memory that has another id here, or none."""
    if memory.superseded_by is None or memory.id not in placed:
        return
    target = placed.get(memory.superseded_by)
    held = planner.view.get(placed[memory.id])
    if held is not None and held.superseded_by == memory.superseded_by and target != memory.superseded_by:
        planner.update("supersede", held, touched=False, superseded_by=target if target != held.id else None)
