"""An upstream over the deprecated HTTP+SSE transport: one stream down, one POST address up."""

from __future__ import annotations

import asyncio
from urllib.parse import urljoin, urlsplit

import httpx2

from remora.errors import NotSent
from remora.gateway.wire.http_client import Endpoint, http_client, shown
from remora.gateway.wire.link import LinkEvents, LoginNeeded
from remora.gateway.wire.peer import Peer


class SseLink(Peer):
    def __init__(self, endpoint: Endpoint, events: LinkEvents) -> None:
        super().__init__(self._enqueue, events)
        self._endpoint = endpoint
        self._client = http_client(endpoint)
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue()
        self._address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._tasks: list[asyncio.Task[None]] = []

    def _enqueue(self, line: bytes) -> None:
        self._outbox.put_nowait(line)

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._tasks.append(loop.create_task(self._read()))
        address = await self._address
        self._tasks.append(loop.create_task(self._write(address)))

    async def _read(self) -> None:
        reason = "the server ended the stream"
        try:
            headers = {"accept": "text/event-stream"}
            async with self._client.stream("GET", self._endpoint.url, headers=headers) as answer:
                if answer.status_code in (401, 403):
                    raise LoginNeeded("login needed")
                if answer.status_code != 200:
                    raise NotSent(f"HTTP {answer.status_code} at {shown(self._endpoint.url)}")
                source = httpx2.EventSource(answer, max_event_size=self._endpoint.max_message_bytes)
                async for event in source:
                    if event.event == "endpoint":
                        self._learn(event.data)
                    elif event.event == "message":
                        self.feed(event.data.encode())
        except (NotSent, LoginNeeded) as problem:
            self._refuse(problem)
            return
        except httpx2.HTTPError as problem:
            reason = f"{type(problem).__name__}: {problem}"
        self._refuse(NotSent(reason))
        self.lose(reason)

    def _learn(self, data: str) -> None:
        address = urljoin(self._endpoint.url, data)
        if urlsplit(address)[:2] != urlsplit(self._endpoint.url)[:2]:
            self._refuse(NotSent("the server names a POST address on another origin"))
        elif not self._address.done():
            self._address.set_result(address)

    def _refuse(self, problem: Exception) -> None:
        if not self._address.done():
            self._address.set_exception(problem)

    async def _write(self, address: str) -> None:
        try:
            while True:
                body = await self._outbox.get()
                answer = await self._client.post(address, content=body, headers={"content-type": "application/json"})
                if answer.status_code >= 400:
                    self.lose(f"HTTP {answer.status_code} on a message")
                    return
        except httpx2.HTTPError as problem:
            self.lose(f"{type(problem).__name__}: {problem}")

    async def close(self) -> None:
        self.lose("stopped by the gateway")
        for task in self._tasks:
            task.cancel()
        await self._client.aclose()
