"""What both MCP doors share: who a message comes from, and turning one request into one reply."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from remora.config.project import project_root
from remora.errors import RpcError
from remora.gateway import eras
from remora.gateway.engine import Gateway
from remora.gateway.session import Caller, Front, Params, Session
from remora.gateway.wire import jsonrpc

log = logging.getLogger(__name__)
Message = dict[str, Any]


def caller_of(message: Message, session: Session) -> Caller:
    """The era is decided for each request, never for a connection."""
    method, params = message["method"], message.get("params") or {}
    if method == "initialize" and not eras.has_envelope(params):
        return eras.read_initialize(params)
    if eras.has_envelope(params) or method in ("server/discover", "subscriptions/listen"):
        caller = eras.read_envelope(params)
        eras.check_version(caller)
        return caller
    if session.caller is not None:
        return session.caller
    if method == "ping":
        return Caller(False, eras.LATEST_HANDSHAKE)
    raise RpcError(jsonrpc.INVALID_REQUEST, f"{method} before initialize, and without the envelope of 2026-07-28")


async def reply_to(gateway: Gateway, front: Front, method: str, params: Params) -> tuple[bytes, RpcError | None]:
    """The encoded reply, and the error if it is one."""
    try:
        return jsonrpc.response(front.request_id, await gateway.handle(front, method, params)), None
    except RpcError as problem:
        return jsonrpc.error(front.request_id, problem), problem
    except asyncio.CancelledError:
        raise
    except Exception as failure:  # transport root: one broken request must not end the others
        log.exception("%s failed", method)
        internal = RpcError(jsonrpc.INTERNAL_ERROR, f"internal error ({type(failure).__name__}); see the log")
        return jsonrpc.error(front.request_id, internal), internal


def id_of(message: Any) -> Any:
    """The id to answer a message with that is no proper request."""
    found = message.get("id") if isinstance(message, dict) else None
    return found if jsonrpc.is_id(found) else None


def project_of(answer: Params, home: Path) -> Path | None:
    """The project that a client's roots name: the first folder among them."""
    roots = answer.get("roots")
    for root in roots if isinstance(roots, list) else ():
        uri = root.get("uri") if isinstance(root, dict) else None
        if isinstance(uri, str) and uri.startswith("file://"):
            return project_root(Path(unquote(urlsplit(uri).path)), home)
    return None


class Asked:
    """Requests of ours to a client that wait for its answers."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[Message]] = {}
        self._count = 0

    def new(self) -> tuple[str, asyncio.Future[Message]]:
        self._count += 1
        key = f"remora-{self._count}"
        self._waiting[key] = asyncio.get_running_loop().create_future()
        return key, self._waiting[key]

    def answer(self, message: Message) -> None:
        key = message.get("id")
        waiting = self._waiting.pop(key, None) if isinstance(key, str) else None
        if waiting is not None and not waiting.done():
            waiting.set_result(message)

    async def wait(self, key: str, waiting: asyncio.Future[Message]) -> Params:
        try:
            return jsonrpc.outcome(await waiting)  # type: ignore[no-any-return]
        finally:
            self._waiting.pop(key, None)

    def lose(self) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(RpcError(jsonrpc.INTERNAL_ERROR, "the client has gone"))
                waiting.exception()
