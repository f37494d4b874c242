"""Looking after the memory: counts, checks, copies, imports and exports, and what a session may do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from remora.errors import Forbidden, Invalid, NotFound
from remora.operations import memory_text as text
from remora.operations.memory_common import Filters, Result, iso, opened, shown
from remora.operations.registry import Context, Input, operation


class Nothing(Input):
    pass


@operation("memory.stats", "Count memories, and tell what finds them.", "read", Nothing, text.stats_text)
async def stats(context: Context, given: Nothing) -> Result:
    from remora.memory import care
    from remora.storage.sqlite.opening import steps

    engine, actor = await opened(context)
    path = context.memory.path if context.memory else Path()
    found = await care.stats(engine)
    own = {
        "path": str(path),
        "bytes": path.stat().st_size,
        "mode": engine.modes.get(actor.session or "", engine.settings.mode),
    }
    return {**found, "schema_version": steps()[-1][0], "undo_horizon": iso(found["undo_horizon"]), **own}


class Verify(Input):
    deep: bool = Field(False, description="Check every rule, row by row.")
    repair: bool = Field(False, description="Make what is derived from the memories anew.")


@operation("memory.verify", "Check the store.", "admin", Verify, text.verified_text)
async def verify(context: Context, given: Verify) -> Result:
    from remora.memory import care

    engine, _ = await opened(context)
    repaired = await care.repair(engine) if given.repair else []
    return {"checks": [list(check) for check in await care.verify(engine, deep=given.deep)], "repaired": repaired}


@operation(
    "memory.about", "Show what is known about the user, and what happened last.", "read", Nothing, text.about_text
)
async def about(context: Context, given: Nothing) -> Result:
    from remora.memory import browse

    engine, _ = await opened(context)
    return {name: [shown(memory) for memory in rows] for name, rows in (await browse.about(engine)).items()}


class Browse(Input):
    prefix: str = Field("", description="Keys begin so; none = every key.")
    limit: int = Field(100, ge=1, le=10_000, description="How many.")
    namespace: str | None = Field(None, description="Where to look; `*` = everywhere.")


@operation("memory.browse", "List what stands under a key, by key.", "read", Browse, text.listed_text)
async def browse(context: Context, given: Browse) -> Result:
    from remora.memory import browse as verbs
    from remora.memory.modes import permit

    engine, actor = await opened(context)
    permit(engine, actor, "recall")
    found = await verbs.below(engine, given.prefix, given.limit, {"namespace": given.namespace})
    return {"memories": [shown(memory) for memory in found]}


@operation("memory.reembed", "Give every memory its vector now.", "admin", Nothing, text.spaces_text)
async def reembed(context: Context, given: Nothing) -> Result:
    from remora.memory import care

    engine, _ = await opened(context)
    spaces: Any = await care.reembed(engine, wait=True)
    return {"spaces": list(spaces.values()) if isinstance(spaces, dict) else list(spaces)}


class Export(Filters):
    target: str = Field(description="The file to write.")
    history: bool = Field(False, description="Former versions too.")
    private: bool = Field(True, description="Memories marked private too.")


@operation("memory.export", "Write memories to a file that can be imported.", "admin", Export,
           lambda done: f"Exported {text.counted(done['count'])} to {done['target']}")  # fmt: skip
async def export(context: Context, given: Export) -> Result:
    from remora.memory.transfer import native

    engine, actor = await opened(context)
    if not actor.user:
        raise Forbidden("only a person may export")
    filters = given.given()
    if filters:
        filters.setdefault("namespace", "*")
    count = await native.export_file(engine, Path(given.target), filters, history=given.history, private=given.private)
    return {"count": count, "target": given.target}


class Import(Input):
    path: str = Field(description="Fits this file: memories with another scope are left out.")
    system: Literal["auto", "remora", "mcp-memory-service", "memento"] = Field("auto", description="Whose file it is.")
    dry_run: bool = Field(False, description="Change nothing.")
    namespace: str | None = Field(None, description="Where to look; `*` = everywhere.")


@operation(
    "memory.import", "Take memories over from a file or another program's store.", "admin", Import, text.imported_text
)
async def import_(context: Context, given: Import) -> Result:
    from remora.memory.transfer import import_file

    engine, actor = await opened(context)
    if not actor.user:
        raise Forbidden("only a person may import")
    found = await import_file(
        engine, actor, Path(given.path), given.system, dry_run=given.dry_run, namespace=given.namespace
    )
    return dict(found)


@operation("memory.backup", "Copy the store, checked.", "admin", Nothing, lambda done: f"Backed up to {done['path']}")
async def backup(context: Context, given: Nothing) -> Result:
    from remora.memory import care

    engine, _ = await opened(context)
    return {"path": str(await care.backup(engine, _folder(context)))}


@operation("memory.backups", "List the copies, newest first.", "read", Nothing, text.backups_text)
async def backups(context: Context, given: Nothing) -> Result:
    from remora.memory import care

    rows = []
    for path in care.backups(_folder(context)):
        manifest = path.with_suffix(".json")
        said = json.loads(manifest.read_text(encoding="utf-8")) if manifest.is_file() else {}
        rows.append({"path": str(path), "bytes": path.stat().st_size, "memories": said.get("memories"),
                     "app_version": said.get("app_version"), "sha256": said.get("sha256")})  # fmt: skip
    return {"backups": rows}


class Copy(Input):
    path: str = Field(description="Fits this file: memories with another scope are left out.")


@operation("memory.verify_backup", "Check a copy of the store.", "read", Copy, text.verified_text)
async def verify_backup(context: Context, given: Copy) -> Result:
    """By its manifest, and by opening a copy of it: the copy itself stays as it is."""
    import hashlib
    import shutil
    import tempfile

    from remora.storage.sqlite.store import SqliteStore

    source = _copy(context, given.path)
    if not source.is_file():
        raise NotFound(f"no backup at {source}")
    manifest = source.with_suffix(".json")
    checks: list[list[str]] = []
    if manifest.is_file():
        with source.open("rb") as handle:
            same = hashlib.file_digest(handle, "sha256").hexdigest() == json.loads(manifest.read_text())["sha256"]
        checks.append(
            ["ok" if same else "FAIL", "manifest", "it is what was written" if same else "it was changed since"]
        )
    else:
        checks.append(["warn", "manifest", "there is none"])
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore.open(Path(shutil.copy(source, folder)))
        try:
            checks += [list(check) for check in await store.verify(deep=True)]
        finally:
            await store.close()
    return {"checks": checks, "repaired": []}


@operation("memory.restore_backup", "Put a copy in the store's place; what is there is copied first.", "admin",
           Copy, text.replaced_text)  # fmt: skip
async def restore_backup(context: Context, given: Copy) -> Result:
    from remora.memory import care

    engine, _ = await opened(context)
    found = await care.restore_backup(engine, _copy(context, given.path), _folder(context))
    return {"counts": {name: list(pair) for name, pair in found.items()}}


def _folder(context: Context) -> Path:
    assert context.memory is not None
    return context.memory.path.parent / "backups"


def _copy(context: Context, name: str) -> Path:
    path = Path(name).expanduser()
    return path if path.parent != Path() or path.exists() else _folder(context) / path


STRICTER = ("auto", "confirm", "recall", "off")


class Mode(Input):
    mode: Literal["off", "recall", "confirm", "auto"] | None = Field(
        None, description="How to search, or what may be done."
    )


@operation("memory.mode", "Tell or restrict what this session may do with the memory.", "read", Mode,
           lambda done: f'memory mode "{done["mode"]}"')  # fmt: skip
async def mode(context: Context, given: Mode) -> Result:
    from remora.memory.modes import mode_of

    engine, actor = await opened(context)
    if given.mode is not None:
        if actor.session is None:
            raise Invalid("a mode belongs to a session; for all: remora config set memory.mode", code="mode")
        if STRICTER.index(given.mode) < STRICTER.index(mode_of(engine, actor)):
            raise Forbidden("an agent may only restrict its session; a person lifts it: remora config set memory.mode")
        engine.modes[actor.session] = given.mode
    return {"mode": mode_of(engine, actor)}


class Incognito(Input):
    pass


@operation("memory.incognito", "Let this session leave no trace in the memory, from now on.", "read", Incognito,
           lambda done: "this session is incognito")  # fmt: skip
async def incognito(context: Context, given: Incognito) -> Result:
    engine, actor = await opened(context)
    if actor.session is None:
        raise Invalid("incognito belongs to a session", code="mode")
    engine.incognito.add(actor.session)
    return {"incognito": True}
