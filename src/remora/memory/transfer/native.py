"""Remora's own export: JSON lines, in an order and form that do not change, closed by a checksum."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any

from remora.errors import Invalid
from remora.memory.engine import Engine
from remora.memory.filters import to_datetime
from remora.memory.filters import where as as_where
from remora.memory.transfer.incoming import Incoming
from remora.model.graph import Conflict, Relation
from remora.model.memory import Memory
from remora.model.search import EVERYTHING
from remora.storage.protocol import View

FORMAT = 1
SLICE = 1000


async def export_file(
    engine: Engine, target: Path, filters: Mapping[str, Any], *, history: bool = False, private: bool = True
) -> int:
    """Everything that the filter leaves, archived and superseded rows too; gives the number of memories."""
    states = {
        "include_archived": True,
        "include_pending": True,
        "include_superseded": True,
        "include_expired": True,
        "valid_at": "any",
    }
    where = as_where(engine, {**states, **filters})

    def read(view: View) -> tuple[list[str], int]:
        ids = list(view.ids(where if filters else EVERYTHING))
        written, held = [], set(ids)
        for at in range(0, len(ids), SLICE):
            for memory in sorted(view.get_many(ids[at : at + SLICE]).values(), key=lambda memory: memory.id):
                if memory.sensitivity == "private" and not private:
                    held.discard(memory.id)
                    continue
                written.append(
                    _line("memory", {**asdict(memory), "aliases": [list(alias) for alias in view.aliases(memory.id)]})
                )
        count = len(written)
        written += _graves(view, held)
        if history:
            written += _versions(view, sorted(held))
        written += [_line("relation", asdict(edge)) for edge in _edges(view, held)]
        disputes = sorted(view.conflicts(status=None), key=lambda conflict: conflict.id)
        written += [_line("conflict", asdict(one)) for one in disputes if one.a in held and one.b in held]
        head = {
            "format": FORMAT,
            "exported_at": to_datetime(view.now).isoformat(),
            "db_id": view.meta("database_id"),
            "counts": {"memory": count},
            "filters": {name: str(value) for name, value in filters.items()},
        }
        return [_line("remora-export", head), *written], count

    body, count = await engine.store.read(read)
    with _writer(target) as out:
        digest = hashlib.sha256()
        for line in body[1:]:
            digest.update(line.encode() + b"\n")
        for line in [*body, _line("end", {"lines": len(body) + 1, "sha256": digest.hexdigest()})]:
            out.write(line + "\n")
    return count


def _line(kind: str, values: Mapping[str, Any]) -> str:
    return json.dumps(
        {"type": kind, "value": values}
        if kind in ("relation", "memory", "version", "conflict")
        else {"type": kind, **values},
        ensure_ascii=False,
        sort_keys=True,
        separators=(",", ":"),
    )


def _graves(view: View, held: set[str]) -> list[str]:
    """Deleted memories that others point to: their ids and hashes, never their words."""
    wanted = {memory.superseded_by for memory in view.get_many(sorted(held)).values() if memory.superseded_by} - held
    found = view.get_many(sorted(wanted))
    return [
        _line(
            "tombstone",
            {
                "id": one.id,
                "namespace": one.namespace,
                "content_hash": one.content_hash,
                "deleted_at": one.deleted_at,
                "created_at": one.created_at,
                "superseded_by": None,
            },
        )
        for one in (found[id_] for id_ in sorted(found))
    ]


def _versions(view: View, ids: list[str]) -> list[str]:
    found = []
    for id_ in ids:
        former = [state for state in view.versions(id_) if state[2] is not None]
        for memory, start, end, op_id in reversed(former):
            found.append(_line("version", {"memory": asdict(memory), "tx_from": start, "tx_to": end, "op_id": op_id}))
    return found


def _edges(view: View, held: set[str]) -> list[Relation]:
    edges = [edge for edge in view.relations(sorted(held), hidden=True) if edge.src in held and edge.dst in held]
    return sorted((edge for edge in edges if edge.status != "deleted"), key=lambda edge: edge.id)


def _writer(target: Path) -> IO[str]:
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.suffix == ".gz":
        # No time inside: the same memories give the same file.
        return io.TextIOWrapper(gzip.GzipFile(target, "wb", mtime=0), encoding="utf-8", newline="\n")
    return target.open("w", encoding="utf-8", newline="\n")


def lines(path: Path) -> Iterator[str]:
    """Without their ends, in constant space."""
    open_text = gzip.open if path.suffix == ".gz" else open
    try:
        with open_text(path, "rt", encoding="utf-8") as handle:
            for line in handle:
                yield line.rstrip("\n")
    except (OSError, UnicodeDecodeError, EOFError) as cause:
        raise Invalid(f"{path} cannot be read: {cause}", code="bad_format") from cause


def read(path: Path, namespace: str | None = None, *, partial: bool = False) -> Incoming:
    """An export as what it brings; one that breaks off is refused unless `partial`."""
    incoming = Incoming("remora", native=True)
    digest, count, complete = hashlib.sha256(), 0, False
    for line in lines(path):
        count += 1
        try:
            record = json.loads(line)
        except ValueError as cause:
            raise Invalid(f"{path}, line {count} is not JSON", code="truncated") from cause
        if record["type"] == "end":
            complete = record["lines"] == count and record["sha256"] == digest.hexdigest()
            break
        if record["type"] == "remora-export":
            if record["format"] > FORMAT:
                raise Invalid(f"{path} has format {record['format']}, this program reads {FORMAT}", code="newer_format")
            continue
        digest.update(line.encode() + b"\n")
        _add(incoming, record, namespace)
    if not complete and not partial:
        raise Invalid(f"{path} breaks off or was changed", code="truncated")
    return incoming


def _add(incoming: Incoming, record: Mapping[str, Any], namespace: str | None) -> None:
    value = record.get("value", {})
    match record["type"]:
        case "memory":
            memory = _memory(value)
            incoming.memories.append(replace(memory, namespace=namespace) if namespace else memory)
            incoming.aliases[memory.id] = [(system, alias) for system, alias in value["aliases"]]
        case "tombstone":
            fields = {name: record[name] for name in ("id", "namespace", "content_hash", "deleted_at", "created_at")}
            incoming.memories.append(
                Memory(
                    content="",
                    kind="fact",
                    base_kind="fact",
                    status="deleted",
                    updated_at=fields["deleted_at"] or 0,
                    **fields,
                )
            )
        case "version":
            incoming.versions.append((_memory(value["memory"]), value["tx_from"], value["tx_to"], value["op_id"]))
        case "relation":
            incoming.relations.append(Relation(**{**value, "reasons": tuple(value["reasons"])}))
        case "conflict":
            incoming.conflicts.append(
                Conflict(**{**value, "reasons": tuple(value["reasons"]), "hashes": tuple(value["hashes"])})
            )
        case other:
            incoming.warnings[f"lines of unknown type {other}"] += 1


def _memory(value: Mapping[str, Any]) -> Memory:
    known = {name: value[name] for name in Memory.__dataclass_fields__ if name in value}
    return Memory(**{**known, "tags": tuple(value["tags"]), "triggers": tuple(value["triggers"])})
