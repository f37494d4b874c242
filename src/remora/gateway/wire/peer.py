"""One JSON-RPC connection over lines: a table of futures. Used for upstreams on stdio and, in part, for HTTP+SSE."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from typing import Any

from remora.errors import NotSent, ResultTooLarge, RpcError
from remora.gateway.wire import jsonrpc
from remora.gateway.wire.lines import EDGE
from remora.gateway.wire.link import Exchange, LinkEvents, LinkLost

log = logging.getLogger(__name__)
_ID = re.compile(rb'"id"\s*:\s*(\d+)')
# Where the id of an answer stands, before its result or behind it: an "id" within the result is not ours.
_FIRST_ID = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)')
_LAST_ID = re.compile(rb'"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


class _Waiting:
    __slots__ = ("exchange", "future")

    def __init__(self, future: asyncio.Future[Any], exchange: Exchange) -> None:
        self.future = future
        self.exchange = exchange


class Peer:
    """Requests get integer ids of ours, which serve as progress tokens too."""

    modern = False
    version = "2025-11-25"

    def __init__(self, send: Callable[[bytes], None], events: LinkEvents) -> None:
        self._send = send
        self._events = events
        self._waiting: dict[int, _Waiting] = {}
        self._last_id = 0
        self._lost: str | None = None
        self._questions: dict[Any, asyncio.Task[None]] = {}

    async def request(self, method: str, params: dict[str, Any] | None, exchange: Exchange) -> dict[str, Any]:
        if self._lost is not None:
            raise NotSent(self._lost)
        self._last_id += 1
        request_id = self._last_id
        if exchange.progress_token is not None:
            params = with_meta(params, progressToken=request_id)
        waiting = _Waiting(asyncio.get_running_loop().create_future(), exchange)
        line = jsonrpc.request(request_id, method, params)
        self._waiting[request_id] = waiting
        try:
            self._send(line)
            exchange.sent = True
            return jsonrpc.outcome(await waiting.future)  # type: ignore[no-any-return]
        except asyncio.CancelledError:
            # The probe and the handshake are never cancelled on the wire: the protocol forbids it.
            unanswered = waiting.future.cancelled() or not waiting.future.done()
            if self._lost is None and unanswered and method not in ("initialize", "server/discover"):
                self._send(jsonrpc.notification("notifications/cancelled", {"requestId": request_id}))
            raise
        finally:
            self._waiting.pop(request_id, None)

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        if self._lost is None:
            self._send(jsonrpc.notification(method, params))

    def feed(self, line: bytes) -> None:
        """One line arrived. Answers and notifications are handled here and now, in wire order."""
        try:
            message = jsonrpc.decode(line)
        except ValueError:
            self._bad_line(line)
            return
        if not isinstance(message, dict):
            return
        method = message.get("method")
        if not isinstance(method, str):
            waiting = self._waiting.get(message["id"]) if type(message.get("id")) is int else None
            if waiting is not None and not waiting.future.done():
                waiting.future.set_result(message)
        elif "id" in message:
            if jsonrpc.is_id(message["id"]):
                self._question(message["id"], method, _params(message))
        elif method == "notifications/cancelled":
            asked = _params(message).get("requestId")
            if jsonrpc.is_id(asked) and (task := self._questions.get(asked)):
                task.cancel()
        else:
            self._notification(method, _params(message))

    def _bad_line(self, line: bytes) -> None:
        """Chatter is ignored; an answer that is not quite JSON ends its call instead of leaving it to wait."""
        head = line[:EDGE]
        found = (
            _ID.search(head) if head.lstrip().startswith(b"{") and (b'"result"' in line or b'"error"' in line) else None
        )
        waiting = self._waiting.get(int(found[1])) if found else None
        if waiting is not None and not waiting.future.done():
            waiting.future.set_exception(RpcError(jsonrpc.INTERNAL_ERROR, "the server's answer is not valid JSON"))

    def _notification(self, method: str, params: dict[str, Any]) -> None:
        if method == "notifications/progress":
            token = params.get("progressToken")
            waiting = self._waiting.get(token) if isinstance(token, int) else None
            if waiting is not None and waiting.exchange.on_notify is not None:
                waiting.exchange.on_notify(method, {**params, "progressToken": waiting.exchange.progress_token})
            return
        self._events.link_notified(method, params)

    def _question(self, request_id: Any, method: str, params: dict[str, Any]) -> None:
        async def answer() -> None:
            try:
                reply = jsonrpc.response(request_id, await self._events.link_asked(method, params))
            except RpcError as problem:
                reply = jsonrpc.error(request_id, problem)
            finally:
                self._questions.pop(request_id, None)
            if self._lost is None:
                self._send(reply)

        self._questions[request_id] = asyncio.get_running_loop().create_task(answer())

    def too_long(self, head: bytes, tail: bytes) -> None:
        """A line over the limit was skipped: its call fails; if nobody can tell which, all of them do."""
        own = _FIRST_ID.match(head) or _LAST_ID.search(tail)
        found = own or _ID.search(head) or _ID.search(tail)
        waiting = self._waiting.get(int(found[1])) if found else None
        everyone = [] if own else list(self._waiting.values())
        for one in [waiting] if waiting else everyone:
            if not one.future.done():
                one.future.set_exception(ResultTooLarge("the server's answer is larger than max_message_bytes"))

    def lose(self, reason: str) -> None:
        """The connection is gone: nothing that is under way will be answered."""
        if self._lost is not None:
            return
        self._lost = reason
        for waiting in list(self._waiting.values()):
            if not waiting.future.done():
                waiting.future.set_exception(LinkLost(reason))
        for task in list(self._questions.values()):
            task.cancel()
        self._events.link_lost(reason)

    @property
    def lost(self) -> str | None:
        return self._lost


def with_meta(params: dict[str, Any] | None, **entries: Any) -> dict[str, Any]:
    params = params or {}
    meta = params.get("_meta")
    return {**params, "_meta": {**(meta if isinstance(meta, dict) else {}), **entries}}


def _params(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params")
    return params if isinstance(params, dict) else {}
