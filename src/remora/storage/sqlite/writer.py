"""Threads over one SQLite file: one that writes, a few that read.

Writes that wait together share a transaction, each in a savepoint of its own; an answer is given only after COMMIT.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, Full, Queue
from typing import Any, TypeVar

import apsw

from remora.errors import ForkError, StorageUnavailable
from remora.storage.sqlite.opening import Connection

T = TypeVar("T")
Job = Callable[[Connection], Any]

QUEUE = 10_000
GROUP = 64
GROUP_SECONDS = 0.02
CLOSE_SECONDS = 10.0


def translate(cause: apsw.Error, path: str) -> Exception:
    """What went wrong with the file, in words; a mistake of ours stays what it is."""
    match cause:
        case apsw.BusyError() | apsw.LockedError():
            return StorageUnavailable(f"{path} is locked by another process for 30 s", code="locked")
        case apsw.FullError():
            return StorageUnavailable(
                f"no space left to write {path}", code="disk_full", hint="free space; reading still works"
            )
        case apsw.ReadOnlyError():
            return StorageUnavailable(f"{path} is read-only", code="read_only")
        case apsw.CorruptError() | apsw.NotADBError():
            return StorageUnavailable(
                f"{path} is damaged: {cause}", code="damaged", hint="remora mem verify, then remora mem backup restore"
            )
        case apsw.IOError() | apsw.CantOpenError() | apsw.NoMemError():
            return StorageUnavailable(f"{path}: {cause}")
        case _:
            return cause


class Writer:
    """The only thread that writes."""

    def __init__(self, path: str, connection: Connection) -> None:
        self._path = path
        self._connection = connection
        self._queue: Queue[tuple[Job, Future[Any]] | None] = Queue(QUEUE)
        self._pid = os.getpid()
        self._closed = False
        self.longest_wait = 0.0
        self._thread = threading.Thread(target=self._run, name="memory-write", daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[Connection], T]) -> Future[T]:
        if os.getpid() != self._pid:
            raise ForkError("this store was opened before a fork; open it again in the child")
        if self._closed:
            raise StorageUnavailable("the store is closed", code="closed")
        future: Future[T] = Future()
        try:
            self._queue.put((job, future), timeout=30)
        except Full:
            raise StorageUnavailable("too many writes are waiting", code="busy") from None
        return future

    async def run(self, job: Callable[[Connection], T]) -> T:
        return await asyncio.wrap_future(self.submit(job))

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._queue.put(None)
            self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        while (first := self._queue.get()) is not None:
            group, last = self._group(first)
            self._commit(group)
            if last:
                break
        self._connection.close()

    def _group(self, first: tuple[Job, Future[Any]]) -> tuple[list[tuple[Job, Future[Any]]], bool]:
        group, until = [first], time.monotonic() + GROUP_SECONDS
        while len(group) < GROUP and time.monotonic() < until:
            try:
                more = self._queue.get_nowait()
            except Empty:
                break
            if more is None:
                return group, True
            group.append(more)
        return group, False

    def _commit(self, group: list[tuple[Job, Future[Any]]]) -> None:
        """Run the jobs in one transaction; the failure of one undoes only that one, the failure of COMMIT all."""
        live = [(job, future) for job, future in group if future.set_running_or_notify_cancel()]
        if not live:
            return
        done: list[tuple[Future[Any], Any]] = []
        try:
            begin = time.monotonic()
            self._connection.execute("BEGIN IMMEDIATE")
            self.longest_wait = max(self.longest_wait, time.monotonic() - begin)
            for job, future in live:
                self._one(job, future, done, alone=len(live) == 1)
            self._connection.execute("COMMIT")
        except BaseException as cause:  # noqa: BLE001  every waiter is told; the thread goes on
            if self._connection.in_transaction:
                with suppress(apsw.Error):
                    self._connection.execute("ROLLBACK")
            told = translate(cause, self._path) if isinstance(cause, apsw.Error) else cause
            for _, future in live:
                if not future.done():
                    future.set_exception(told)
            return
        for future, answer in done:
            future.set_result(answer)

    def _one(self, job: Job, future: Future[Any], done: list[tuple[Future[Any], Any]], *, alone: bool) -> None:
        if not alone:
            self._connection.execute("SAVEPOINT one")
        try:
            done.append((future, job(self._connection)))
        except BaseException as cause:
            # Damage and a full disk concern the transaction; anything else is this job's own failure.
            if alone or isinstance(cause, (apsw.FullError, apsw.IOError, apsw.CorruptError)):
                raise
            self._connection.execute("ROLLBACK TO one")
            self._connection.execute("RELEASE one")
            future.set_exception(translate(cause, self._path) if isinstance(cause, apsw.Error) else cause)
            return
        if not alone:
            self._connection.execute("RELEASE one")


class Readers:
    """A few threads, each with a connection of its own; reads never wait for writes."""

    def __init__(self, path: str, open_one: Callable[[], Connection]) -> None:
        self._path = path
        self._open_one = open_one
        self._local = threading.local()
        self._all: list[Connection] = []
        self._epoch = 0
        self._pid = os.getpid()
        self._closed = False
        self._pool = ThreadPoolExecutor(min(4, os.cpu_count() or 1), "memory-read")

    async def run(self, fn: Callable[[Connection], T]) -> T:
        if os.getpid() != self._pid:
            raise ForkError("this store was opened before a fork; open it again in the child")
        if self._closed:
            raise StorageUnavailable("the store is closed", code="closed")
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._one, fn)

    def _one(self, fn: Callable[[Connection], T]) -> T:
        connection = self._mine()
        try:
            connection.execute("BEGIN")
            try:
                return fn(connection)
            finally:
                connection.execute("COMMIT")
        except apsw.Error as cause:
            raise translate(cause, self._path) from cause

    def _mine(self) -> Connection:
        found: tuple[int, Connection] | None = getattr(self._local, "connection", None)
        if found is not None and found[0] == self._epoch:
            return found[1]
        if found is not None:
            found[1].close()
        connection = self._open_one()
        self._local.connection = (self._epoch, connection)
        self._all.append(connection)
        return connection

    def reopen(self) -> None:
        """Every thread opens the file anew before its next read: another file stands at the path."""
        self._epoch += 1

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._pool.shutdown(wait=True)
            for connection in reversed(self._all):
                connection.close()
