"""Looking after the store: opening an engine, verify, repair, stats, backups, the encoder's move."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from remora import __version__
from remora.errors import Invalid, NotFound, StorageUnavailable
from remora.memory.engine import Engine
from remora.memory.forget import purge
from remora.memory.indexing import entries
from remora.memory.words import PREP_VERSION
from remora.memory.writing import Planner, write
from remora.model.memory import Memory
from remora.model.ops import Actor
from remora.model.search import EVERYTHING, IndexEntry, Where
from remora.storage.protocol import View

KEEP_DAYS, KEEP_MOST = 7, 10
DAY_US = 86_400_000_000
SLICE = 500
_NAME = re.compile(r"memory_backup_(\d{8}_\d{6})(?:\.[a-z-]+)?\.db")


async def stats(engine: Engine) -> dict[str, Any]:
    """Counts and sizes, and what the encoder says of itself."""
    found = dict(await engine.store.stats())
    found["embedding"] = dict(engine.embedder.health()) if engine.embedder is not None else {"provider": "none"}
    if engine.indexer is not None and engine.indexer.problem:
        found["embedding"] = {**found["embedding"], "problem": engine.indexer.problem}
    return found


async def verify(engine: Engine, *, deep: bool = False) -> list[tuple[str, str, str]]:
    """Checks as (ok | warn | FAIL, name, detail)."""
    result = list(await engine.store.verify(deep=deep))
    if engine.embedder is None or engine.embedder.provider is None:
        result.append(("warn", "embedder", "none: memories are found by words alone"))
    else:
        result.append(("ok", "embedder", str(engine.embedder.health().get("provider"))))
    if deep:
        result.append(await _lexical_agree(engine))
    return result


async def _lexical_agree(engine: Engine) -> tuple[str, str, str]:
    """Do the indexed words and contexts belong to the texts that are stored now?"""

    def read(view: View) -> list[str]:
        ids = list(view.ids(EVERYTHING))
        held = view.context_hashes(ids)
        wrong = []
        for at in range(0, len(ids), SLICE):
            part = view.get_many(ids[at : at + SLICE])
            made = entries(view, part, list(part))
            wrong += [id_ for id_, entry in made.items() if held.get(id_) != (entry.context_hash, entry.row.tf)]
        return wrong

    wrong = await engine.store.read(read)
    if wrong:
        return (
            "FAIL",
            "indexed words",
            f"{len(wrong)} memories are indexed with other words than theirs, first {wrong[0]}",
        )
    return ("ok", "indexed words", "they are those of the texts")


async def repair(engine: Engine) -> list[str]:
    """Make the derived tables anew where they differ; memories are never touched."""
    done = list(await engine.store.repair())

    def missing(view: View) -> dict[str, IndexEntry]:
        ids = list(view.ids(EVERYTHING))
        held = view.context_hashes(ids)
        found: dict[str, IndexEntry] = {}
        for at in range(0, len(ids), SLICE):
            part = view.get_many(ids[at : at + SLICE])
            made = entries(view, part, list(part))
            found |= {id_: entry for id_, entry in made.items() if held.get(id_) != (entry.context_hash, entry.row.tf)}
        return found

    found = list((await engine.store.read(missing)).items())
    for at in range(0, len(found), SLICE):
        await engine.store.reindex(found[at : at + SLICE])
    if found:
        done.append(f"{len(found)} memories indexed anew")
    if engine.indexer is not None:
        engine.indexer.wake()
    return done


async def bring_up_to_date(engine: Engine) -> int:
    """After an update that cuts words otherwise, index everything anew; queries go on meanwhile."""
    stored = await engine.store.read(lambda view: view.meta("prep_version"))
    if stored == str(PREP_VERSION):
        return 0
    done = await repair(engine) if stored is not None else []
    await engine.store.set_meta("prep_version", str(PREP_VERSION))
    return len(done)


async def reembed(engine: Engine, *, wait: bool = False) -> Mapping[str, Any]:
    """Let the indexer give every chunk its vector in the present space; progress is in `stats`."""
    if engine.indexer is None:
        raise Invalid("there is no embedding model", code="no_embedder")
    engine.indexer.wake()
    if wait:
        await engine.indexer.wait()
    found: Mapping[str, Any] = (await stats(engine))["spaces"]
    return found


# backups


async def backup(engine: Engine, folder: Path, *, label: str = "") -> Path:
    """A checked copy with a manifest beside it; older ones go by age and number."""
    suffix = f".{label}" if label else ""
    target = folder / f"memory_backup_{time.strftime('%Y%m%d_%H%M%S')}{suffix}.db"
    counts = await engine.store.stats()
    await engine.store.backup(target)
    manifest = {
        "app_version": __version__,
        "sha256": _sha256(target),
        "bytes": target.stat().st_size,
        "memories": counts["memories"],
        "operations": counts["operations"],
    }
    _manifest(target).write_text(json.dumps(manifest, indent=2), encoding="utf-8")
    _trim(folder)
    return target


def backups(folder: Path) -> list[Path]:
    """Newest first."""
    found = [path for path in folder.glob("memory_backup_*.db") if _NAME.fullmatch(path.name)]
    return sorted(found, key=lambda path: path.name, reverse=True)


def _trim(folder: Path) -> None:
    limit = time.time() - KEEP_DAYS * 86_400
    for at, path in enumerate(backups(folder)):
        made = time.mktime(time.strptime(_NAME.fullmatch(path.name)[1], "%Y%m%d_%H%M%S"))  # type: ignore[index]
        if at >= KEEP_MOST or (at > 0 and made < limit):
            path.unlink()
            _manifest(path).unlink(missing_ok=True)


async def restore_backup(engine: Engine, source: Path, folder: Path) -> dict[str, tuple[int, int]]:
    """Put a backup in the store's place, after a copy of what is there; gives counts before and after."""
    if not source.is_file():
        raise NotFound(f"no backup at {source}")
    if (manifest := _manifest(source)).is_file() and json.loads(manifest.read_text(encoding="utf-8"))[
        "sha256"
    ] != _sha256(source):
        raise StorageUnavailable(f"{source} is not what its manifest says", code="damaged")
    before = await engine.store.stats()
    await backup(engine, folder, label="pre-restore")
    await engine.store.restore(source)
    after = await engine.store.stats()
    return {name: (before[name], after[name]) for name in ("memories", "relations", "conflicts", "operations")}


def _manifest(path: Path) -> Path:
    return path.with_suffix(".json")


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


async def sweep(engine: Engine, actor: Actor) -> dict[str, int]:
    """What time does by itself: expired rows are archived, old proposals rejected, old tombstones erased."""
    now, settings = engine.now(), engine.settings
    everything = replace(EVERYTHING, namespaces=None)

    def plan(planner: Planner) -> tuple[int, int]:
        view = planner.view
        expired = view.get_many(view.expired())
        for memory in expired.values():
            planner.update("archive", memory, touched=False, status="archived", archived_at=now)
        before = now - settings.pending_days * DAY_US
        waiting = _rows(view, replace(everything, statuses=("pending",), time_field="updated", before=before))
        for memory in waiting:
            planner.update("reject", memory, status="deleted", deleted_at=now)
        return len(expired), len(waiting)

    (expired, rejected), _ = await write(engine, actor, plan)
    due: list[str] = []
    if settings.purge_after_days >= 0:
        before = now - settings.purge_after_days * DAY_US
        graves = replace(everything, statuses=("deleted",), time_field="updated", before=before)
        due = await engine.store.read(lambda view: [one.id for one in _rows(view, graves) if one.content])
    if due:
        await purge(engine, actor, due)
    return {"expired": expired, "rejected": rejected, "purged": len(due)}


def _rows(view: View, where: Where) -> list[Memory]:
    return list(view.get_many(view.ids(where)).values())
