"""Memories of memento: its database, and the lines of its export."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from remora.errors import Invalid
from remora.memory import normalise
from remora.memory.engine import Engine
from remora.memory.filters import moment
from remora.memory.transfer.incoming import Incoming
from remora.memory.words import language
from remora.model.memory import Memory, content_hash, is_ulid, new_id

if TYPE_CHECKING:
    from remora.storage.sqlite.foreign import Foreign

SYSTEM = "memento"
KNOWN = {
    "id",
    "content",
    "kind",
    "subject_key",
    "importance",
    "source",
    "metadata",
    "created_at",
    "updated_at",
    "archived_at",
    "archived",
    "embedding",
    "tags",
}


def from_database(engine: Engine, source: Foreign, namespace: str) -> Incoming:
    return from_lines(engine, source.rows("memories"), namespace)


def from_lines(engine: Engine, rows: Sequence[Mapping[str, Any]], namespace: str) -> Incoming:
    incoming = Incoming(SYSTEM)
    for row in rows:
        try:
            memory = _memory(engine, incoming, row, namespace)
        except Invalid as cause:
            incoming.warnings[f"left out: {cause}"] += 1
            continue
        incoming.memories.append(memory)
        if memory.id != row.get("id"):
            incoming.aliases[memory.id] = [(SYSTEM, str(row.get("id")))]
    return incoming


def _memory(engine: Engine, incoming: Incoming, row: Mapping[str, Any], namespace: str) -> Memory:
    warnings: list[str] = []
    text = normalise.content(row.get("content"), warnings)
    given = row.get("metadata") or {}
    metadata = json.loads(given) if isinstance(given, str) else dict(given)
    kind = engine.ontology.place(str(row.get("kind") or "fact"))
    created = _time(engine, row.get("created_at")) or engine.now()
    archived = _time(engine, row.get("archived_at")) or (created if row.get("archived") else None)
    extra = {
        name: value
        for name, value in row.items()
        if name not in KNOWN and isinstance(value, (str, int, float)) and value != ""
    }
    if extra:
        metadata["import"] = {SYSTEM: extra}
    importance = row.get("importance")
    memory = Memory(
        # The same id as there: what refers to it goes on to work.
        id=str(row["id"]).upper() if is_ulid(str(row.get("id", "")).upper()) else new_id(created),
        content=text, content_hash=content_hash(text), namespace=namespace, kind=kind.kind, base_kind=kind.base,
        requested_kind=kind.requested, subject_key=_key(incoming, row), tags=normalise.tags(row.get("tags"), warnings),
        importance=min(1.0, max(0.0, float(importance))) if isinstance(importance, (int, float)) else 0.5,
        metadata=normalise.metadata(metadata, warnings), trust="import", created_at=created,
        updated_at=max(_time(engine, row.get("updated_at")) or created, created), lang=language(text),
        status="archived" if archived else "active", archived_at=archived,
        source={"kind": str(row.get("source") or "manual"), "import_system": SYSTEM},
    )  # fmt: skip
    for warning in warnings:
        incoming.warnings[warning] += 1
    return memory


def _key(incoming: Incoming, row: Mapping[str, Any]) -> str | None:
    try:
        return normalise.subject_key(row.get("subject_key"))
    except Invalid:
        incoming.warnings["subject keys that cannot be kept"] += 1
        return None


def _time(engine: Engine, value: Any) -> int | None:
    return None if value in (None, "") else moment(engine, value)
