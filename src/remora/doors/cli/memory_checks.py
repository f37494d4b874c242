"""What `remora doctor` looks at in the memory: is the store sound, is anything waiting, what may agents do."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remora.doors.cli.checks import Finding
from remora.errors import RemoraError

if TYPE_CHECKING:
    from remora.config.load import Loaded

LEAST_FREE = 200 << 20


def memory(loaded: Loaded) -> Iterator[Finding]:
    path = loaded.paths.memory_db
    if not path.exists():
        yield Finding("memory", "ok", "no memory.db yet")
        return
    try:
        checks, counts, embedding = asyncio.run(_examine(path, loaded))
    except RemoraError as problem:
        fix = problem.hint or "remora mem backup list, then remora mem backup restore FILE"
        yield Finding("memory", "fail", f"{path}: {problem}", fix)
        return
    bad = [(status, f"{name}: {detail}") for status, name, detail in checks if status != "ok" and name != "embedder"]
    for status, detail in bad:
        yield Finding("memory", "fail" if status == "FAIL" else "warn", detail,
                      "remora mem verify --repair" if status == "FAIL" else None)  # fmt: skip
    if not bad:
        size = path.stat().st_size // 1024
        yield Finding(
            "memory", "ok", f"{path}, {counts['memories']:,} memories, {size:,} KB, mode {loaded.config.memory.mode}"
        )
    yield from _waiting(counts)
    yield _encoder(embedding)
    if (free := shutil.disk_usage(path.parent).free) < LEAST_FREE:
        yield Finding("memory.disk", "warn", f"only {free >> 20} MB are free at {path.parent}", "make room")


async def _examine(path: Path, loaded: Loaded) -> tuple[list[tuple[str, str, str]], dict[str, Any], dict[str, Any]]:
    """By the store alone: no encoder is loaded and nothing is written."""
    from remora.embedding.embedder import open_embedder
    from remora.storage.sqlite.store import SqliteStore

    store = SqliteStore.open(path)
    chosen = loaded.config.embedding
    try:
        checks, counts = list(await store.verify(deep=False)), dict(await store.stats())
    finally:
        await store.close()
    if chosen.provider not in ("auto", "bundled", "none"):
        return checks, counts, {"provider": chosen.provider}
    embedder = open_embedder(chosen.provider)
    try:
        return checks, counts, dict(embedder.health())
    finally:
        await embedder.close()


def _waiting(counts: dict[str, Any]) -> Iterator[Finding]:
    if pending := counts["status"].get("pending", 0):
        yield Finding("memory.pending", "warn", f"{pending} wait for approval", "remora mem pending")
    if counts["conflicts"]:
        yield Finding("memory.conflicts", "warn", f"{counts['conflicts']} statements disagree", "remora mem conflicts")


def _encoder(health: dict[str, Any]) -> Finding:
    if health["provider"] == "none":
        why = f": {health['reason']}" if health.get("reason") else ""
        return Finding(
            "memory.encoder", "warn", f"memories are found by words alone{why}", "see docs/memory.md, Encoders"
        )
    return Finding("memory.encoder", "ok", str(health["provider"]))
