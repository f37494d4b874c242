"""MCP over streamable HTTP. The modern era is one POST a request; the handshake era has sessions and streams."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from remora.config.model import HttpConfig
from remora.doors.http.wire import Request
from remora.doors.mcp.handshake import HandshakeSession
from remora.doors.mcp.modern import handle_modern
from remora.doors.mcp.request import Message, id_of
from remora.errors import ConfigError, RpcError
from remora.gateway import eras
from remora.gateway.engine import Gateway
from remora.gateway.session import Principal, Session, ViewKey
from remora.gateway.wire import headers, jsonrpc

log = logging.getLogger(__name__)
SWEEP_SECONDS = 15.0


class McpDoor:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._sessions: dict[str, HandshakeSession] = {}
        self._modern: dict[tuple[Any, ...], Session] = {}

    async def handle(self, request: Request, principal: Principal, view: ViewKey, config: HttpConfig) -> None:
        if view.profile and view.profile not in self._gateway.config.profiles:
            await request.problem(404, f'unknown profile "{view.profile}"')
        elif request.method == "POST":
            await self._post(request, principal, view, config)
        elif request.method in ("GET", "DELETE"):
            await self._session_request(request, principal)
        else:
            await request.problem(405, "use POST, GET or DELETE", {"allow": "GET, POST, DELETE"})

    async def _post(self, request: Request, principal: Principal, view: ViewKey, config: HttpConfig) -> None:
        if fault := _unacceptable(request):
            await _error(request, *fault)
            return
        try:
            message = jsonrpc.decode(await request.body(config.max_body_bytes))
        except ValueError:
            await _error(request, 400, RpcError(jsonrpc.PARSE_ERROR, "Parse error: the body is not JSON"))
            return
        answering = (
            isinstance(message, dict) and "method" not in message and ("result" in message or "error" in message)
        )
        if not answering:
            try:
                jsonrpc.check_request(message)
            except RpcError as problem:
                await _error(request, 400, problem, id_of(message))
                return
        version = request.header(headers.VERSION)
        if (version is not None and version not in eras.HANDSHAKE) or (
            not answering and message["method"] != "initialize" and eras.has_envelope(message.get("params"))
        ):
            if answering:
                await _error(request, 400, RpcError(jsonrpc.INVALID_REQUEST, "this era has no answers of clients"))
                return
            await handle_modern(
                self._gateway, request, message, lambda caller: self._modern_session(principal, view, caller, request)
            )
            return
        await self._handshake_post(request, message, principal, view, config, answering)

    async def _handshake_post(
        self,
        request: Request,
        message: Message,
        principal: Principal,
        view: ViewKey,
        config: HttpConfig,
        answering: bool,
    ) -> None:
        if not answering and message["method"] == "initialize" and "id" in message:
            session = await self._begin(request, message, principal, view, config)
        else:
            session = await self._find(request, principal)
        if session is None:
            return
        if answering:
            session.asked.answer(message)
            await request.reply(202)
        elif "id" not in message:
            session.notified(message)
            await request.reply(202)
        else:
            await session.post(request, message)

    async def _begin(
        self, request: Request, message: Message, principal: Principal, view: ViewKey, config: HttpConfig
    ) -> HandshakeSession | None:
        if len(self._sessions) >= config.max_sessions:
            await self._sweep_once(config)
        if len(self._sessions) >= config.max_sessions:
            await request.problem(503, "too many sessions are open (http.max_sessions)", {"retry-after": "5"})
            return None
        try:
            caller = eras.read_initialize(message.get("params") or {})
            session = HandshakeSession(self._gateway, principal, view, caller, _key(request))
        except RpcError as problem:
            await _error(request, 400, problem, message["id"])
            return None
        except ConfigError as problem:
            await request.problem(404, str(problem))
            return None
        self._sessions[session.id] = session
        return session

    async def _find(self, request: Request, principal: Principal) -> HandshakeSession | None:
        wanted = request.header(headers.SESSION)
        if wanted is None:
            await _error(request, 400, RpcError(jsonrpc.INVALID_REQUEST, "Mcp-Session-Id is missing: initialize first"))
            return None
        session = self._sessions.get(wanted)
        if session is None or session.session.principal != principal:
            await _error(request, 404, RpcError(jsonrpc.INVALID_REQUEST, "Session not found: initialize again"))
            return None
        return session

    async def _session_request(self, request: Request, principal: Principal) -> None:
        version = request.header(headers.VERSION)
        if version is not None and version in eras.MODERN:
            await request.problem(405, "this protocol version uses POST alone", {"allow": "POST"})
            return
        session = await self._find(request, principal)
        if session is None:
            return
        if request.method == "DELETE":
            del self._sessions[session.id]
            await session.close()
            await request.reply(200)
        elif "text/event-stream" not in (accept := request.header("accept") or "") and "*/*" not in accept:
            await request.problem(406, "the client must accept text/event-stream")
        else:
            await session.get(request)

    def _modern_session(self, principal: Principal, view: ViewKey, caller: Any, request: Request) -> Session:
        """Modern requests have no session of their own: those of one client share one for statistics and scope."""
        name = caller.client.get("name")
        key = _key(request) or f"{principal.name} {name if isinstance(name, str) else ''} {view.project or ''}"
        found = self._modern.get((key, principal, view))
        if found is None:
            found = Session("http", principal, view, key=key)
            self._gateway.open_session(found)
            self._modern[key, principal, view] = found
        found.caller, found.last_seen = caller, time.time()
        return found

    async def sweep(self, config: Callable[[], HttpConfig]) -> None:
        """End idle sessions, until cancelled."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self._sweep_once(config())

    async def _sweep_once(self, config: HttpConfig) -> None:
        before = time.time() - config.session_idle_seconds
        for session in [s for s in self._sessions.values() if not s.busy and s.session.last_seen < before]:
            del self._sessions[session.id]
            await session.close()
        for key in [key for key, s in self._modern.items() if s.last_seen < before]:
            await self._gateway.close_session(self._modern.pop(key))

    def end_standing(self) -> None:
        """Nothing more comes on the streams that belong to no request."""
        for session in self._sessions.values():
            session.end_standing()

    async def close(self) -> None:
        for session in list(self._sessions.values()):
            await session.close()
        self._sessions.clear()


def _key(request: Request) -> str:
    return request.header("x-remora-session") or ""


def _unacceptable(request: Request) -> tuple[int, RpcError] | None:
    accept = request.header("accept") or ""
    if "*/*" not in accept and not ("application/json" in accept and "text/event-stream" in accept):
        return 406, RpcError(jsonrpc.INVALID_REQUEST, "the client must accept application/json and text/event-stream")
    kind = (request.header("content-type") or "").partition(";")[0].strip().lower()
    if kind != "application/json":
        return 415, RpcError(jsonrpc.INVALID_REQUEST, "the content type must be application/json")
    return None


async def _error(request: Request, status: int, problem: RpcError, request_id: Any = None) -> None:
    await request.reply(status, jsonrpc.error(request_id, problem))
