"""The embedded store: one SQLite file, any number of processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import apsw

from remora import __version__
from remora.errors import StorageUnavailable
from remora.model.memory import Memory, new_id
from remora.model.ops import Batch, Op
from remora.model.search import IndexEntry, Space
from remora.storage.protocol import Capabilities, Unembedded
from remora.storage.sqlite import backup as backups
from remora.storage.sqlite import changes, checks, opening, vectors
from remora.storage.sqlite.codes import Vector
from remora.storage.sqlite.history import HistoryReads
from remora.storage.sqlite.opening import Connection
from remora.storage.sqlite.search import SearchIndex, SearchReads
from remora.storage.sqlite.writer import Readers, Writer

T = TypeVar("T")


class SqliteView(SearchReads, HistoryReads):
    """One snapshot of one tenant; see `storage.protocol.View`."""

    def __init__(self, connection: Connection, tenant: str, now: int, index: SearchIndex, seq: int) -> None:
        self.connection = connection
        self.tenant = tenant
        self.now = now
        self.index = index
        self.seq = seq


class SqliteStore:
    """See `storage.protocol.Store`. `now` stands in for the clock in tests."""

    capabilities = Capabilities(shared=False, notify=False, max_dim=65_535)

    def __init__(
        self, path: Path, tenant: str, *, writable: bool, network: bool, durable: bool, now: Callable[[], int]
    ) -> None:
        self.path = path
        self.tenant = tenant
        self.writable = writable
        self.now = now
        self._network = network
        self._durable = durable
        self._index = SearchIndex()
        self._inode = _inode(path)
        self._readers = Readers(str(path), self._reader)
        self._writer = Writer(str(path), self._writing()) if writable else None

    @classmethod
    def open(
        cls, path: Path, *, tenant: str = "local", allow_network: bool = False, durable: bool = False,
        now: Callable[[], int] | None = None,
    ) -> SqliteStore:  # fmt: skip
        """Open or make the store; blocking, to be called once at start."""
        opening.check_library()
        path = path.expanduser()
        writable = opening.prepare_file(path, allow_network=allow_network)
        network = allow_network and opening.is_network(opening.file_system(path.parent))
        connection = opening.connect(path, writable=writable, role="writer" if writable else "reader", network=network)
        try:
            if writable and not opening.newer_than_known(connection):
                opening.migrate(connection, __version__, lambda: backups.before_migration(path))
                with connection:
                    connection.execute(
                        "INSERT OR IGNORE INTO meta VALUES ('database_id', ?), ('created_at', ?)",
                        (new_id(), str(time.time_ns() // 1000)),
                    )
            elif writable:
                writable = False  # a newer schema may be read, never written
        except apsw.Error as cause:
            raise StorageUnavailable(f"{path}: {cause}") from cause
        finally:
            connection.close()
        return cls(
            path,
            tenant,
            writable=writable,
            network=network,
            durable=durable,
            now=now or (lambda: time.time_ns() // 1000),
        )

    def _reader(self) -> Connection:
        return opening.connect(self.path, writable=self.writable, network=self._network)

    def _writing(self) -> Connection:
        connection = opening.connect(self.path, writable=True, role="writer", network=self._network, full=self._durable)
        connection.pragma("optimize", 0x10002)
        return connection

    async def read(self, fn: Callable[[SqliteView], T]) -> T:
        def run(connection: Connection) -> T:
            now = self.now()
            connection.now = now
            seq = self._index.refresh(connection)
            return fn(SqliteView(connection, self.tenant, now, self._index, seq))

        if self._inode != (inode := _inode(self.path)):
            self._inode = inode
            self._readers.reopen()
            self._index.forget()
        return await self._readers.run(run)

    async def _write(self, job: Callable[[Connection], T]) -> T:
        if self._writer is None:
            raise StorageUnavailable(f"{self.path} can only be read", code="read_only")
        return await self._writer.run(job)

    async def apply(self, batch: Batch) -> Sequence[Op]:
        return await self._write(lambda connection: changes.apply(connection, self.tenant, batch))

    async def purge(self, ids: Sequence[str], batch: Batch, *, forget_hash: bool = False) -> Sequence[Op]:
        def erase(connection: Connection) -> Sequence[Op]:
            connection.pragma("secure_delete", 1)
            return changes.purge(connection, self.tenant, batch, list(ids), forget_hash=forget_hash)

        ops = await self._write(erase)
        await self._write(checks.scrub)
        await asyncio.to_thread(self._truncate_log)
        return ops

    def _truncate_log(self) -> None:
        """Copy everything into the file and empty the log, so that erased text stands nowhere."""
        with contextlib.closing(
            opening.connect(self.path, writable=True, role="writer", network=self._network)
        ) as connection:
            connection.pragma("wal_checkpoint", "TRUNCATE")

    async def reindex(self, entries: Iterable[tuple[str, IndexEntry]]) -> None:
        listed = list(entries)

        def put(connection: Connection) -> None:
            for memory_id, entry in listed:
                head = connection.execute(changes.HEAD, (self.tenant, memory_id)).fetchone()
                if head is not None:
                    changes.drop_index(connection, self.tenant, head[0], chunks=True, keep=entry)
                    changes.put_index(connection, self.tenant, head[0], entry, chunks=True)
                    connection.execute("INSERT INTO changes (rid, at) VALUES (?, ?)", (head[0], self.now()))

        await self._write(put)

    # vectors

    async def add_space(self, space: Space) -> None:
        await self._write(lambda connection: vectors.add_space(connection, space, self.now()))

    async def activate_space(self, space_id: str) -> None:
        await self._write(lambda connection: vectors.activate(connection, space_id))

    async def drop_space(self, space_id: str) -> None:
        await self._write(lambda connection: vectors.drop_space(connection, space_id, self.now()))

    async def take_unembedded(self, space_id: str, limit: int) -> list[Unembedded]:
        return await self._write(
            lambda connection: vectors.take_unembedded(connection, self.tenant, space_id, limit, self.now())
        )

    async def release_unembedded(self, space_id: str, chunks: Sequence[int]) -> None:
        await self._write(lambda connection: vectors.release(connection, space_id, chunks))

    async def put_vectors(self, space_id: str, chunks: Sequence[tuple[int, str]], found: Vector) -> None:
        prepared = vectors.prepared(chunks, found)
        await self._write(lambda connection: vectors.put(connection, space_id, prepared, self.now()))

    # care

    async def stats(self) -> Mapping[str, Any]:
        counts = await self.read(lambda view: checks.counts(view.connection, self.tenant, self.now()))
        size = sum(_size(Path(f"{self.path}{suffix}")) for suffix in ("", *opening.COMPANIONS))
        return {"path": str(self.path), "bytes": size, **counts}

    async def verify(self, *, deep: bool = False) -> list[tuple[str, str, str]]:
        return await self.read(lambda view: checks.verify(view, self.path, deep=deep))

    async def repair(self) -> list[str]:
        return await self._write(lambda connection: checks.repair(connection, self.now()))

    async def backup(self, target: Path) -> None:
        await asyncio.to_thread(backups.backup, self.path, target)

    async def restore(self, source: Path) -> None:
        if self._writer is None:
            raise StorageUnavailable(f"{self.path} can only be read", code="read_only")
        await asyncio.to_thread(backups.check, source)
        writer, self._writer = self._writer, None
        await asyncio.to_thread(writer.close)
        try:
            await asyncio.to_thread(backups.swap, source, self.path)
        finally:
            self._writer = Writer(str(self.path), self._writing())
            self._inode = _inode(self.path)
            self._readers.reopen()
            self._index.forget()

    async def optimize(self) -> None:
        await self._write(lambda connection: checks.maintain(connection, self.now()))

    async def lease(self, name: str, owner: str, seconds: float = 60) -> bool:
        """Take or renew; False while somebody else holds it."""
        now = self.now()
        until = now + int(seconds * 1_000_000)
        sql = """INSERT INTO leases VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE SET owner = ?2, until = ?3
            WHERE owner = ?2 OR until <= ?4 RETURNING owner"""
        return bool(await self._write(lambda connection: connection.execute(sql, (name, owner, until, now)).fetchall()))

    async def set_meta(self, key: str, value: str | None) -> None:
        sql = "INSERT OR REPLACE INTO meta VALUES (?, ?)" if value is not None else "DELETE FROM meta WHERE key = ?"
        values = (key, value) if value is not None else (key,)
        await self._write(lambda connection: connection.execute(sql, values).fetchall())

    async def import_history(self, rows: Sequence[tuple[Memory, int, int, str]]) -> None:
        """Former states that came with an import; the memories themselves are there already."""
        await self._write(lambda connection: changes.put_versions(connection, self.tenant, rows))

    async def close(self) -> None:
        await asyncio.to_thread(self.close_now)

    def close_now(self) -> None:
        self._readers.close()
        if self._writer is not None:
            with contextlib.suppress(StorageUnavailable):
                self._writer.submit(lambda connection: connection.pragma("optimize"))
            self._writer.close()


def _inode(path: Path) -> int:
    try:
        return os.stat(path).st_ino
    except OSError:
        return -1


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
