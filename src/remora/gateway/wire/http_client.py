"""An upstream over streamable HTTP, both eras. A request is one POST, read in the task of its caller."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import urljoin, urlsplit

import httpx2

from remora.errors import NotSent, ResultTooLarge, RpcError, UpstreamError
from remora.gateway.wire import headers as names
from remora.gateway.wire import jsonrpc
from remora.gateway.wire.link import Exchange, LinkEvents, LinkLost, LoginNeeded, NotFoundHere, TryOnceMore
from remora.gateway.wire.peer import with_meta

log = logging.getLogger(__name__)
logging.getLogger("httpx2").setLevel(logging.WARNING)  # it writes whole URLs, queries and all
RESUME_ATTEMPTS = 5
RETRY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    url: str
    headers: dict[str, str]
    verify: Any  # True, False or an ssl.SSLContext
    connect_timeout: float
    max_message_bytes: int


def http_client(endpoint: Endpoint) -> httpx2.AsyncClient:
    # No read timeout: a listen stream may be quiet for hours, and calls have clocks of their own.
    timeout = httpx2.Timeout(None, connect=endpoint.connect_timeout, write=60.0)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=16)
    return httpx2.AsyncClient(headers=endpoint.headers, verify=endpoint.verify, timeout=timeout, limits=limits)


class HttpLink:
    modern = False
    version = "2025-11-25"

    def __init__(self, endpoint: Endpoint, events: LinkEvents) -> None:
        self.url = endpoint.url
        self._client = http_client(endpoint)
        self._limit = endpoint.max_message_bytes
        self._events = events
        self._session: str | None = None
        self._last_id = 0
        self._lost: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def request(self, method: str, params: dict[str, Any] | None, exchange: Exchange) -> dict[str, Any]:
        if self._lost is not None:
            raise NotSent(self._lost)
        self._last_id += 1
        request_id = self._last_id
        if exchange.progress_token is not None:
            params = with_meta(params, progressToken=request_id)
        try:
            message = await self._post(request_id, method, params, exchange)
        except asyncio.CancelledError:
            if (
                not self.modern and method != "initialize" and self._lost is None
            ):  # the closed stream tells a modern server
                self._spawn(self.notify("notifications/cancelled", {"requestId": request_id}))
            raise
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol) as problem:
            self._lose(f"cannot connect to {shown(self.url)}")
            raise NotSent(f"cannot connect to {shown(self.url)}") from problem
        except httpx2.HTTPError as problem:  # one request's connection; the session may well live on
            raise LinkLost(f"the connection broke: {type(problem).__name__}") from problem
        return jsonrpc.outcome(message)  # type: ignore[no-any-return]

    async def _post(
        self, request_id: int, method: str, params: dict[str, Any] | None, exchange: Exchange
    ) -> dict[str, Any]:
        body = jsonrpc.request(request_id, method, params)
        sent = self._headers(method, params or {}, exchange.schema)
        exchange.sent = True
        for _ in range(2):
            async with self._client.stream("POST", self.url, content=body, headers=sent) as answer:
                if answer.status_code in (307, 308) and self._moved(answer):
                    continue
                if method == "initialize" and names.SESSION in answer.headers:
                    self._session = answer.headers[names.SESSION]
                kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
                if answer.status_code == 200 and kind == "text/event-stream":
                    found, resume = await self._read_events(answer, request_id, exchange)
                    return found if found is not None else await self._resume(resume, request_id, exchange)
                return await self._read_json(answer, kind, request_id)
        raise LinkLost("redirected twice")

    def _headers(self, method: str, params: dict[str, Any], schema: Any = None) -> dict[str, str]:
        made = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        if self.modern:
            made |= names.for_request(method, params, self.version, schema)
        elif method == "server/discover":
            made |= names.for_request(method, params, params["_meta"]["io.modelcontextprotocol/protocolVersion"])
        elif method != "initialize":
            made[names.VERSION] = self.version
        if self._session:
            made[names.SESSION] = self._session
        return made

    def _moved(self, answer: httpx2.Response) -> bool:
        """Follow a redirect on the same origin only: headers with secrets go nowhere else."""
        target = urljoin(self.url, answer.headers.get("location", ""))
        old, new = urlsplit(self.url), urlsplit(target)
        if (old.scheme, old.netloc) != (new.scheme, new.netloc):
            raise NotSent(f"redirected to {new.scheme}://{new.netloc}: put that URL into the config if it is meant")
        self.url = target
        return True

    async def _read_json(self, answer: httpx2.Response, kind: str, request_id: int) -> dict[str, Any]:
        if answer.status_code == 401:  # whatever the body says: many servers put a JSON-RPC error there
            self._raise_for(401)
        body = await self._read_limited(answer)
        message: Any = None
        if kind == "application/json":
            try:
                message = jsonrpc.decode(body)
            except ValueError:
                message = None
        status = answer.status_code
        if (
            isinstance(message, dict)
            and message.get("jsonrpc") == "2.0"
            and ("error" in message or "result" in message)
        ):
            problem = message.get("error")
            code = problem.get("code") if isinstance(problem, dict) else None
            if status == 404 and self._session and code != jsonrpc.METHOD_NOT_FOUND:
                self._session_gone()
            return message
        self._raise_for(status)
        raise RpcError(jsonrpc.INTERNAL_ERROR, f"HTTP {status} without a JSON-RPC answer")

    def _raise_for(self, status: int) -> None:
        """Statuses that say more than the body does."""
        if status in (401, 403):
            raise LoginNeeded("login needed", retry_after=None)
        if status == 404 and self._session:
            self._session_gone()
        if status in (404, 405):
            raise NotFoundHere(f"HTTP {status} at {shown(self.url)}")
        if status == 429:
            raise TryOnceMore("HTTP 429: too many requests")
        if status >= 500:
            raise LinkLost(f"HTTP {status}")

    def _session_gone(self) -> NoReturn:
        self._lose("the server forgot the session (HTTP 404)")
        raise TryOnceMore("the server forgot the session")

    async def _read_limited(self, answer: httpx2.Response) -> bytes:
        parts, size = [], 0
        async for chunk in answer.aiter_bytes():
            size += len(chunk)
            if size > self._limit:
                raise ResultTooLarge("the server's answer is larger than max_message_bytes")
            parts.append(chunk)
        return b"".join(parts)

    async def _read_events(
        self, answer: httpx2.Response, request_id: int | None, exchange: Exchange
    ) -> tuple[dict[str, Any] | None, tuple[str, float] | None]:
        """Messages until the answer to `request_id`; without it, where to resume."""
        last_id, retry = "", RETRY_SECONDS
        try:
            async for event in _events(answer, self._limit):
                last_id = event.id or last_id
                retry = event.retry / 1000 if event.retry is not None else retry
                message = self._parse(event.data)
                if message is None:
                    continue
                if "method" not in message:
                    if request_id is not None and ("result" in message or "error" in message):
                        return message, None
                    continue
                self._incoming(message, request_id, exchange)
        except httpx2.SSEError as problem:
            raise ResultTooLarge("the server's answer is larger than max_message_bytes") from problem
        except httpx2.HTTPError:
            if not last_id:
                raise
        return None, (last_id, retry) if last_id else None

    @staticmethod
    def _parse(data: str) -> dict[str, Any] | None:
        try:
            message = jsonrpc.decode(data) if data else None
        except ValueError:
            return None
        return message if isinstance(message, dict) else None

    async def _resume(self, where: tuple[str, float] | None, request_id: int, exchange: Exchange) -> dict[str, Any]:
        """The server closed the stream on purpose to be polled: say so to the front, then ask again."""
        for _ in range(RESUME_ATTEMPTS):
            if where is None:
                break
            if exchange.on_stream_closed is not None:
                exchange.on_stream_closed()
            last_id, retry = where
            await asyncio.sleep(retry)
            sent = {**self._headers("", {}), "accept": "text/event-stream", names.LAST_EVENT: last_id}
            try:
                async with self._client.stream("GET", self.url, headers=sent) as answer:
                    if answer.status_code != 200:
                        break
                    found, again = await self._read_events(answer, request_id, exchange)
            except httpx2.HTTPError:
                found, again = None, where
            if found is not None:
                return found
            where = again or where
        raise LinkLost("the answer's stream ended without an answer")

    def _incoming(self, message: dict[str, Any], request_id: int | None, exchange: Exchange) -> None:
        method = message["method"]
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if "id" in message:
            ask = exchange.on_question or self._events.link_asked
            self._spawn(self._answer(message["id"], ask(method, params)))
        elif method == "notifications/progress":
            if params.get("progressToken") == request_id and exchange.on_notify is not None:
                exchange.on_notify(method, {**params, "progressToken": exchange.progress_token})
        elif exchange.on_notify is not None:
            exchange.on_notify(method, params)
        else:
            self._events.link_notified(method, params)

    async def _answer(self, question_id: Any, answering: Any) -> None:
        try:
            reply = jsonrpc.response(question_id, await answering)
        except RpcError as problem:
            reply = jsonrpc.error(question_id, problem)
        await self._send_only(reply, "")

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        if self.modern:
            return  # this era knows no client notifications over HTTP
        await self._send_only(jsonrpc.notification(method, params), method)

    async def _send_only(self, body: bytes, method: str) -> None:
        try:
            async with asyncio.timeout(30):
                await self._client.post(self.url, content=body, headers=self._headers(method, {}))
        except (httpx2.HTTPError, TimeoutError) as problem:
            log.debug("could not deliver %s: %s", method or "an answer", problem)

    def listen(self) -> None:
        """Handshake era: open the standing stream for messages that belong to no call."""
        self._spawn(self._standing())

    async def _standing(self) -> None:
        last_id, failures = "", 0
        while self._lost is None and failures < RESUME_ATTEMPTS:
            sent = {**self._headers("", {}), "accept": "text/event-stream"}
            if last_id:
                sent[names.LAST_EVENT] = last_id
            retry = RETRY_SECONDS
            try:
                async with self._client.stream("GET", self.url, headers=sent) as answer:
                    if answer.status_code == 404 and self._session:
                        self._lose("the server forgot the session (HTTP 404)")
                    kind = answer.headers.get("content-type", "")
                    if answer.status_code != 200 or not kind.startswith("text/event-stream"):
                        return
                    failures = 0
                    _, resume = await self._read_events(answer, None, Exchange())
                    last_id, retry = resume or (last_id, retry)
            except (httpx2.HTTPError, UpstreamError):
                failures += 1
            await asyncio.sleep(retry)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def lost(self) -> str | None:
        return self._lost

    def _lose(self, reason: str) -> None:
        if self._lost is None:
            self._lost = reason
            self._events.link_lost(reason)

    async def close(self) -> None:
        was_open = self._lost is None
        self._lost = self._lost or "stopped by the gateway"
        for task in list(self._tasks):
            task.cancel()
        if was_open and self._session:
            try:
                async with asyncio.timeout(2):
                    await self._client.delete(self.url, headers=self._headers("", {}))
            except (httpx2.HTTPError, TimeoutError):
                pass  # the session ends by itself
        await self._client.aclose()


def shown(url: str) -> str:
    """An address without what may be secret in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _events(answer: httpx2.Response, limit: int) -> AsyncIterator[httpx2.ServerSentEvent]:
    return httpx2.EventSource(answer, max_event_size=limit).__aiter__()
