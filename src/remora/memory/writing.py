"""How every verb writes: plan over one state of the store, apply, and plan again when somebody was faster."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from remora.errors import VersionConflict
from remora.memory.context import LARGEST_GAP_US, PREVIOUS_TURNS
from remora.memory.indexing import entries, entry, followers
from remora.model.graph import Conflict, Relation
from remora.model.memory import Memory, new_id
from remora.model.ops import Actor, Batch, Change, Op, OpKind, Subject
from remora.storage.protocol import Stale, View

if TYPE_CHECKING:
    from remora.memory.engine import Engine

T = TypeVar("T")
ATTEMPTS = 60
# Fields whose change alters what search keeps of a memory.
INDEXED = (
    "content",
    "subject_key",
    "tags",
    "metadata",
    "source",
    "lang",
    "valid_from",
    "created_at",
    "sensitivity",
    "namespace",
)


class Overlay:
    """The view as it will be once the planned changes are applied."""

    def __init__(self, view: View) -> None:
        self._view = view
        self.changed: dict[str, Memory] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)

    def get(self, memory_id: str) -> Memory | None:
        return self.changed.get(memory_id) or self._view.get(memory_id)

    def get_many(self, ids: Sequence[str]) -> dict[str, Memory]:
        found = self._view.get_many(ids)
        return {id_: self.changed.get(id_, found.get(id_)) for id_ in ids if id_ in found or id_ in self.changed}  # type: ignore[misc]

    def by_key(self, namespace: str, subject_key: str, status: str = "active") -> Memory | None:
        for memory in self.changed.values():
            place = (memory.namespace, memory.subject_key, memory.status)
            if place == (namespace, subject_key, status) and memory.superseded_by is None:
                return memory
        found = self._view.by_key(namespace, subject_key, status)
        return found if found is not None and found.id not in self.changed else None

    def by_hash(self, content_hash: str, namespace: str | None = None) -> list[Memory]:
        planned = [
            memory
            for memory in self.changed.values()
            if memory.content_hash == content_hash
            and namespace in (None, memory.namespace)
            and memory.status != "deleted"
        ]
        return planned + [
            memory for memory in self._view.by_hash(content_hash, namespace) if memory.id not in self.changed
        ]

    def previous_turns(self, memory: Memory, count: int, within: int) -> list[Memory]:
        return self._turns(memory, count, within, before=True)

    def next_turns(self, memory: Memory, count: int, within: int) -> list[Memory]:
        return self._turns(memory, count, within, before=False)

    def _turns(self, memory: Memory, count: int, within: int, *, before: bool) -> list[Memory]:
        look = self._view.previous_turns if before else self._view.next_turns
        held = look(memory, count + len(self.changed) if len(self.changed) < count else 2 * count, within)
        own = [turn for turn in self.changed.values() if _neighbour(turn, memory, within)]
        turns = {turn.id: turn for turn in held if turn.id not in self.changed}
        turns |= {turn.id: turn for turn in own if (place_in(turn) < place_in(memory)) is before}
        ordered = sorted(turns.values(), key=place_in)
        return ordered[-count:] if before else ordered[:count]


def place_in(turn: Memory) -> tuple[float, int, str]:
    """Where a turn stands in its conversation."""
    number = turn.source.get("turn")
    return (float(number) if isinstance(number, (int, float)) else float("-inf"), turn.created_at, turn.id)


def _neighbour(turn: Memory, memory: Memory, within: int) -> bool:
    return (
        turn.id != memory.id
        and turn.conversation == memory.conversation
        and turn.namespace == memory.namespace
        and turn.status == "active"
        and turn.superseded_by is None
        and abs(turn.created_at - memory.created_at) <= within
        and (turn.session is None or memory.session is None or turn.session == memory.session)
    )


class Planner:
    """Collects the changes of one batch. `view` shows the store with them applied."""

    def __init__(self, view: View, actor: Actor, now: int) -> None:
        self.overlay = Overlay(view)
        self.view = cast("View", self.overlay)
        self.actor = actor
        self.now = now
        self.batch_id = new_id()
        self.changes: list[Change] = []
        self.aliases: list[tuple[str, str, str]] = []
        self.idempotency_key: str | None = None
        self.result: Mapping[str, Any] | None = None
        self._originals: dict[str, Memory | None] = {}

    def put(
        self,
        kind: OpKind,
        before: Subject | None,
        after: Subject,
        *,
        reason: str | None = None,
        undoes: str | None = None,
    ) -> Subject:
        """Plan one change; the new state carries the next version."""
        if before is not None:
            after = replace(after, version=before.version + 1)
        self.changes.append(Change(kind=kind, before=before, after=after, reason=reason, undoes=undoes, op_id=new_id()))
        if isinstance(after, Memory):
            self._originals.setdefault(after.id, before if isinstance(before, Memory) else None)
            self.overlay.changed[after.id] = after
        return after

    def update(self, kind: OpKind, before: Memory, /, *, touched: bool = True, reason: str | None = None,
               undoes: str | None = None, **fields: Any) -> Memory:  # fmt: skip
        """Plan new values for some fields. `touched` = a change that a user would recognise as one."""
        if touched:
            fields.setdefault("updated_at", max(self.now, before.created_at))
        return cast("Memory", self.put(kind, before, replace(before, **fields), reason=reason, undoes=undoes))

    def relate(self, src: str, dst: str, kind: str, *, symmetric: bool, **fields: Any) -> Relation:
        """Plan an edge; one that is there already is strengthened."""
        if symmetric and dst < src:
            src, dst = dst, src
        held = self.view.edge(src, dst, kind)
        if held is None:
            edge = Relation(
                id=new_id(), src=src, dst=dst, type=kind, created_at=fields.pop("created_at", self.now), **fields
            )
            return cast("Relation", self.put("relate", None, edge))
        reasons = tuple(dict.fromkeys((*held.reasons, *fields.get("reasons", ()))))
        weight = max(held.weight, fields.get("weight", 0.0)) if held.status == "active" else fields.get("weight", 1.0)
        after = replace(held, weight=weight, reasons=reasons, status="active")
        return cast("Relation", self.put("relate", held, after)) if after != held else held

    def dispute(self, conflict: Conflict) -> Conflict:
        return cast("Conflict", self.put("conflict", None, conflict))

    @property
    def last_op(self) -> str:
        return self.changes[-1].op_id if self.changes else ""

    def batch(self) -> Batch:
        """Everything costly (tokens, chunks) is done here, before the write transaction."""
        indexed, touched = [], []
        for id_, original in self._originals.items():
            after = self.overlay.changed[id_]
            gone = after.status == "deleted"
            if not gone and (original is None or original.status == "deleted" or _index_differs(original, after)):
                indexed.append(id_)
            spoken = after.conversation is not None or (original is not None and original.conversation is not None)
            if spoken and (id_ in indexed or original is None or _standing(original) != _standing(after)):
                touched.append((original, after))
        made = entries(self.view, self.overlay.changed, indexed)
        last = {change.after.id: at for at, change in enumerate(self.changes)}
        changes = tuple(
            replace(change, index=made[change.after.id])
            if made.get(change.after.id) and last[change.after.id] == at
            else change
            for at, change in enumerate(self.changes)
        )
        return Batch(
            id=self.batch_id, at=self.now, actor=self.actor, changes=changes, reindex=self._followers(touched),
            aliases=tuple(self.aliases), idempotency_key=self.idempotency_key, result=self.result,
        )  # fmt: skip

    def _followers(self, touched: Sequence[tuple[Memory | None, Memory]]) -> tuple[tuple[str, Any], ...]:
        found: dict[str, Memory] = {}
        for before, after in touched:
            for turn in followers(self.view, before, after):
                if turn.id not in self.overlay.changed:
                    found[turn.id] = turn
        return tuple(
            (turn.id, entry(turn, self.view.previous_turns(turn, PREVIOUS_TURNS, LARGEST_GAP_US)))
            for turn in found.values()
        )


def _standing(turn: Memory) -> tuple[str, str | None]:
    """Whether its words belong into the context of the turns after it."""
    return turn.status, turn.superseded_by


def _index_differs(before: Memory, after: Memory) -> bool:
    return any(getattr(before, name) != getattr(after, name) for name in INDEXED)


async def write(engine: Engine, actor: Actor, plan: Callable[[Planner], T]) -> tuple[T, Sequence[Op]]:
    """Run `plan` until its batch goes through; an empty plan writes nothing."""
    for attempt in range(ATTEMPTS):

        def run(view: View) -> tuple[T, Batch]:
            planner = Planner(view, actor, engine.now())
            return plan(planner), planner.batch()

        result, batch = await engine.store.read(run)
        if not batch.changes and not batch.aliases and batch.idempotency_key is None:
            return result, ()
        try:
            ops = await engine.store.apply(batch)
        except Stale:
            await asyncio.sleep(random.uniform(0, 0.001 * min(attempt + 1, 30)))
            continue
        if engine.indexer is not None and batch.changes:
            engine.indexer.wake()
        return result, ops
    raise VersionConflict(f"other writers were faster {ATTEMPTS} times", code="busy", hint="try again")
