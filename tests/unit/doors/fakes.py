"""What the doors stand between: a gateway that answers what it is told to, and an HTTP client without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from remora.config.model import AuthConfig, HttpConfig
from remora.doors.http.wire import Event, Request
from remora.errors import ConfigError, RpcError
from remora.gateway import eras
from remora.gateway.session import Front, Params, Session
from remora.gateway.wire import headers, jsonrpc

Handler = Callable[[Front, Params], Awaitable[Params]]
Done = TypeVar("Done")
ENVELOPE = {eras.VERSION_KEY: "2026-07-28", eras.CAPABILITIES_KEY: {}, eras.CLIENT_KEY: {"name": "probe"}}
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "probe", "version": "1"}}


async def soon(work: Awaitable[Done]) -> Done:
    """A guard against hanging for ever, not a measure."""
    return await asyncio.wait_for(work, 10)


class FakeGateway:
    """Answers by the functions in `handlers`, `ping` and `initialize` by itself; remembers what doors told it."""

    def __init__(self, home: Path = Path("/home/probe")) -> None:
        self.home = home
        self.config = SimpleNamespace(profiles={"work": object()}, http=HttpConfig(port=0), auth=AuthConfig())
        self.handlers: dict[str, Handler] = {}
        self.asked: list[tuple[Front, str, Params]] = []
        self.sessions: list[Session] = []
        self.closed: list[Session] = []
        self.moved: list[tuple[Session, Path | None]] = []
        self.roots_told: list[Session] = []
        self.listeners_closed = asyncio.Event()
        self.listeners = SimpleNamespace(close=self.listeners_closed.set)
        self.callable: dict[str, Any] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    async def handle(self, front: Front, method: str, params: Params) -> Params:
        self.asked.append((front, method, params))
        if method in self.handlers:
            return await self.handlers[method](front, params)
        if method in ("ping", "initialize", "server/discover"):
            return {}
        raise RpcError(jsonrpc.METHOD_NOT_FOUND, f"Method not found: {method}")

    def open_session(self, session: Session) -> None:
        if session.view.profile and session.view.profile not in self.config.profiles:
            raise ConfigError("unknown profile")
        self.sessions.append(session)

    async def close_session(self, session: Session) -> None:
        self.closed.append(session)

    def move_session(self, session: Session, project: Path | None) -> None:
        self.moved.append((session, project))

    async def roots_changed(self, session: Session) -> None:
        self.roots_told.append(session)

    def view(self, session: Session) -> Any:
        return SimpleNamespace(callable=self.callable)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settled(self) -> None:
        """Until everything that was spawned has ended."""
        while self._tasks:
            await asyncio.wait(self._tasks)


class Gate:
    """A handler that says when it has begun, and answers when it is let."""

    def __init__(self, answer: Params | None = None) -> None:
        self.answer = answer or {"done": True}
        self.begun, self.open = asyncio.Event(), asyncio.Event()
        self.cancelled = asyncio.Event()
        self.front: Front | None = None

    async def __call__(self, front: Front, params: Params) -> Params:
        self.front = front
        self.begun.set()
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return self.answer


class Exchange:
    """One HTTP request without a network: what an ASGI server would pass in, and what it would send out."""

    def __init__(
        self,
        method: str = "POST",
        path: str = "/mcp",
        headers: dict[str, str] | list[tuple[str, str]] | None = None,
        body: bytes | list[bytes] = b"",
        query: str = "",
    ) -> None:
        pairs = list(headers.items()) if isinstance(headers, dict) else headers or []
        self.scope: dict[str, Any] = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs],
        }
        parts = body if isinstance(body, list) else [body]
        self._incoming: asyncio.Queue[Event] = asyncio.Queue()
        for number, part in enumerate(parts, 1):
            self._incoming.put_nowait({"type": "http.request", "body": part, "more_body": number < len(parts)})
        self.chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self.started = asyncio.Event()
        self.ended = False
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""

    @property
    def request(self) -> Request:
        return Request(self.scope, self.receive, self.send)

    async def receive(self) -> Event:
        return await self._incoming.get()

    def leave(self) -> None:
        """The client hangs up."""
        self._incoming.put_nowait({"type": "http.disconnect"})

    async def send(self, event: Event) -> None:
        if event["type"] == "http.response.start":
            assert not self.started.is_set(), "a response starts once"
            self.status = event["status"]
            self.headers = {name.decode(): value.decode() for name, value in event["headers"]}
            self.started.set()
            return
        assert self.started.is_set() and not self.ended, "a body belongs between start and end"
        self.ended = not event["more_body"]
        if event["body"]:
            self.body += event["body"]
            self.chunks.put_nowait(event["body"])

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def messages(self) -> list[Any]:
        """The messages of an event stream."""
        return [message for chunk in self.body.split(b"\n\n") if (message := _data(chunk)) is not None]

    @property
    def ids(self) -> list[str]:
        return [line[4:].decode() for line in self.body.splitlines() if line.startswith(b"id: ")]

    async def next_message(self) -> Any:
        """The next message on the stream; pings and priming events are passed over."""
        while (message := _data(await soon(self.chunks.get()))) is None:
            pass
        return message


def _data(chunk: bytes) -> Any:
    lines = [line[6:] for line in chunk.split(b"\n") if line.startswith(b"data: ")]
    return json.loads(lines[0]) if lines and lines[0] else None


ACCEPTED = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def posted(message: Any, given: dict[str, str] | None = None, **more: Any) -> Exchange:
    """A POST of the handshake era."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return Exchange("POST", headers={**ACCEPTED, **(given or {})}, body=body, **more)


def rpc(method: str, params: Params | None = None, request_id: Any = 1) -> Params:
    message: Params = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else {**message, "params": params}


def modern(method: str, params: Params | None = None, request_id: Any = 1, **given: str) -> Exchange:
    """A POST of the modern era with the headers that belong to it; `given` adds and replaces."""
    params = {**(params or {}), "_meta": ENVELOPE}
    made = headers.for_request(method, params, "2026-07-28")
    return posted(rpc(method, params, request_id), {**made, **{k.replace("_", "-"): v for k, v in given.items()}})
