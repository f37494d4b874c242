"""What a caller asks to be stored, and what becomes of it when the store knows the statement already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from remora.errors import Invalid, NotFound
from remora.memory.writing import Planner
from remora.model.graph import DIRECTED, SYMMETRIC
from remora.model.memory import TRUST_ORDER, Memory, Sensitivity, Trust

Outcome = Literal["created", "merged", "updated", "superseded", "pending", "suppressed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remember:
    """What a caller asks to be stored."""

    content: Any
    kind: str | None = None
    tags: Any = None
    importance: float | None = None
    subject_key: str | None = None
    namespace: str | None = None
    scope: str | None = None
    valid_from: int | None = None
    valid_to: int | None = None
    expires_at: int | None = None
    ttl: str | float | None = None
    pinned: bool = False
    sensitivity: Sensitivity = "normal"
    triggers: Sequence[Mapping[str, Any]] = ()
    metadata: Mapping[str, Any] | None = None
    source: Mapping[str, Any] = field(default_factory=dict)
    idempotency_key: str | None = None
    supersedes: Sequence[str] = ()
    related: Sequence[Mapping[str, Any]] = ()
    restore_deleted: bool = False
    dedup: Literal["auto", "off"] = "auto"
    trust: Trust | None = None
    automatic: bool = False  # nobody asked for it: index, harvest, hooks, imports
    created_at: int | None = None
    document: tuple[str, int, int | None] | None = None  # (document id, chunk number, page)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    status: Outcome
    memory: Memory
    op_id: str
    warnings: tuple[str, ...] = ()
    similar: tuple[tuple[str, float, str], ...] = ()  # (id, similarity, preview)
    superseded: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return self.memory.id


def supersede_named(planner: Planner, request: Remember, memory: Memory) -> list[str]:
    """What the caller says it replaces."""
    found: list[str] = []
    for old_id in request.supersedes:
        old = planner.view.get(old_id)
        if old is None or old.status == "deleted":
            raise NotFound(f"no memory {old_id} to supersede")
        if old.id != memory.id:
            planner.update("supersede", old, touched=False, superseded_by=memory.id)
            found.append(old.id)
    return found


def relate(planner: Planner, request: Remember, memory: Memory) -> None:
    for link in request.related:
        other, kind = planner.view.get(str(link["id"])), str(link.get("type", "related"))
        if other is None or other.status == "deleted":
            raise NotFound(f"no memory {link['id']} to relate to")
        if kind not in (*DIRECTED, *SYMMETRIC):
            raise Invalid(
                f'unknown relation "{kind}"', code="unknown_relation", hint=", ".join((*DIRECTED, *SYMMETRIC))
            )
        if other.id != memory.id:
            planner.relate(memory.id, other.id, kind, symmetric=kind in SYMMETRIC)


def upsert(planner: Planner, held: Memory, memory: Memory, request: Remember) -> Stored:
    """The key is taken: the same memory says something new, or is confirmed."""
    if held.content_hash == memory.content_hash:
        return merge(planner, held, memory, request)
    fields = _given(held, memory, request)
    planner_row = planner.update(
        "update", held, content=memory.content, content_hash=memory.content_hash, lang=memory.lang, **fields
    )
    superseded = supersede_named(planner, request, planner_row)
    status: Outcome = "pending" if held.status == "pending" else "updated"
    return Stored(status=status, memory=planner_row, op_id=planner.last_op, superseded=tuple(superseded))


def _given(held: Memory, memory: Memory, request: Remember) -> dict[str, Any]:
    """What an update takes over from the caller: tags are united, the rest is taken when it was given."""
    fields: dict[str, Any] = {
        "tags": tuple(dict.fromkeys((*held.tags, *memory.tags))),
        "metadata": {**held.metadata, **memory.metadata},
        "trust": max(held.trust, memory.trust, key=TRUST_ORDER.index),
    }
    if request.kind:
        fields |= {
            "kind": memory.kind,
            "base_kind": memory.base_kind,
            "requested_kind": memory.requested_kind,
            "kind_defaulted": False,
        }
    for name in ("importance", "scope", "valid_from", "valid_to"):
        if getattr(request, name) is not None:
            fields[name] = getattr(memory, name)
    if memory.expires_at is not None:
        fields["expires_at"] = memory.expires_at
    if request.pinned:
        fields["pinned"] = True
    return fields


def merge(planner: Planner, held: Memory, memory: Memory, request: Remember, wording: str | None = None) -> Stored:
    """The same statement again: tags united, confirmed once more, brought back when it was out of sight."""
    fields: dict[str, Any] = {
        "tags": tuple(dict.fromkeys((*held.tags, *memory.tags))),
        "metadata": {**memory.metadata, **held.metadata},
        "importance": max(held.importance, memory.importance) if request.importance is not None else held.importance,
        "confirmations": held.confirmations + 1,
        "last_confirmed_at": planner.now,
        "pinned": held.pinned or memory.pinned,
        "subject_key": held.subject_key or memory.subject_key,
    }
    if held.valid_from is not None and memory.valid_from is not None:
        fields["valid_from"] = min(held.valid_from, memory.valid_from)
    if held.valid_to is not None:
        fields["valid_to"] = memory.valid_to and max(held.valid_to, memory.valid_to)
    if held.expires_at is not None:
        fields["expires_at"] = memory.expires_at and max(held.expires_at, memory.expires_at)
    if memory.status == "active" and held.status in ("archived", "pending"):
        fields |= {"status": "active", "archived_at": None}
    if memory.status == "active" and held.superseded_by is not None:
        _turn_around(planner, held)
        held = planner.view.get(held.id) or held
        fields["superseded_by"] = None
    touched = any(
        fields[name] != getattr(held, name) for name in ("tags", "metadata", "importance", "subject_key", "pinned")
    )
    row = planner.update("merge", held, touched=touched, reason=wording, **fields)
    superseded = supersede_named(planner, request, row)
    relate(planner, request, row)
    status: Outcome = "pending" if row.status == "pending" else "merged"
    return Stored(status=status, memory=row, op_id=planner.last_op, superseded=tuple(superseded))


def _turn_around(planner: Planner, old: Memory) -> None:
    """A was replaced by B and is said again: A is the head now, B points to it."""
    head, seen = old, {old.id}
    while head.superseded_by is not None and head.superseded_by not in seen:
        seen.add(head.superseded_by)
        following = planner.view.get(head.superseded_by)
        if following is None:
            return
        head = following
    if head.id != old.id:
        # The pointer of the old row goes first: a chain is never a circle, not even inside the batch.
        planner.update("supersede", old, touched=False, superseded_by=None)
        planner.update("supersede", head, touched=False, superseded_by=old.id)
