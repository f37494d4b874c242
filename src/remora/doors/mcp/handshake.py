"""An HTTP session of the handshake era: POSTs with streams of their own, and a standing stream by GET."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from remora.doors.http.wire import Request
from remora.doors.mcp import events
from remora.doors.mcp.request import Asked, Message, project_of, reply_to
from remora.errors import RpcError
from remora.gateway.engine import Gateway
from remora.gateway.session import Caller, Params, Principal, Session, ViewKey
from remora.gateway.wire import headers, jsonrpc

log = logging.getLogger(__name__)
PING_SECONDS = 15.0
ROOTS_SECONDS = 10.0
PRIMED_SINCE = "2025-11-25"  # clients of earlier revisions cannot read an event without data


class _Post:
    """A front of the gateway: one request with its stream."""

    __slots__ = ("caller", "owner", "polled", "request_id", "session", "stream")

    def __init__(self, owner: HandshakeSession, caller: Caller, request_id: Any, stream: events.Stream) -> None:
        self.owner = owner
        self.session = owner.session
        self.caller = caller
        self.request_id = request_id
        self.stream = stream

    def notify(self, method: str, params: Params) -> None:
        self.stream.push(jsonrpc.notification(method, params or None))

    async def ask(self, method: str, params: Params) -> Params:
        return await self.owner.ask(self.stream, method, params)

    def close_stream(self) -> None:
        if self.caller.version >= PRIMED_SINCE:
            self.stream.release()


class HandshakeSession:
    def __init__(self, gateway: Gateway, principal: Principal, view: ViewKey, caller: Caller, key: str) -> None:
        self._gateway = gateway
        self.session = Session("http", principal, view, caller=caller)
        self.session.key = key or self.session.id
        self.session.standing = self._standing_send
        self.asked = Asked()
        self._ring = events.Ring()
        self._standing = self._ring.stream()
        self._streams: dict[int, events.Stream] = {self._standing.number: self._standing}
        self._running: dict[Any, asyncio.Task[None]] = {}
        self._has_roots = False
        gateway.open_session(self.session)

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def busy(self) -> bool:
        return bool(self._running) or self._standing.is_read

    def _standing_send(self, method: str, params: Params) -> None:
        self._standing.push(jsonrpc.notification(method, params or None))

    async def ask(self, stream: events.Stream, method: str, params: Params) -> Params:
        key, waiting = self.asked.new()
        stream.push(jsonrpc.request(key, method, params))
        return await self.asked.wait(key, waiting)

    # -- POST ------------------------------------------------------------------------------------------------------

    async def post(self, request: Request, message: Message) -> None:
        """Answered as JSON if the answer is the first thing that comes, else as a stream that can be resumed."""
        self.session.last_seen = time.time()
        assert self.session.caller is not None
        if message["id"] in self._running:
            problem = RpcError(
                jsonrpc.INVALID_REQUEST, f"the id {message['id']!r} belongs to a request that still runs"
            )
            await request.reply(400, jsonrpc.error(message["id"], problem))
            return
        stream = self._ring.stream()
        self._streams[stream.number] = stream
        primed = self._ring.priming(stream.number)
        reader = stream.read()
        post = _Post(self, self.session.caller, message["id"], stream)
        replies: list[bytes] = []
        work = self._run(post, message, replies)
        self._running[message["id"]] = asyncio.get_running_loop().create_task(work)
        prefers_stream = (request.header("accept") or "").lstrip().startswith("text/event-stream")
        first = None if prefers_stream else await _next(reader)
        if stream.done and first is not None and reader.qsize() == 1:  # the answer, and the end after it
            await request.reply(200, replies[0], headers={headers.SESSION: self.id})
            return
        await self._stream(request, stream, reader, primed, [] if prefers_stream else [first])

    async def _run(self, post: _Post, message: Message, replies: list[bytes]) -> None:
        try:
            reply, _ = await reply_to(self._gateway, post, message["method"], message.get("params") or {})
        except asyncio.CancelledError:
            # This era ends a request's stream with a response only.
            reply = jsonrpc.error(post.request_id, RpcError(jsonrpc.CANCELLED, "Request cancelled"))
        replies.append(reply)
        post.stream.push(reply, last=True)
        self._running.pop(post.request_id, None)
        self._streams.pop(post.stream.number, None)

    async def _stream(
        self,
        request: Request,
        stream: events.Stream,
        reader: asyncio.Queue[bytes | None],
        primed: bytes,
        ready: list[bytes | None],
    ) -> None:
        """Events as they come; the client may leave, the request goes on."""
        gone = asyncio.get_running_loop().create_task(request.gone())
        gone.add_done_callback(lambda _: stream.release(reader))
        try:
            await request.start(200, {**events.HEADERS, headers.SESSION: self.id})
            if self.session.caller is not None and self.session.caller.version >= PRIMED_SINCE:
                await request.write(primed)
            event = ready.pop() if ready else await _next(reader)
            while event is not None:
                await request.write(event)
                event = await _next(reader)
            await request.write(b"", more=False)
        finally:
            gone.cancel()
            stream.release(reader)

    # -- GET -------------------------------------------------------------------------------------------------------

    async def get(self, request: Request) -> None:
        self.session.last_seen = time.time()
        where = events.position(request.header(headers.LAST_EVENT) or "")
        missed: list[bytes] = []
        stream: events.Stream | None = self._standing
        if where is not None:
            missed = self._ring.after(*where)
            stream = self._streams.get(where[0])
        gone = asyncio.get_running_loop().create_task(request.gone())
        reader = stream.read() if stream is not None else asyncio.Queue[bytes | None]()
        if stream is self._standing:
            self._learn_project()
        gone.add_done_callback(lambda _: reader.put_nowait(None))
        try:
            await request.start(200, {**events.HEADERS, headers.SESSION: self.id})
            for event in missed:
                await request.write(event)
            if (
                stream is not None
                and not missed
                and self.session.caller
                and self.session.caller.version >= PRIMED_SINCE
            ):
                await request.write(self._ring.priming(stream.number))
            following = await _next(reader) if stream is not None else None
            while following is not None:
                await request.write(following)
                following = await _next(reader)
            await request.write(b"", more=False)
        finally:
            gone.cancel()
            if stream is not None:
                stream.release(reader)

    # -- the rest --------------------------------------------------------------------------------------------------

    def notified(self, message: Message) -> None:
        self.session.last_seen = time.time()
        method, params = message["method"], message.get("params") or {}
        if method == "notifications/cancelled":
            wanted = params.get("requestId")
            if jsonrpc.is_id(wanted) and (task := self._running.get(wanted)):
                task.cancel()
        elif method == "notifications/initialized":
            self.session.initialized = True
        elif method == "notifications/roots/list_changed":
            if self._has_roots:
                self._gateway.spawn(self._ask_roots())
            self._gateway.spawn(self._gateway.roots_changed(self.session))

    def _learn_project(self) -> None:
        """A client that named no project in its URL may have roots: the first one is its project."""
        caller = self.session.caller
        if self.session.view.project is None and caller is not None and "roots" in caller.capabilities:
            self._has_roots = True
            self._gateway.spawn(self._ask_roots())

    async def _ask_roots(self) -> None:
        try:
            async with asyncio.timeout(ROOTS_SECONDS):
                answer = await self.ask(self._standing, "roots/list", {})
        except (RpcError, TimeoutError):
            return
        self._gateway.move_session(self.session, project_of(answer, self._gateway.home))

    def end_standing(self) -> None:
        self._standing.release()

    async def close(self) -> None:
        for task in list(self._running.values()):
            task.cancel()
        for stream in list(self._streams.values()):
            stream.release()
        self.asked.lose()
        await self._gateway.close_session(self.session)


async def _next(reader: asyncio.Queue[bytes | None]) -> bytes | None:
    try:
        async with asyncio.timeout(PING_SECONDS):
            return await reader.get()
    except TimeoutError:
        return events.PING
