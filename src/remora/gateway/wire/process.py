"""An upstream as a child process: started in a group of its own, spoken to in lines, ended without leaving anything.

A watcher process (one per engine, POSIX) ends the groups when the engine dies without a word: it reads group ids from a
pipe and acts at its end. PR_SET_PDEATHSIG would reach the child but not what the child started (npx → node).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from remora.errors import NotSent
from remora.gateway.wire.lines import LineSplitter
from remora.gateway.wire.link import LinkEvents
from remora.gateway.wire.peer import Peer

PIPE_BYTES = 1 << 20
CLOSE_SECONDS, TERM_SECONDS = 2.0, 3.0


@dataclass(frozen=True, slots=True)
class Command:
    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str | None
    max_message_bytes: int


class ProcessLink(Peer):
    """A peer on the pipes of a child process."""

    def __init__(
        self,
        transport: asyncio.SubprocessTransport,
        events: LinkEvents,
        exited: asyncio.Event,
        on_ended: Callable[[int], None],
    ) -> None:
        stdin = transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        self._stdin = stdin
        self._transport = transport
        self._exited = exited
        self._on_ended = on_ended
        self.pid = transport.get_pid()
        super().__init__(self._write_line, events)

    def _write_line(self, line: bytes) -> None:
        self._stdin.writelines((line, b"\n"))

    async def close(self) -> None:
        """Close stdin, then ask the group to end, then end it."""
        self.lose("stopped by the gateway")
        self._stdin.close()
        for grace, sign in ((CLOSE_SECONDS, signal.SIGTERM), (TERM_SECONDS, signal.SIGKILL)):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self._exited.wait()
                break
            kill_group(self.pid, sign)
        await self._exited.wait()
        kill_group(self.pid, signal.SIGKILL)  # grandchildren that outlived the child
        self._transport.close()
        self._on_ended(self.pid)


class _Protocol(asyncio.SubprocessProtocol):
    """Makes the link as soon as there are pipes: a program that ends at once is noticed at once."""

    def __init__(self, make: Callable[[asyncio.SubprocessTransport, asyncio.Event], ProcessLink],
                 limit: int, on_stderr: Callable[[bytes], None]) -> None:  # fmt: skip
        self.link: ProcessLink | None = None
        self._exited = asyncio.Event()
        self._make = make
        self._limit = limit
        self._on_stderr = on_stderr
        self._lines: LineSplitter | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self.link = self._make(transport, self._exited)
        self._lines = LineSplitter(self._limit, self.link.feed, self.link.too_long)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._on_stderr(data)
        elif self._lines is not None:
            self._lines.feed(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1 and self.link is not None:
            self.link.lose("the server ended")

    def process_exited(self) -> None:
        self._exited.set()
        if self.link is not None:
            self.link.lose("the server ended")


async def start(
    command: Command,
    events: LinkEvents,
    on_stderr: Callable[[bytes], None],
    on_started: Callable[[int], None],
    on_ended: Callable[[int], None],
) -> ProcessLink:
    """Spawn; CannotStart when the program is not there or may not run."""
    protocol = _Protocol(
        lambda transport, exited: ProcessLink(transport, events, exited, on_ended), command.max_message_bytes, on_stderr
    )
    try:
        transport, _ = await asyncio.get_running_loop().subprocess_exec(
            lambda: protocol,
            *command.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(command.env),
            cwd=command.cwd,
            start_new_session=True,
        )
    except (OSError, ValueError) as problem:
        missing = isinstance(problem, FileNotFoundError)
        why = "not found" if missing else str(problem)
        raise CannotStart(f"cannot start {command.argv[0]!r}: {why}", missing=missing) from problem
    assert protocol.link is not None
    on_started(protocol.link.pid)
    for fd in (0, 1):
        widen_pipe(transport.get_pipe_transport(fd))
    return protocol.link


class CannotStart(NotSent):
    def __init__(self, message: str, *, missing: bool) -> None:
        super().__init__(message)
        self.missing = missing


def widen_pipe(pipe: asyncio.BaseTransport | None) -> None:
    """A larger pipe lets a megabyte pass in a few reads instead of sixteen. Linux only; elsewhere nothing happens."""
    if sys.platform == "linux" and pipe is not None and (file := pipe.get_extra_info("pipe")) is not None:
        import fcntl

        with contextlib.suppress(OSError, ValueError):  # ValueError: closed already
            fcntl.fcntl(file.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def kill_group(group: int, sign: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, sign)


_WATCH = """
all=' '
while read -r sign group; do
  case $sign in
    +) all="$all$group ";;
    -) case $all in *" $group "*) all="${all%% $group *} ${all#* $group }";; esac;;
  esac
done
for group in $all; do kill -9 "-$group" 2>/dev/null; done
"""  # a shell, since an interpreter would cost eight times the memory


class Watcher:
    """Ends the children of an engine that was killed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def add(self, group: int) -> None:
        if self._process is None and os.name == "posix":
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _WATCH],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        self._tell(f"+ {group}\n")

    def remove(self, group: int) -> None:
        self._tell(f"- {group}\n")

    def _tell(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(line)
                self._process.stdin.flush()

    def close(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            self._process.wait()
