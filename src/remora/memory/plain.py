"""The Python API without an event loop: every method of `AsyncMemory`, called plainly, from any thread."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from remora.errors import ForkError, StorageUnavailable
from remora.memory.api import AsyncMemory

if TYPE_CHECKING:
    from remora.embedding.embedder import Embedder
    from remora.memory.engine import Settings

P = ParamSpec("P")
T = TypeVar("T")


class _Plain(Generic[P, T]):
    """A method of `AsyncMemory` that waits for its answer."""

    def __init__(self, method: Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, T]]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, memory: Memory, owner: type[Memory]) -> Callable[P, T]:
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            return memory._wait(self._method(memory._async, *args, **kwargs))

        return call


class Memory:
    """A long-term memory in one file. Close it, or use it as a context manager."""

    def __init__(
        self, path: str | Path | None = None, *, namespace: str | None = None, embedder: str | Embedder = "auto",
        config: Settings | None = None,
    ) -> None:  # fmt: skip
        self._pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="memory", daemon=True)
        self._thread.start()
        try:
            self._async = AsyncMemory(path, namespace=namespace, embedder=embedder, config=config)
            self._wait(self._async.open())
        except BaseException:
            self._stop()
            raise

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if os.getpid() != self._pid:
            work.close()
            raise ForkError("this memory was opened before a fork; open it again in the child")
        if self._loop.is_closed():
            work.close()
            raise StorageUnavailable("the memory is closed", code="closed")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def close(self) -> None:
        if os.getpid() == self._pid and not self._loop.is_closed():
            self._wait(self._async.close())
            self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    store = _Plain(AsyncMemory.store)
    store_many = _Plain(AsyncMemory.store_many)
    update = _Plain(AsyncMemory.update)
    forget = _Plain(AsyncMemory.forget)
    forget_prefix = _Plain(AsyncMemory.forget_prefix)
    forget_where = _Plain(AsyncMemory.forget_where)
    restore = _Plain(AsyncMemory.restore)
    undo = _Plain(AsyncMemory.undo)
    retag = _Plain(AsyncMemory.retag)
    rename_namespace = _Plain(AsyncMemory.rename_namespace)
    approve = _Plain(AsyncMemory.approve)
    reject = _Plain(AsyncMemory.reject)
    store_session = _Plain(AsyncMemory.store_session)
    note_mistake = _Plain(AsyncMemory.note_mistake)
    recall = _Plain(AsyncMemory.recall)
    recall_many = _Plain(AsyncMemory.recall_many)
    similar = _Plain(AsyncMemory.similar)
    get = _Plain(AsyncMemory.get)
    list = _Plain(AsyncMemory.list)
    recent = _Plain(AsyncMemory.recent)
    browse = _Plain(AsyncMemory.browse)
    tags = _Plain(AsyncMemory.tags)
    namespaces = _Plain(AsyncMemory.namespaces)
    pending = _Plain(AsyncMemory.pending)
    history = _Plain(AsyncMemory.history)
    audit = _Plain(AsyncMemory.audit)
    connect = _Plain(AsyncMemory.connect)
    disconnect = _Plain(AsyncMemory.disconnect)
    relations = _Plain(AsyncMemory.relations)
    conflicts = _Plain(AsyncMemory.conflicts)
    resolve = _Plain(AsyncMemory.resolve)
    stats = _Plain(AsyncMemory.stats)
    verify = _Plain(AsyncMemory.verify)
    reembed = _Plain(AsyncMemory.reembed)
    wait_indexed = _Plain(AsyncMemory.wait_indexed)
    backup = _Plain(AsyncMemory.backup)
    restore_backup = _Plain(AsyncMemory.restore_backup)
    export = _Plain(AsyncMemory.export)
    import_ = _Plain(AsyncMemory.import_)
