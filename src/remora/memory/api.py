"""The Python API for programs with an event loop; `plain.Memory` is the same without one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack, cast

from remora.config.load import home_dir
from remora.errors import ForkError, Invalid, StorageUnavailable
from remora.memory import browse, care, conflicts, connect, forget, history, recall, remember, revise, sessions
from remora.memory.engine import Engine, Settings
from remora.memory.filters import Filters, Moment, moment
from remora.memory.filters import where as as_where
from remora.memory.merge import Remember
from remora.memory.opening import close_engine, open_engine
from remora.memory.recall import Query, Recalled
from remora.memory.records import MemoryRecord, Records, StoreResult, record
from remora.model.graph import Relation
from remora.model.ops import Actor, Op

if TYPE_CHECKING:
    from remora.embedding.embedder import Embedder

ACTOR = Actor(door="python")


class StoreOptions(TypedDict, total=False):
    """Everything that may be said of a memory besides its text, kind, importance, key and metadata."""

    tags: Sequence[str] | str | None
    namespace: str | None
    scope: str | None
    valid_from: Moment | None
    valid_to: Moment | None
    expires_at: Moment | None
    ttl: str | float | None
    pinned: bool
    sensitivity: Literal["normal", "private"]
    triggers: Sequence[Mapping[str, Any]]
    conversation_id: str | None
    session_id: str | None
    turn: int | None
    author: str | None
    agent: str | None
    created_at: Moment | None
    provenance: Mapping[str, Any] | None
    idempotency_key: str | None
    supersedes: str | Sequence[str] | None
    related: Sequence[Mapping[str, Any]]
    restore_deleted: bool
    dedup: Literal["auto", "off"]


class RecallOptions(Filters, total=False):
    """Filters, and how to search."""

    cursor: str | None
    mode: Literal["hybrid", "semantic", "exact"]
    min_score: float
    as_of: Moment | None
    parse_time: bool


def default_path() -> Path:
    """Where the configured store lies."""
    return home_dir() / "memory.db"


class AsyncMemory:
    """A long-term memory in one file: `async with AsyncMemory(path) as memory`, or `await memory.open()`."""

    def __init__(
        self, path: str | Path | None = None, *, namespace: str | None = None, embedder: str | Embedder = "auto",
        config: Settings | None = None,
    ) -> None:  # fmt: skip
        self._path = Path(path).expanduser() if path is not None else default_path()
        settings = config or Settings()
        if namespace is not None:
            settings = Settings(
                **{**{name: getattr(settings, name) for name in settings.__slots__}, "namespace": namespace}
            )
        self._settings = settings
        self._embedder = embedder
        self._engine: Engine | None = None
        self._opening = asyncio.Lock()
        self._pid = os.getpid()

    async def open(self) -> Self:
        async with self._opening:
            if self._engine is None:
                self._engine = await open_engine(self._path, settings=self._settings, embedder=self._embedder)
        return self

    async def close(self) -> None:
        if self._engine is not None:
            engine, self._engine = self._engine, None
            await close_engine(engine)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def engine(self) -> Engine:
        if os.getpid() != self._pid:
            raise ForkError("this memory was opened before a fork; open it again in the child")
        if self._engine is None:
            raise StorageUnavailable("the memory is not open", code="closed")
        return self._engine

    # writing

    async def store(
        self, content: str, kind: str = "fact", importance: float | None = None, subject_key: str | None = None,
        metadata: Mapping[str, Any] | None = None, source: str = "manual", **options: Unpack[StoreOptions],
    ) -> StoreResult:  # fmt: skip
        """Keep a statement; the answer is its id and says what became of it."""
        request = self._request(
            content=content,
            kind=kind,
            importance=importance,
            subject_key=subject_key,
            metadata=metadata,
            source=source,
            **options,
        )
        return StoreResult.of(await remember.remember(self.engine, request, ACTOR))

    async def store_many(
        self, items: Sequence[Mapping[str, Any] | str], *, atomic: bool = True
    ) -> Sequence[StoreResult]:
        """Keep many, in order; one bad item and none is kept, unless `atomic` is False."""
        requests = [self._request(**({"content": item} if isinstance(item, str) else item)) for item in items]
        stored, errors = await remember.remember_many(self.engine, requests, ACTOR, atomic=atomic)
        if errors and atomic:
            first = errors[0]
            raise Invalid(f"item {first['index']}: {first['message']}; nothing was stored", code=first["code"])
        return [StoreResult.of(one) for one in stored if one is not None]

    def _request(self, content: Any, **given: Any) -> Remember:
        source: dict[str, Any] = {**(given.pop("provenance", None) or {}), "kind": given.pop("source", "manual")}
        for name, field in (("conversation_id", "conversation_id"), ("session_id", "session_id"), ("turn", "turn"),
                            ("author", "author"), ("agent", "agent_id")):  # fmt: skip
            if (value := given.pop(name, None)) is not None:
                source[field] = value
        for name in ("valid_from", "valid_to", "expires_at", "created_at"):
            if given.get(name) is not None:
                given[name] = moment(self.engine, given[name])
        supersedes = given.pop("supersedes", None) or ()
        given["supersedes"] = (supersedes,) if isinstance(supersedes, str) else tuple(supersedes)
        known = Remember.__dataclass_fields__
        if unknown := set(given) - set(known):
            raise Invalid(f"unknown arguments: {', '.join(sorted(unknown))}", code="unknown_argument")
        return Remember(content=content, source=source, **given)

    async def update(
        self,
        /,
        id: str,
        content: str | None = None,
        importance: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> MemoryRecord:
        """Change fields of a memory; also `if_version`, `reason`, `versioned`, `on_duplicate`."""
        how = {name: more.pop(name) for name in ("if_version", "reason", "versioned", "on_duplicate") if name in more}
        given = {"content": content, "importance": importance, "metadata": metadata}
        changes = {name: value for name, value in given.items() if value is not None} | more
        for name in ("valid_from", "valid_to", "expires_at", "created_at"):
            if changes.get(name) is not None:
                changes[name] = moment(self.engine, changes[name])
        return record((await revise.revise(self.engine, id, ACTOR, changes, **how)).memory)

    async def forget(self, id: str, hard: bool = False, *, archive: bool = False) -> bool:
        """Put a memory away (it can be restored), or erase it for good."""
        found = await forget.forget(self.engine, ACTOR, id, archive=archive, hard=hard)
        return not found.already

    async def forget_prefix(self, prefix: str, hard: bool = False, *, namespace: str | None = None) -> int:
        return await forget.forget_prefix(
            self.engine, ACTOR, prefix, namespaces=self.engine.read_set(namespace), hard=hard
        )

    async def forget_where(self, *, archive: bool = False, hard: bool = False, **filters: Unpack[Filters]) -> int:
        where = as_where(self.engine, filters)
        return len((await forget.forget_where(self.engine, ACTOR, where, archive=archive, hard=hard)).ids)

    async def restore(self, *ids: str, drop_key: bool = False) -> Sequence[MemoryRecord]:
        return [record(memory) for memory in await forget.restore(self.engine, ACTOR, ids, drop_key=drop_key)]

    async def undo(self, reference: str | None = None, *, last: int = 1, force: bool = False) -> int:
        """Take back an operation, a batch, or the last batches of this door."""
        return (await history.undo(self.engine, ACTOR, reference, last=last, force=force))[1]

    async def retag(
        self,
        *,
        rename: Mapping[str, str] | None = None,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        **filters: Unpack[Filters],
    ) -> int:
        where = as_where(self.engine, filters)
        return (await revise.retag(self.engine, ACTOR, where, rename=rename, add=add, remove=remove))[1]

    async def rename_namespace(self, old: str, new: str) -> int:
        return (await revise.rename_namespace(self.engine, ACTOR, old, new))[1]

    async def approve(self, *ids: str, content: str | None = None) -> Sequence[StoreResult]:
        done = await revise.review(self.engine, ACTOR, ids, approve=True, content=content)
        return [StoreResult.of(stored) for stored in done]

    async def reject(self, *ids: str) -> None:
        await revise.review(self.engine, ACTOR, ids, approve=False)

    async def store_session(
        self, /, turns: Sequence[Mapping[str, str]], session_id: str | None = None, **more: Any
    ) -> StoreResult:
        """Keep a whole session as one memory; the same session again continues it."""
        return StoreResult.of((await sessions.store_session(self.engine, ACTOR, turns, session_id, **more))[1])

    async def note_mistake(
        self, /, error_pattern: str, context_signature: str, incorrect_action: str, correct_action: str, **more: Any
    ) -> StoreResult:
        parts = (error_pattern, context_signature, incorrect_action, correct_action)
        return StoreResult.of(await sessions.note_mistake(self.engine, ACTOR, *parts, **more))

    # reading

    async def recall(self, query: str = "", limit: int = 10, kind: str | None = None,
                     **options: Unpack[RecallOptions]) -> Records[MemoryRecord]:  # fmt: skip
        """The memories that answer best, best first."""
        return Records.of(await recall.recall(self.engine, self._query(query, limit, kind, options), ACTOR))

    async def recall_many(
        self, queries: Sequence[str], limit: int = 10, **options: Unpack[RecallOptions]
    ) -> Sequence[Records[MemoryRecord]]:
        asked = [self._query(query, limit, None, options) for query in queries]
        found = await recall.recall_many(self.engine, asked, ACTOR)
        return [Records.of(one) if isinstance(one, Recalled) else Records([], warnings=[str(one)]) for one in found]

    def _query(self, text: str, limit: int, kind: str | None, options: RecallOptions) -> Query:
        given = cast("dict[str, Any]", dict(options))
        how = {name: given.pop(name) for name in ("cursor", "mode", "min_score", "parse_time") if name in given}
        as_of = given.pop("as_of", None)
        if kind is not None:
            given["kinds"] = kind
        at = None if as_of is None else moment(self.engine, as_of, given.get("tz"))
        return Query(text=text, where=as_where(self.engine, given), limit=limit, as_of=at, zone=given.get("tz"), **how)

    async def similar(self, id: str, limit: int = 10) -> Records[MemoryRecord]:
        return Records.of(await recall.similar(self.engine, id, limit, self.engine.read_set(None)))

    async def get(self, id: str, *, as_of: Moment | None = None) -> MemoryRecord:
        at = None if as_of is None else moment(self.engine, as_of)
        return record(await browse.get(self.engine, id, as_of=at))

    async def list(self, limit: int = 20, **filters: Unpack[Filters]) -> Records[MemoryRecord]:
        """Newest first."""
        page = await browse.listed(self.engine, as_where(self.engine, filters), limit)
        return Records([record(memory) for memory in page.rows])

    async def recent(self, limit: int = 10) -> Records[MemoryRecord]:
        return await self.list(limit)

    async def browse(
        self, subject_key_prefix: str = "", limit: int = 100, namespace: str | None = None
    ) -> Records[MemoryRecord]:
        """What stands under a key, in the order of the keys."""
        found = await browse.below(self.engine, subject_key_prefix, limit, {"namespace": namespace})
        return Records([record(memory) for memory in found])

    async def tags(self, **filters: Unpack[Filters]) -> Mapping[str, int]:
        return await browse.tags(self.engine, as_where(self.engine, filters))

    async def namespaces(self) -> Mapping[str, int]:
        return await browse.namespaces(self.engine)

    async def pending(self, **filters: Unpack[Filters]) -> Records[MemoryRecord]:
        return Records([record(memory) for memory in await browse.pending(self.engine, as_where(self.engine, filters))])

    async def history(self, id: str) -> Sequence[history.Version]:
        return await history.history(self.engine, id)

    async def audit(self, /, **filters: Any) -> Sequence[Op]:
        return await history.audit(self.engine, **filters)

    # relations and conflicts

    async def connect(self, /, src: str, dst: str, type: str = "related", **more: Any) -> Relation:
        return await connect.connect(self.engine, ACTOR, src, dst, type, **more)

    async def disconnect(self, src: str, dst: str, type: str | None = None) -> int:
        return await connect.disconnect(self.engine, ACTOR, src, dst, type)

    async def relations(self, id: str) -> Sequence[Relation]:
        return await connect.edges(self.engine, id)

    async def conflicts(self, *, status: str | None = "open") -> Sequence[conflicts.Dispute]:
        return await conflicts.disputes(self.engine, status=status)

    async def resolve(
        self, winner: str, loser: str, how: Literal["supersede", "keep_both"] = "supersede", text: str | None = None
    ) -> str:
        return await conflicts.resolve(self.engine, ACTOR, winner, loser, how=how, text=text)

    # care

    async def stats(self) -> Mapping[str, Any]:
        return await care.stats(self.engine)

    async def verify(self, *, deep: bool = False, repair: bool = False) -> Sequence[tuple[str, str, str]]:
        if repair:
            await care.repair(self.engine)
        return await care.verify(self.engine, deep=deep)

    async def reembed(self) -> Mapping[str, Any]:
        return await care.reembed(self.engine, wait=True)

    async def wait_indexed(self) -> None:
        """Until everything that was stored has its vector."""
        if self.engine.indexer is not None:
            await self.engine.indexer.wait()

    async def backup(self, folder: str | Path) -> Path:
        return await care.backup(self.engine, Path(folder).expanduser())

    async def restore_backup(self, source: str | Path) -> Mapping[str, tuple[int, int]]:
        return await care.restore_backup(self.engine, Path(source).expanduser(), self._path.parent / "backups")

    async def export(self, target: str | Path, *, history: bool = False, **filters: Unpack[Filters]) -> int:
        """Write a file that `import_` reads back; gives the number of memories."""
        from remora.memory.transfer import native

        given = {"namespace": "*", **filters}
        return await native.export_file(self.engine, Path(target).expanduser(), given, history=history)

    async def import_(
        self, source: str | Path, system: str = "auto", *, dry_run: bool = False, namespace: str | None = None
    ) -> Mapping[str, Any]:
        """Take memories over from an export or from another program's store."""
        from remora.memory.transfer import import_file

        return await import_file(
            self.engine, ACTOR, Path(source).expanduser(), system, dry_run=dry_run, namespace=namespace
        )
