"""Taking memories over from files and other programs, and giving them away."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remora.errors import Invalid, NotFound
from remora.memory.engine import Engine
from remora.memory.transfer import memento, mms, native
from remora.memory.transfer.incoming import Incoming, take
from remora.model.ops import Actor
from remora.storage.sqlite.foreign import is_sqlite, open_foreign

SYSTEMS = ("auto", "remora", "mcp-memory-service", "memento")


async def import_file(
    engine: Engine,
    actor: Actor,
    path: Path,
    system: str = "auto",
    *,
    dry_run: bool = False,
    namespace: str | None = None,
) -> Mapping[str, Any]:
    """Import an export or a database; a second run finds nothing new."""
    if system not in SYSTEMS:
        raise Invalid(f'"{system}" is not a source', code="bad_source", hint=", ".join(SYSTEMS))
    if not path.is_file():
        raise NotFound(f"no file {path}")
    place = namespace or engine.settings.namespace
    incoming = (
        _read_database(engine, path, system, place)
        if is_sqlite(path)
        else _read_text(engine, path, system, place, namespace)
    )
    report = await take(engine, actor, incoming, dry_run=dry_run)
    return {"source": incoming.system, "dry_run": dry_run, **report}


def _read_database(engine: Engine, path: Path, system: str, place: str) -> Incoming:
    with open_foreign(path) as source:
        columns = source.columns()
        held = set(columns.get("memories", ()))
        if (
            system in ("auto", "mcp-memory-service")
            and held >= {"content_hash", "content", "tags"}
            and "memory_type" in held
        ):
            return mms.from_database(engine, source, columns, place)
        if system in ("auto", "memento") and held >= {"id", "content", "kind"} and "tenant" not in held:
            return memento.from_database(engine, source, place)
    raise Invalid(f"{path} has tables {', '.join(sorted(columns)) or 'none'}: no known program's", code="bad_format")


def _read_text(engine: Engine, path: Path, system: str, place: str, namespace: str | None) -> Incoming:
    lines = native.lines(path)
    first = next(lines, "")
    try:
        head = json.loads(first)
    except ValueError:
        head = None
    if isinstance(head, dict) and head.get("type") == "remora-export":
        return native.read(path, namespace)
    if isinstance(head, dict) and "content" in head and system in ("auto", "memento"):
        return memento.from_lines(engine, [json.loads(line) for line in native.lines(path) if line.strip()], place)
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as cause:
        raise Invalid(f"{path} is neither JSON nor a database", code="bad_format") from cause
    if isinstance(whole, dict) and isinstance(whole.get("memories"), list):
        return mms.from_json(engine, whole["memories"], place)
    if isinstance(whole, list) and whole and isinstance(whole[0], dict) and "content" in whole[0]:
        return memento.from_lines(engine, whole, place)
    raise Invalid(f"{path} is not an export that is known", code="bad_format")
