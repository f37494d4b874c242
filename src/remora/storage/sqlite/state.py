"""`state.db`: what may be deleted at any time with nothing lost but warmth.

One thread writes, two read; the event loop only hands over functions that take a connection. Nothing is opened, and
apsw is not imported, before the first of them. Each runs in one transaction, and once more on a fresh connection when
the file was deleted, replaced or damaged meanwhile, so it must do nothing but SQL.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from remora.storage.sqlite.connection import Identity, Opened, StateUnavailable, identity_of, open_disposable
from remora.storage.sqlite.manifests import Manifests

if TYPE_CHECKING:
    import apsw

log = logging.getLogger(__name__)

T = TypeVar("T")
Job = Callable[["apsw.Connection"], T]

READER_THREADS = 2
CLOSE_SECONDS = 10.0


class StateDb:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifests = Manifests(self)
        self._writer = _Lane(path, "state-write", threads=1, writes=True)
        self._readers = _Lane(path, "state-read", threads=READER_THREADS, writes=False)

    def submit(self, job: Job[Any]) -> None:
        """Have it written soon; a failure is logged, never raised."""
        self._writer.put(job, None)

    async def run(self, job: Job[T]) -> T:
        """Have it written and wait for its answer."""
        return await self._writer.ask(job)

    async def read(self, job: Job[T]) -> T:
        return await self._readers.ask(job)

    async def close(self) -> None:
        """Everything submitted before is written first; closing twice is nothing."""
        for lane in (self._readers, self._writer):
            await lane.close()


class _Lane:
    """A queue of jobs and the threads that work it off."""

    def __init__(self, path: Path, name: str, *, threads: int, writes: bool) -> None:
        self._path = path
        self._name = name
        self._writes = writes
        self._limit = threads
        self._jobs: SimpleQueue[tuple[Job[Any], Future[Any] | None] | None] = SimpleQueue()
        self._ended: list[Future[None]] = []
        self._closed = False
        self._complaint = ""

    def put(self, job: Job[Any], answer: Future[Any] | None) -> None:
        if self._closed:
            if answer is not None:
                answer.set_exception(StateUnavailable(f"{self._path} is closed"))
            return
        if len(self._ended) < self._limit:
            ended: Future[None] = Future()
            self._ended.append(ended)
            threading.Thread(target=self._work, args=(ended,), name=self._name, daemon=True).start()
        self._jobs.put((job, answer))

    async def ask(self, job: Job[T]) -> T:
        answer: Future[T] = Future()
        self.put(job, answer)
        return await asyncio.wrap_future(answer)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for _ in self._ended:
            self._jobs.put(None)
        if self._ended:
            waits = [asyncio.wrap_future(ended) for ended in self._ended]
            _, late = await asyncio.wait(waits, timeout=CLOSE_SECONDS)
            if late:
                log.warning("%s: what was still to be written after %.0f s is lost", self._path, CLOSE_SECONDS)

    def _work(self, ended: Future[None]) -> None:
        session = _Session(self._path, self._writes)
        try:
            while (item := self._jobs.get()) is not None:
                self._do(session, *item)
        finally:
            session.close()
            ended.set_result(None)

    def _do(self, session: _Session, job: Job[Any], answer: Future[Any] | None) -> None:
        if answer is not None and not answer.set_running_or_notify_cancel():
            return
        try:
            result = session.run(job)
        except Exception as error:  # noqa: BLE001  the root of a background thread: one bad job must not end it
            if answer is not None:
                answer.set_exception(error)
            elif str(error) != self._complaint:
                self._complaint = str(error)
                log.warning("not written: %s", error)
        else:
            self._complaint = ""
            if answer is not None:
                answer.set_result(result)


class _Session:
    """One thread's connection, opened when needed and again when the file is no longer the one it opened."""

    def __init__(self, path: Path, writes: bool) -> None:
        self._path = path
        self._writes = writes
        self._opened: Opened | None = None
        self._damaged: Identity | None = None

    def run(self, job: Job[T]) -> T:
        import apsw

        for attempt in (1, 2):
            connection = self._connect()
            try:
                return self._transact(connection, job)
            except apsw.Error as error:
                renew = isinstance(error, (apsw.CorruptError, apsw.NotADBError))
                if renew and self._opened is not None:
                    self._damaged = self._opened.identity
                if attempt == 2 or not (renew or identity_of(self._path) != self._identity()):
                    raise StateUnavailable(f"{self._path}: {error}") from error
                self.close()
        raise AssertionError("the second attempt returns or raises")

    def close(self) -> None:
        if self._opened is not None:
            self._opened.connection.close()
            self._opened = None

    def _identity(self) -> Identity | None:
        return self._opened.identity if self._opened else None

    def _connect(self) -> apsw.Connection:
        if self._opened is not None and identity_of(self._path) != self._opened.identity:
            self.close()
        if self._opened is None:
            self._opened = open_disposable(self._path, "state", damaged=self._damaged)
            self._damaged = None
            if not self._writes:
                self._opened.connection.pragma("query_only", True)
        return self._opened.connection

    def _transact(self, connection: apsw.Connection, job: Job[T]) -> T:
        connection.execute("BEGIN IMMEDIATE" if self._writes else "BEGIN")
        try:
            result = job(connection)
            connection.execute("COMMIT")
            return result
        except BaseException:
            if not connection.get_autocommit():
                connection.execute("ROLLBACK")
            raise
