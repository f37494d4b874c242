"""The few lines of ASGI that every handler here needs."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]


class BodyTooLarge(Exception):
    pass


class Disconnected(Exception):
    pass


class Request:
    """Headers as a list: a name that occurs twice must be seen twice."""

    __slots__ = ("headers", "method", "path", "query", "receive", "send")

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.headers: list[tuple[str, str]] = [
            (name.decode("latin-1").lower(), value.decode("latin-1").strip()) for name, value in scope["headers"]
        ]
        self.query = {
            key: values[-1] for key, values in parse_qs(scope.get("query_string", b"").decode("latin-1")).items()
        }
        self.receive = receive
        self.send = send

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    async def body(self, limit: int) -> bytes:
        parts, size = [], 0
        if int(self.header("content-length") or 0) > limit:
            raise BodyTooLarge
        while True:
            event = await self.receive()
            if event["type"] == "http.disconnect":
                raise Disconnected
            parts.append(event.get("body", b""))
            size += len(parts[-1])
            if size > limit:
                raise BodyTooLarge
            if not event.get("more_body"):
                return b"".join(parts)

    async def gone(self) -> None:
        """Until the client has left."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def start(self, status: int, headers: dict[str, str]) -> None:
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await self.send({"type": "http.response.start", "status": status, "headers": raw})

    async def write(self, data: bytes, *, more: bool = True) -> None:
        await self.send({"type": "http.response.body", "body": data, "more_body": more})

    async def reply(
        self, status: int, body: bytes = b"", kind: str = "application/json", headers: dict[str, str] | None = None
    ) -> None:
        sent = {"content-length": str(len(body)), **({"content-type": kind} if body else {}), **(headers or {})}
        await self.start(status, sent)
        await self.write(body, more=False)

    async def problem(self, status: int, title: str, headers: dict[str, str] | None = None) -> None:
        """An RFC 9457 body."""
        body = json.dumps({"type": "about:blank", "status": status, "title": title}).encode()
        await self.reply(status, body, "application/problem+json", headers)
