"""Where work on texts is done: short ones here and now, longer ones in a thread, the longest in another process.

A long text in a thread would hold the interpreter for moments that other sessions feel; a process can also be ended
when its time is up. `python -m remora.gateway.stages.workers` is that process: pickled (function, arguments) come in
on stdin, pickled (result, error) go out on stdout.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import struct
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

INLINE_CHARS = 4_000  # about a millisecond
THREAD_CHARS = 32_000
COLD_CHARS = 2_000_000  # what a thread takes while the process is still starting
THREADS = 2
IDLE_SECONDS = 60.0
SWITCH_SECONDS = 0.001  # a busy thread gives way to the event loop this often; the interpreter's own 5 ms can be felt
_SIZE = struct.Struct("!Q")
_READY = b"!"


class Workers:
    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "text")
        self._free = asyncio.Semaphore(THREADS)
        self._process = _Process()

    async def run(self, size: int, limit: float, work: Callable[..., T], *given: Any) -> T:
        """`work(*given)`, wherever a text of this size does not hold up others; TimeoutError after `limit` seconds."""
        if size <= INLINE_CHARS:
            return work(*given)
        sys.setswitchinterval(SWITCH_SECONDS)
        if size > THREAD_CHARS:
            self._process.want()
            if self._process.ready or size > COLD_CHARS:
                return await self._process.run(limit, work, *given)  # type: ignore[no-any-return]
        async with self._free:
            try:
                async with asyncio.timeout(limit):
                    return await asyncio.get_running_loop().run_in_executor(self._threads, work, *given)
            except TimeoutError:
                self._renew_threads()
                raise

    def _renew_threads(self) -> None:
        """A thread cannot be ended: what is stuck is left to itself, and others get fresh ones."""
        self._threads.shutdown(wait=False)
        self._threads = ThreadPoolExecutor(THREADS, "text")

    async def alone(self, limit: float, work: Callable[..., T], *given: Any) -> T:
        """In the process, which can be ended: for work that may never finish."""
        self._process.want()
        return await self._process.run(limit, work, *given)  # type: ignore[no-any-return]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        await self._process.end()


class _Process:
    """One process, started when it is needed, one text at a time; ended when idle for a while or cancelled."""

    def __init__(self) -> None:
        self._starting: asyncio.Task[asyncio.subprocess.Process] | None = None
        self._turn = asyncio.Lock()
        self._rest: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def ready(self) -> bool:
        return self._starting is not None and self._starting.done()

    def want(self) -> None:
        """Start it, if it is not there."""
        if self._starting is None:
            self._starting = asyncio.get_running_loop().create_task(_started())
            self._starting.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def run(self, limit: float, work: Callable[..., Any], *given: Any) -> Any:
        """The clock runs from the moment the process can take it."""
        message = await asyncio.to_thread(pickle.dumps, (work, given), pickle.HIGHEST_PROTOCOL)
        async with self._turn:
            if self._rest is not None:
                self._rest.cancel()
            done = False
            try:
                self.want()
                assert self._starting is not None
                running = await asyncio.shield(self._starting)
                async with asyncio.timeout(limit):
                    answer, problem = await _asked(running, message)
                done = True
            finally:
                if not done:
                    await asyncio.shield(self.end())
            self._rest = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._rested)
        if problem is not None:
            raise problem
        return answer

    def _rested(self) -> None:
        task = asyncio.get_running_loop().create_task(self.end())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def end(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
        starting, self._starting = self._starting, None
        if starting is None:
            return
        starting.cancel()
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await _killed(await starting)


async def _started() -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(sys.executable, "-m", __name__, stdin=pipe, stdout=pipe)
    assert running.stdout is not None
    try:
        await running.stdout.readexactly(len(_READY))
    except BaseException:
        await asyncio.shield(_killed(running))
        raise
    return running


async def _killed(running: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        running.kill()
    await running.wait()


async def _asked(running: asyncio.subprocess.Process, message: bytes) -> tuple[Any, BaseException | None]:
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(_SIZE.pack(len(message)))
    running.stdin.write(message)
    await running.stdin.drain()
    (size,) = _SIZE.unpack(await running.stdout.readexactly(_SIZE.size))
    body = await running.stdout.readexactly(size)
    answer: tuple[Any, BaseException | None] = await asyncio.to_thread(pickle.loads, body)
    return answer


def serve() -> None:
    """The process: works off what comes in until nothing more can come."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    _warm_up()
    sink.write(_READY)
    sink.flush()
    while head := source.read(_SIZE.size):
        work, given = pickle.loads(source.read(_SIZE.unpack(head)[0]))
        try:
            answer: tuple[Any, BaseException | None] = (work(*given), None)
        except Exception as problem:  # noqa: BLE001  the root of a process: the one who asked is told
            answer = (None, RuntimeError(f"{type(problem).__name__}: {problem}"))
        body = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
        sink.write(_SIZE.pack(len(body)) + body)
        sink.flush()


def _warm_up() -> None:
    """Load what every text needs before the first one waits for it."""
    from remora.gateway.compression.auto import compress

    compress("a few words\n" * 200, budget_chars=400, query="which words")


if __name__ == "__main__":
    serve()
