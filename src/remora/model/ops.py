"""Operations: every write is a batch of changes, each from one state of a thing to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from remora.model.graph import Conflict, Relation
from remora.model.memory import Memory
from remora.model.search import IndexEntry

OpKind = Literal[
    "create", "update", "merge", "supersede", "archive", "restore", "delete", "purge", "relate", "unrelate",
    "rate", "resolve", "conflict", "retype", "rename_tag", "rename_namespace", "import", "approve", "reject",
]  # fmt: skip
Subject = Memory | Relation | Conflict


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who writes: the door, and behind it a token, an agent, a session."""

    door: str = "python"
    agent: str | None = None
    session: str | None = None
    token: str | None = None
    user: bool = True  # a user's door (CLI, Python, dashboard), not an agent's

    @property
    def name(self) -> str:
        return "/".join(part for part in (self.door, self.token, self.agent, self.session) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """`before` None makes the thing; the store refuses the batch when the stored version is not `before.version`.

    `index` carries what the search tables shall hold from now on. None keeps them; a deleted memory loses them.
    """

    kind: OpKind
    before: Subject | None
    after: Subject
    index: IndexEntry | None = None
    undoes: str | None = None
    reason: str | None = None
    op_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Changes that stand or fall together. `at` is their transaction time."""

    id: str
    at: int
    actor: Actor
    changes: tuple[Change, ...]
    # Rows that keep their state but are indexed anew, because they hold words of a neighbour.
    reindex: tuple[tuple[str, IndexEntry], ...] = ()
    aliases: tuple[tuple[str, str, str], ...] = ()  # (system, alias, memory id)
    idempotency_key: str | None = None
    result: Mapping[str, Any] | None = None  # kept with the idempotency key
    note: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One line of the append-only log."""

    op_id: str
    batch_id: str
    kind: OpKind
    target: str
    target_type: Literal["memory", "relation", "conflict"]
    at: int
    actor: Mapping[str, Any]
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    version: int
    reason: str | None = None
    undoes: str | None = None
    undone_by: str | None = None
    purged: bool = False
