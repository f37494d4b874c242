"""The raw test client over streamable HTTP: handshake sessions and modern single exchanges on one path."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2
from tests.support.client import Client, Message
from tests.support.inbox import Inbox

NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
ACCEPT = "application/json, text/event-stream"


def header_value(value: str) -> str:
    if value.isascii() and value.isprintable() and value == value.strip():
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


async def sse_events(response: httpx2.Response) -> AsyncIterator[dict[str, str]]:
    """The events of a stream as {event, id, retry, data}; comments are dropped."""
    event: dict[str, str] = {}
    async for line in response.aiter_lines():
        if not line:
            if event:
                yield event
            event = {}
            continue
        field, _, value = line.partition(":")
        if field:
            value = value.removeprefix(" ")
            event[field] = event["data"] + "\n" + value if field == "data" and "data" in event else value


class HttpClient(Client):
    """`responses` lists (method, status, headers) of each exchange; `events` every SSE event and its request."""

    def __init__(
        self, url: str, token: str | None = None, *, headers: Mapping[str, str] | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        self.url, self.session = url, ""
        self.headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})}
        self.responses: list[tuple[str, int, httpx2.Headers]] = []
        self.events = Inbox()
        self.param_headers: dict[str, str] = {}  # sent as Mcp-Param-* with modern calls
        self._exchanges: dict[Any, asyncio.Task[None]] = {}

    async def connect(self) -> None:
        self.http = httpx2.AsyncClient(timeout=httpx2.Timeout(60, read=None), trust_env=False, verify=False)

    async def deliver(self, message: Message) -> None:
        task = self.spawn(self._exchange(message))
        if "id" in message and "method" in message:
            self._exchanges[message["id"]] = task
        else:
            await task  # notifications and answers keep their order

    def headers_for(self, message: Message) -> dict[str, str]:
        headers = {**self.headers, "Accept": ACCEPT, "Content-Type": "application/json"}
        method = message.get("method", "")
        if self.era == "modern":
            headers |= {"MCP-Protocol-Version": self.version, "Mcp-Method": method}
            if method in NAMED:
                headers["Mcp-Name"] = header_value(str(message["params"][NAMED[method]]))
            headers |= {f"Mcp-Param-{name}": header_value(value) for name, value in self.param_headers.items()}
        elif method != "initialize":
            headers["MCP-Protocol-Version"] = self.greeting.get("protocolVersion", self.version)
            if self.session:
                headers["Mcp-Session-Id"] = self.session
        return headers

    async def _exchange(self, message: Message) -> None:
        identity = message.get("id") if "method" in message else None
        body = json.dumps(message).encode()
        try:
            async with self.http.stream("POST", self.url, content=body, headers=self.headers_for(message)) as response:
                self.responses.append((message.get("method", ""), response.status_code, response.headers))
                if message.get("method") == "initialize":
                    self.session = response.headers.get("mcp-session-id", "")
                last = await self._take(response, identity)
            while identity is not None and not self.answered(identity) and last:
                last = await self._resume(last, identity)
        except httpx2.HTTPError as error:
            last = ""
            if identity is None:
                raise
            self._fail(identity, f"{type(error).__name__}: {error}")
        if identity is not None:
            self._fail(identity, "the exchange ended without an answer")

    async def _take(self, response: httpx2.Response, identity: Any) -> str:
        """Hand on what a response holds; the id of its last event."""
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            last = ""
            async for event in sse_events(response):
                self.events.add({**event, "stream": str(identity)})
                last = event.get("id", last)
                if event.get("data"):
                    self.receive(json.loads(event["data"]))
            return last
        data = await response.aread()
        try:
            message = json.loads(data) if data else None
        except ValueError:
            message = None
        if isinstance(message, dict) and "jsonrpc" in message:
            if message.get("id") is None and identity is not None:
                message["id"] = identity  # an error about the request as a whole
            self.receive(message)
        elif response.status_code >= 400 and identity is not None:
            self._fail(identity, f"HTTP {response.status_code} {data[:200]!r}", response.status_code)
        return ""

    async def _resume(self, last: str, identity: Any) -> str:
        """An open stream the server closed to be polled: ask for the rest."""
        headers = {**self.headers, "Accept": "text/event-stream", "Last-Event-ID": last}
        headers |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": self.version}
        async with self.http.stream("GET", self.url, headers=headers) as response:
            self.responses.append(("GET", response.status_code, response.headers))
            return await self._take(response, identity) if response.status_code == 200 else ""

    def _fail(self, identity: Any, why: str, status: int = 0) -> None:
        if not self.answered(identity):
            self.receive({"id": identity, "error": {"code": status, "message": why}})

    async def open(self) -> Message:
        greeting = await super().open()
        if self.session:
            await self.listen()
        return greeting

    async def listen(self, last_event: str = "") -> None:
        """Open the standing GET stream of a handshake session; returns when it is accepted (or refused)."""
        opened = asyncio.get_running_loop().create_future()
        self.standing = self.spawn(self._stand(opened, last_event))
        self.standing_status = await opened

    async def _stand(self, opened: asyncio.Future[int], last_event: str) -> None:
        headers = {**self.headers, "Accept": "text/event-stream", "Mcp-Session-Id": self.session}
        headers["MCP-Protocol-Version"] = self.greeting.get("protocolVersion", self.version)
        if last_event:
            headers["Last-Event-ID"] = last_event
        try:
            async with self.http.stream("GET", self.url, headers=headers) as response:
                opened.set_result(response.status_code)
                await self._take(response, None)
        except httpx2.HTTPError as error:
            if not opened.done():
                opened.set_exception(error)

    async def cancel(self, identity: int, reason: str = "enough") -> None:
        """Modern: closing the stream is the cancellation. Handshake: a notification."""
        if self.era != "modern":
            await super().cancel(identity, reason)
            return
        task = self._exchanges[identity]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def delete(self) -> int:
        """End the handshake session."""
        response = await self.http.delete(self.url, headers={**self.headers, "Mcp-Session-Id": self.session})
        self.session = ""
        return response.status_code

    async def close(self) -> None:
        if self.session:
            try:
                await self.delete()
            except httpx2.HTTPError:
                pass  # the server is gone already: nothing to end
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.http.aclose()
