"""What the Python API gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from remora.memory.filters import to_datetime
from remora.memory.merge import Stored
from remora.memory.recall import Hit, Recalled
from remora.model.memory import Memory

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One memory as callers see it."""

    id: str
    content: str
    kind: str
    subject_key: str | None
    importance: float
    source: str
    metadata: Mapping[str, Any]
    tags: tuple[str, ...]
    namespace: str
    trust: str
    status: str
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None
    valid_from: datetime | None
    valid_to: datetime | None
    superseded_by: str | None
    version: int
    provenance: Mapping[str, Any] = field(default_factory=dict)
    score: float | None = None
    why: tuple[str, ...] = ()
    conflict: tuple[str, str] | None = None


def record(memory: Memory, hit: Hit | None = None) -> MemoryRecord:
    def when(value: int | None) -> datetime | None:
        return None if value is None else to_datetime(value)

    return MemoryRecord(
        id=memory.id,
        content=memory.content,
        kind=memory.kind,
        subject_key=memory.subject_key,
        importance=memory.importance,
        source=str(memory.source.get("kind", "manual")),
        metadata=dict(memory.metadata),
        tags=memory.tags,
        namespace=memory.namespace,
        trust=memory.trust,
        status=memory.status,
        created_at=to_datetime(memory.created_at),
        updated_at=to_datetime(memory.updated_at),
        archived_at=when(memory.archived_at),
        valid_from=when(memory.valid_from),
        valid_to=when(memory.valid_to),
        superseded_by=memory.superseded_by,
        version=memory.version,
        provenance=dict(memory.source),
        score=hit.score if hit else None,
        why=hit.why if hit else (),
        conflict=hit.disputed if hit else None,
    )


class StoreResult(str):
    """The id of what was stored; it is the id, so that it can be handed on as one."""

    __slots__ = ("conflicts", "record", "similar", "status", "superseded", "warnings")
    status: str
    record: MemoryRecord
    warnings: tuple[str, ...]
    similar: tuple[tuple[str, float, str], ...]
    superseded: tuple[str, ...]
    conflicts: tuple[str, ...]

    @property
    def id(self) -> str:
        return str(self)

    @classmethod
    def of(cls, stored: Stored) -> StoreResult:
        found = cls(stored.id)
        found.status, found.record, found.warnings = stored.status, record(stored.memory), stored.warnings
        found.similar, found.superseded, found.conflicts = stored.similar, stored.superseded, stored.conflicts
        return found


class Records(list[T], Generic[T]):
    """A list that knows how it goes on and what was odd."""

    def __init__(
        self, rows: Sequence[T], *, next_cursor: str | None = None, warnings: Sequence[str] = (), mode: str = ""
    ) -> None:
        super().__init__(rows)
        self.next_cursor = next_cursor
        self.warnings = tuple(warnings)
        self.mode_used = mode

    @classmethod
    def of(cls, recalled: Recalled) -> Records[MemoryRecord]:
        rows = [record(hit.memory, hit) for hit in recalled.hits]
        return Records(rows, next_cursor=recalled.next_cursor, warnings=recalled.warnings, mode=recalled.mode_used)
