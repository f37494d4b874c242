"""MCP over a pair of pipes, both eras on one pipe, each line answered."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
from typing import Any

from remora.doors.mcp.request import Asked, Message, caller_of, id_of, reply_to
from remora.errors import RpcError
from remora.gateway.engine import Gateway
from remora.gateway.session import Caller, Params, Session, ViewKey
from remora.gateway.wire import jsonrpc
from remora.gateway.wire.lines import LineSplitter
from remora.gateway.wire.process import widen_pipe

log = logging.getLogger(__name__)
LINE_LIMIT = 64 << 20
DRAIN_SECONDS = 5.0


class _Request:
    """A front of the gateway: one request on the pipe."""

    __slots__ = ("caller", "door", "request_id", "session")

    def __init__(self, door: StdioDoor, session: Session, caller: Caller, request_id: Any) -> None:
        self.door = door
        self.session = session
        self.caller = caller
        self.request_id = request_id

    def notify(self, method: str, params: Params) -> None:
        self.door.send(jsonrpc.notification(method, params or None))

    async def ask(self, method: str, params: Params) -> Params:
        return await self.door.ask(method, params)

    def close_stream(self) -> None:
        """A pipe cannot be polled."""


class StdioDoor:
    def __init__(self, gateway: Gateway, view: ViewKey, key: str, ended: asyncio.Event) -> None:
        self._gateway = gateway
        self._view = view
        self._key = key
        self._asked = Asked()
        self._running: dict[Any, asyncio.Task[None]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._out: asyncio.WriteTransport | None = None
        self.ended = ended
        self.lines = LineSplitter(LINE_LIMIT, self._line, self._too_long)
        self.session = self._new_session()

    def _new_session(self) -> Session:
        session = Session("stdio", view=self._view, key=self._key)
        session.standing = self._standing
        self._gateway.open_session(session)
        return session

    def _standing(self, method: str, params: Params) -> None:
        if self.session.caller is not None:  # a client that only speaks the modern era listens for itself
            self.send(jsonrpc.notification(method, params or None))

    def send(self, line: bytes) -> None:
        if self._out is not None:
            self._out.write(line + b"\n")

    async def ask(self, method: str, params: Params) -> Params:
        key, waiting = self._asked.new()
        self.send(jsonrpc.request(key, method, params))
        return await self._asked.wait(key, waiting)

    def _line(self, line: bytes) -> None:
        try:
            message = jsonrpc.decode(line)
        except ValueError:
            self.send(jsonrpc.error(None, RpcError(jsonrpc.PARSE_ERROR, "Parse error: the line is not JSON")))
            return
        if isinstance(message, dict) and "method" not in message and ("result" in message or "error" in message):
            self._asked.answer(message)
            return
        try:
            jsonrpc.check_request(message)
            if "id" in message:
                self._start(message)
            else:
                self._notified(message)
        except RpcError as problem:
            if not (isinstance(message, dict) and "method" in message and "id" not in message):
                self.send(jsonrpc.error(id_of(message), problem))

    def _start(self, message: Message) -> None:
        request_id, method = message["id"], message["method"]
        if request_id in self._running:
            raise RpcError(jsonrpc.INVALID_REQUEST, f"the id {request_id!r} belongs to a request that still runs")
        caller = caller_of(message, self.session)
        if method == "initialize" and not caller.modern:
            self._begin(caller)
        request = _Request(self, self.session, caller, request_id)
        work = self._run(request, method, message.get("params") or {})
        self._running[request_id] = asyncio.get_running_loop().create_task(work)

    def _begin(self, caller: Caller) -> None:
        """`initialize` begins a session; a second one begins another."""
        if self.session.caller is not None:
            task = asyncio.get_running_loop().create_task(self._gateway.close_session(self.session))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
            self.session = self._new_session()
        self.session.caller = caller

    async def _run(self, request: _Request, method: str, params: Params) -> None:
        try:
            reply, _ = await reply_to(self._gateway, request, method, params)
            self.send(reply)
        finally:
            self._running.pop(request.request_id, None)

    def _notified(self, message: Message) -> None:
        method, params = message["method"], message.get("params") or {}
        if method == "notifications/cancelled":
            wanted = params.get("requestId")
            if jsonrpc.is_id(wanted) and (task := self._running.get(wanted)):
                task.cancel()
        elif method == "notifications/initialized":
            self.session.initialized = True
        elif method == "notifications/roots/list_changed":
            self._gateway.spawn(self._gateway.roots_changed(self.session))

    def _too_long(self, head: bytes, tail: bytes) -> None:
        self.send(jsonrpc.error(None, RpcError(jsonrpc.INVALID_REQUEST, f"a line is longer than {LINE_LIMIT} bytes")))
        self.ended.set()

    async def serve(self, stdin: int, stdout: int) -> None:
        """Until the end of input; then what is under way gets a little time to finish."""
        output = _Output(self)
        self._out = await _open_output(output, stdout)  # before the first line can come in
        reader = output.reader = await _open_input(self, stdin)
        await self.ended.wait()
        reader.close()
        running = [task for task in self._running.values() if not task.done()]
        if running:
            self._gateway.listeners.close()
            await asyncio.wait(running, timeout=DRAIN_SECONDS)
        for task in list(self._running.values()):
            task.cancel()
        self._asked.lose()
        await self._gateway.close_session(self.session)
        if not self._out.is_closing():
            self._out.close()
            await asyncio.sleep(0)


class _Input(asyncio.Protocol):
    def __init__(self, door: StdioDoor) -> None:
        self._door = door

    def data_received(self, data: bytes) -> None:
        lines = self._door.lines
        lines.feed(data)
        if lines.overflowing:  # do not wait for an end that may never come
            lines.feed(b"\n")

    def eof_received(self) -> None:
        self._door.lines.end()
        self._door.ended.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._door.ended.set()


class _Output(asyncio.Protocol):
    """A client that does not read is not read from either."""

    def __init__(self, door: StdioDoor) -> None:
        self._door = door
        self.reader: asyncio.ReadTransport | None = None

    def pause_writing(self) -> None:
        if self.reader is not None:
            with contextlib.suppress(RuntimeError):
                self.reader.pause_reading()

    def resume_writing(self) -> None:
        if self.reader is not None:
            with contextlib.suppress(RuntimeError):
                self.reader.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._door.ended.set()


async def _open_input(door: StdioDoor, fd: int) -> asyncio.ReadTransport:
    loop = asyncio.get_running_loop()
    try:
        pipe, _ = await loop.connect_read_pipe(lambda: _Input(door), os.fdopen(fd, "rb", buffering=0))
    except ValueError:  # a regular file: asyncio takes pipes only
        pipe, _ = await loop.connect_read_pipe(lambda: _Input(door), os.fdopen(_piped_from(fd), "rb", buffering=0))
    return pipe


def _piped_from(fd: int) -> int:
    end, begin = os.pipe()

    def copy() -> None:
        with os.fdopen(fd, "rb") as source, os.fdopen(begin, "wb") as target:
            while chunk := source.read(65536):
                target.write(chunk)

    threading.Thread(target=copy, daemon=True).start()
    return end


async def _open_output(output: _Output, fd: int) -> asyncio.WriteTransport:
    loop = asyncio.get_running_loop()
    try:
        pipe, _ = await loop.connect_write_pipe(lambda: output, os.fdopen(fd, "wb", buffering=0))
        widen_pipe(pipe)
        return pipe
    except ValueError:  # a regular file
        return _FileOutput(fd)


class _FileOutput(asyncio.WriteTransport):
    def __init__(self, fd: int) -> None:
        super().__init__()
        self._file = os.fdopen(fd, "wb", buffering=0)

    def write(self, data: Any) -> None:
        self._file.write(data)

    def is_closing(self) -> bool:
        return self._file.closed

    def close(self) -> None:
        self._file.close()


def take_stdio() -> tuple[int, int]:
    """Private copies of stdin and stdout; whatever prints by mistake goes to stderr, not into the protocol."""
    stdin, stdout = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    sys.stdout = sys.stderr
    return stdin, stdout
