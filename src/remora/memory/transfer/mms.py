"""Memories of mcp-memory-service: its database, and both forms of its JSON export."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from remora.errors import Invalid
from remora.memory import normalise
from remora.memory.engine import Engine
from remora.memory.filters import moment
from remora.memory.transfer.incoming import Incoming
from remora.memory.words import language
from remora.model.graph import DIRECTED, SYMMETRIC, Relation
from remora.model.memory import Memory, content_hash, new_id

if TYPE_CHECKING:
    from remora.storage.sqlite.foreign import Foreign

SYSTEM = "mms"
# Rows that its consolidation made of pairs of others; they are relations, not memories.
ASSOCIATION = {"association", "discovered"}
COUNTERS = ("access_count", "last_accessed_at", "access_queries", "quality_score", "quality_provider")


def from_database(engine: Engine, source: Foreign, columns: Mapping[str, Sequence[str]], namespace: str) -> Incoming:
    incoming = Incoming("mcp-memory-service")
    ids = _memories(engine, incoming, source.rows("memories"), namespace)
    if "memory_graph" in columns:
        incoming.relations += _edges(incoming, source.rows("memory_graph"), ids)
    return incoming


def from_json(engine: Engine, memories: Sequence[Any], namespace: str) -> Incoming:
    incoming = Incoming("mcp-memory-service")
    _memories(engine, incoming, [row for row in memories if isinstance(row, dict)], namespace)
    return incoming


def _memories(engine: Engine, incoming: Incoming, rows: Iterable[Mapping[str, Any]], namespace: str) -> dict[str, str]:
    """Fills the incoming memories; gives the new id of each hash."""
    ids: dict[str, str] = {}
    pointers: dict[str, str] = {}
    for row in rows:
        try:
            memory, replaced_by = _memory(engine, incoming, row, namespace)
        except Invalid as cause:
            incoming.warnings[f"left out: {cause}"] += 1
            continue
        foreign = str(row.get("content_hash") or hashlib.sha256(memory.content.strip().lower().encode()).hexdigest())
        ids[foreign] = memory.id
        incoming.aliases[memory.id] = [(SYSTEM, foreign)]
        if replaced_by:
            pointers[memory.id] = replaced_by
        incoming.memories.append(memory)
    incoming.memories = [
        replace(memory, superseded_by=ids[pointers[memory.id]])
        if pointers.get(memory.id) in ids and ids[pointers[memory.id]] != memory.id
        else memory
        for memory in incoming.memories
    ]
    return ids


def _memory(engine: Engine, incoming: Incoming, row: Mapping[str, Any], namespace: str) -> tuple[Memory, str | None]:
    warnings: list[str] = []
    text = normalise.content(row.get("content"), warnings)
    given = row.get("metadata") or {}
    metadata = json.loads(given) if isinstance(given, str) else dict(given)
    tags = normalise.tags(row.get("tags"), warnings)
    tags = tuple(dict.fromkeys((*tags, *normalise.tags(metadata.pop("tags", None), warnings))))
    kind = engine.ontology.place(str(row.get("memory_type") or "observation"))
    created = _time(engine, row, "created_at") or engine.now()
    updated = max(_time(engine, row, "updated_at") or created, created)
    deleted = _time(engine, row, "deleted_at")
    counters = {name: metadata.pop(name) for name in COUNTERS if name in metadata}
    known = {
        "id",
        "content",
        "content_hash",
        "tags",
        "memory_type",
        "metadata",
        "created_at",
        "updated_at",
        "created_at_iso",
        "updated_at_iso",
        "deleted_at",
        "superseded_by",
        "version",
        "embedding",
    }
    extra = {
        name: value
        for name, value in row.items()
        if name not in known and isinstance(value, (str, int, float)) and value != ""
    }
    if counters or extra:
        metadata["import"] = {SYSTEM: {**extra, **counters}}
    replaced_by = str(row.get("superseded_by") or metadata.pop("superseded_by", None) or "")
    for warning in warnings:
        incoming.warnings[warning] += 1
    memory = Memory(
        id=new_id(created), content=text, content_hash=content_hash(text), namespace=namespace, kind=kind.kind,
        base_kind=kind.base, requested_kind=kind.requested, kind_defaulted=not row.get("memory_type"), tags=tags,
        metadata=normalise.metadata(metadata, warnings), trust="import", created_at=created, updated_at=updated,
        status="deleted" if deleted else "active", deleted_at=deleted, lang=language(text),
        source={"kind": "import", "import_system": "mcp-memory-service"},
    )  # fmt: skip
    return memory, replaced_by or None


def _time(engine: Engine, row: Mapping[str, Any], name: str) -> int | None:
    value = row.get(name)
    if value is None:
        value = row.get(f"{name}_iso")
    return None if value in (None, "") else moment(engine, value)


def _edges(incoming: Incoming, rows: Iterable[Mapping[str, Any]], ids: Mapping[str, str]) -> list[Relation]:
    found: dict[tuple[str, str, str], Relation] = {}
    for row in rows:
        src, dst = ids.get(str(row.get("source_hash"))), ids.get(str(row.get("target_hash")))
        if src is None or dst is None or src == dst:
            incoming.warnings["relations to memories that are not there"] += 1
            continue
        kind = str(row.get("relationship_type") or "related")
        if kind not in (*DIRECTED, *SYMMETRIC):
            incoming.warnings[f'relations of type "{kind}" taken over as related'] += 1
            kind = "related"
        ends = tuple(sorted((src, dst))) if kind in SYMMETRIC else (src, dst)
        weight = row.get("similarity")
        reasons = row.get("connection_types")
        found.setdefault(
            (ends[0], ends[1], kind),
            Relation(
                id=new_id(),
                src=ends[0],
                dst=ends[1],
                type=kind,
                origin="import",
                weight=min(1.0, max(0.0, float(weight))) if isinstance(weight, (int, float)) else 1.0,
                reasons=tuple(json.loads(reasons)) if isinstance(reasons, str) and reasons.startswith("[") else (),
                created_at=int(float(row.get("created_at") or 0) * 1_000_000),
            ),
        )
    return list(found.values())
