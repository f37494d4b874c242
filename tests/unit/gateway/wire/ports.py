"""A port that answers each HTTP request as a test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.support.http_upstream import Exchange, Request

from remora.gateway.wire.http_client import Endpoint

Answer = Callable[[Exchange, Request], Awaitable[None] | None]


class Port:
    """`answers` maps a verb, or a method in the body of a POST, to how it is answered; a 202 where there is nothing."""

    def __init__(self, answers: dict[str, Answer]) -> None:
        self.answers = answers
        self.requests: list[Request] = []
        self.came = asyncio.Condition()
        self.url = ""
        self._tasks: set[asyncio.Task[Any]] = set()

    def endpoint(self, limit: int = 1 << 20, path: str = "/mcp?key=secret", **headers: str) -> Endpoint:
        return Endpoint(self.url + path, headers, True, 5.0, limit)

    def sent(self, kind: str) -> list[Request]:
        return [request for request in self.requests if kind in (request.verb, request.message.get("method"))]

    async def until(self, kind: str, count: int = 1) -> Request:
        async with self.came:
            await asyncio.wait_for(self.came.wait_for(lambda: len(self.sent(kind)) >= count), 10)
        return self.sent(kind)[count - 1]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        exchange = Exchange(reader, writer)
        try:
            while request := await exchange.request():
                request.message = json.loads(request.body) if request.body else {}
                async with self.came:
                    self.requests.append(request)
                    self.came.notify_all()
                kind = request.message.get("method", "an answer") if request.verb == "POST" else request.verb
                done = self.answers.get(kind, lambda exchange, _: exchange.respond(202))(exchange, request)
                if done is not None:
                    await done
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client left, or the test is over
        finally:
            writer.close()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def port(**answers: Answer) -> AsyncIterator[Port]:
    made = Port({kind.replace("__", "/"): answer for kind, answer in answers.items()})
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()
        await made.close()


def result(value: Any, **headers: str) -> Answer:
    return lambda exchange, request: exchange.respond(
        200, {"jsonrpc": "2.0", "id": request.message["id"], "result": value}, **headers
    )


def status(code: int, body: Any = None, **headers: str) -> Answer:
    return lambda exchange, request: exchange.respond(code, body, **headers)


def events(*messages: Any, end: bool = True) -> Answer:
    """An event stream: messages (the id of the request stands in for "ID"), or raw text."""

    def answer(exchange: Exchange, request: Request) -> None:
        exchange.open_stream()
        for message in messages:
            if isinstance(message, str):
                exchange.chunk(message.encode())
            else:
                exchange.event(json.dumps(message).replace('"ID"', str(request.message.get("id"))))
        if end:
            exchange.end_stream()

    return answer
