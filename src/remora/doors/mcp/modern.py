"""One POST of the 2026-07-28 era: checked against its headers; answered as JSON, or as a stream if it must."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from remora.doors.http.wire import Request
from remora.doors.mcp.events import HEADERS, PING
from remora.doors.mcp.request import Message, reply_to
from remora.errors import RpcError
from remora.gateway import eras
from remora.gateway.engine import Gateway
from remora.gateway.session import Caller, Params, Session
from remora.gateway.wire import headers, jsonrpc

PING_SECONDS = 15.0
STATUS = {
    jsonrpc.PARSE_ERROR: 400, jsonrpc.INVALID_REQUEST: 400, jsonrpc.INVALID_PARAMS: 400, jsonrpc.HEADER_MISMATCH: 400,
    jsonrpc.MISSING_CAPABILITY: 400, jsonrpc.UNSUPPORTED_VERSION: 400, jsonrpc.METHOD_NOT_FOUND: 404,
}  # fmt: skip


class _ModernRequest:
    __slots__ = ("caller", "events", "request_id", "session")

    def __init__(self, session: Session, caller: Caller, request_id: Any) -> None:
        self.session = session
        self.caller = caller
        self.request_id = request_id
        self.events: asyncio.Queue[bytes | None] = asyncio.Queue()

    def notify(self, method: str, params: Params) -> None:
        self.events.put_nowait(_event(jsonrpc.notification(method, params or None)))

    async def ask(self, method: str, params: Params) -> Params:
        raise RpcError(jsonrpc.METHOD_NOT_FOUND, "a client of this era cannot be asked")

    def close_stream(self) -> None:
        """This era has no polling."""


def _event(message: bytes) -> bytes:
    return b"event: message\ndata: %b\n\n" % message


async def handle_modern(
    gateway: Gateway, request: Request, message: Message, session_of: Callable[[Caller], Session]
) -> None:
    request_id = message.get("id")
    if "id" not in message:
        await request.reply(202)  # this era has no notifications of clients; they are taken and dropped
        return
    try:
        caller = _checked(message, request)
        front = _ModernRequest(session_of(caller), caller, request_id)
        _check_params(gateway, front, message, request)
    except RpcError as problem:
        await request.reply(STATUS.get(problem.code, 400), jsonrpc.error(request_id, problem))
        return
    await _answer(gateway, front, request, message)


def _checked(message: Message, request: Request) -> Caller:
    caller = eras.read_envelope(message.get("params"))
    if fault := headers.routing_mismatch(message, caller.version, request.headers):
        raise RpcError(jsonrpc.HEADER_MISMATCH, fault)
    eras.check_version(caller)
    return caller


def _check_params(gateway: Gateway, front: _ModernRequest, message: Message, request: Request) -> None:
    if message["method"] != "tools/call":
        return
    entry = gateway.view(front.session).callable.get(message["params"].get("name", ""))
    if entry is not None:
        arguments = message["params"].get("arguments") or {}
        if fault := headers.param_mismatch(entry.definition.get("inputSchema"), arguments, request.headers):
            raise RpcError(jsonrpc.HEADER_MISMATCH, fault)


async def _answer(gateway: Gateway, front: _ModernRequest, request: Request, message: Message) -> None:
    work = asyncio.get_running_loop().create_task(
        reply_to(gateway, front, message["method"], message.get("params") or {})
    )
    work.add_done_callback(lambda _: front.events.put_nowait(None))
    gone = asyncio.get_running_loop().create_task(request.gone())
    gone.add_done_callback(lambda _: work.cancel())  # leaving is how a client of this era cancels
    try:
        first = await _next(front.events)
        if first is None:
            reply, problem = await work
            await request.reply(STATUS.get(problem.code, 200) if problem else 200, reply)
            return
        await request.start(200, HEADERS)
        while first is not None:
            await request.write(first)
            first = await _next(front.events)
        reply, _ = await work
        await request.write(_event(reply), more=False)
    except asyncio.CancelledError:
        if not gone.done():
            raise
    finally:
        gone.cancel()
        work.cancel()


async def _next(events: asyncio.Queue[bytes | None]) -> bytes | None:
    """The next event, a ping if there is none for a while, None at the end."""
    try:
        async with asyncio.timeout(PING_SECONDS):
            return await events.get()
    except TimeoutError:
        return PING
