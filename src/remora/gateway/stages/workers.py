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
THREAD_CHARS = 250_000
THREADS = 2
IDLE_SECONDS = 60.0
_SIZE = struct.Struct("!Q")


class Workers:
    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "text")
        self._process = _Process()

    async def run(self, size: int, work: Callable[..., T], *given: Any) -> T:
        """`work(*given)`, wherever a text of this size does not hold up others; cancelled, a process is ended."""
        if size <= INLINE_CHARS:
            return work(*given)
        if size <= THREAD_CHARS:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, *given)
        return await self._process.run(work, *given)  # type: ignore[no-any-return]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        await self._process.end()


class _Process:
    """One process, started when it is needed, one text at a time; ended when idle for a while or cancelled."""

    def __init__(self) -> None:
        self._running: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._rest: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()

    async def run(self, work: Callable[..., Any], *given: Any) -> Any:
        message = await asyncio.to_thread(pickle.dumps, (work, given), pickle.HIGHEST_PROTOCOL)
        async with self._turn:
            if self._rest is not None:
                self._rest.cancel()
            done = False
            try:
                answer, problem = await self._asked(message)
                done = True
            finally:
                if not done:
                    await asyncio.shield(self.end())
            self._rest = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._rested)
        if problem is not None:
            raise problem
        return answer

    async def _asked(self, message: bytes) -> tuple[Any, BaseException | None]:
        running = self._running
        if running is None or running.returncode is not None:
            running = self._running = await asyncio.create_subprocess_exec(
                sys.executable, "-m", __name__, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
            )
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(_SIZE.pack(len(message)))
        running.stdin.write(message)
        await running.stdin.drain()
        (size,) = _SIZE.unpack(await running.stdout.readexactly(_SIZE.size))
        body = await running.stdout.readexactly(size)
        return await asyncio.to_thread(pickle.loads, body)

    def _rested(self) -> None:
        task = asyncio.get_running_loop().create_task(self.end())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def end(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
        running, self._running = self._running, None
        if running is not None:
            with contextlib.suppress(ProcessLookupError):
                running.kill()
            await running.wait()


def serve() -> None:
    """The process: works off what comes in until nothing more can come."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    while head := source.read(_SIZE.size):
        work, given = pickle.loads(source.read(_SIZE.unpack(head)[0]))
        try:
            answer: tuple[Any, BaseException | None] = (work(*given), None)
        except Exception as problem:  # noqa: BLE001  the root of a process: the one who asked is told
            answer = (None, RuntimeError(f"{type(problem).__name__}: {problem}"))
        body = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
        sink.write(_SIZE.pack(len(body)) + body)
        sink.flush()


if __name__ == "__main__":
    serve()
