"""The scripted MCP server over HTTP, inside the test process: streamable HTTP at /mcp, the deprecated HTTP+SSE at /sse.

`async with HttpUpstream("web", "--era", "dual") as up:` gives `up.url`, `up.requests` (what came, in order),
`up.reports` (as Control's) and `up.trouble`: what happens to coming messages instead of an answer. Tools that end their
process or write to stdout are for stdio only.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from dataclasses import dataclass, field
from typing import Any, Self

from tests.support import scripted_tools  # noqa: F401  (registers the tools)
from tests.support.inbox import Inbox
from tests.support.scripted_server import MODERN, Message, Server, Session
from tests.support.upstream import options

REASONS = {200: "OK", 202: "Accepted", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}


@dataclass
class Request:
    verb: str
    path: str
    headers: dict[str, str]
    body: bytes
    message: Message = field(default_factory=dict)


class Exchange:
    """One HTTP/1.1 connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def request(self) -> Request | None:
        head = await self.reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        verb, path, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name}
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int((await self.reader.readline()).strip(), 16):
                body += (await self.reader.readexactly(size + 2))[:-2]
            await self.reader.readline()
        else:
            body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return Request(verb, path, headers, body)

    def respond(self, status: int, body: Any = None, **headers: str) -> None:
        data = json.dumps(body).encode() if body is not None else b""
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Whatever')}", f"Content-Length: {len(data)}"]
        if data:
            lines.append("Content-Type: application/json")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + data)

    def open_stream(self, **headers: str) -> None:
        lines = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.writer.write("\r\n".join([*lines, "", ""]).encode())

    def event(self, data: str, event: str = "message") -> None:
        self.chunk(f"event: {event}\r\ndata: {data}\r\n\r\n".encode())

    def chunk(self, data: bytes) -> None:
        self.writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def end_stream(self) -> None:
        self.writer.write(b"0\r\n\r\n")


class HttpUpstream:
    """`token`: anything but this bearer is refused with 401. `sse`: answer calls by event streams (else JSON).

    `trouble` maps a method to a list of what happens to its next requests: a status, "cut" (read, then cut off),
    "obey and cut" (carried out, answer cut off), "pass" (nothing). `deprecated`: only HTTP+SSE at /sse, a POST
    there is refused.
    """

    def __init__(self, name: str, *given: str, token: str = "", sse: bool = True, deprecated: bool = False) -> None:
        self.server = Server(options([name, *given]))
        self.token, self.sse, self.deprecated = token, sse, deprecated
        self.requests: list[Request] = []
        self.reports = Inbox()
        self.server.listeners.append(self.reports.add)
        self.trouble: dict[str, list[int | str]] = {}
        self.sessions: dict[str, tuple[Session, asyncio.Queue[Message]]] = {}
        self.streams = 0  # event streams open now

    async def __aenter__(self) -> Self:
        self.tasks: set[asyncio.Task[Any]] = set()
        await self.start()
        return self

    async def start(self, port: int = 0) -> None:
        self.listener = await asyncio.start_server(self._serve, "127.0.0.1", port)
        self.port = self.listener.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/{'sse' if self.deprecated else 'mcp'}"

    async def stop(self) -> None:
        """Gone: the port is closed and so is every connection; sessions are forgotten."""
        self.listener.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.sessions.clear()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def calls(self, tool: str) -> list[Message]:
        return self.reports.find(lambda report: report["event"] == "call" and report["tool"] == tool)

    def messages(self, method: str) -> list[Request]:
        return [request for request in self.requests if request.message.get("method") == method]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self.tasks.add(task)
        exchange = Exchange(reader, writer)
        try:
            while request := await exchange.request():
                self.requests.append(request)
                if not await self._route(exchange, request):
                    break
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client left, or the test is over
        finally:
            self.tasks.discard(task)
            writer.close()

    async def _route(self, exchange: Exchange, request: Request) -> bool:
        """Answer one request; False ends the connection."""
        if self.token and request.headers.get("authorization") != f"Bearer {self.token}":
            exchange.respond(401, {"error": "invalid_token"}, WWW_Authenticate="Bearer")
            return True
        if request.verb == "POST":
            return await self._post(exchange, request)
        if request.verb == "GET" and self.deprecated:
            return await self._old_stream(exchange)
        session = self.sessions.get(request.headers.get("mcp-session-id", ""))
        if request.verb == "DELETE":
            self.sessions.pop(request.headers.get("mcp-session-id", ""), None)
            exchange.respond(200 if session else 404)
        elif session is None:
            exchange.respond(405)
        else:
            exchange.open_stream()
            return await self._pump(exchange, session[1])
        return True

    async def _post(self, exchange: Exchange, request: Request) -> bool:
        message = request.message = json.loads(request.body)
        planned = self.trouble.get(message.get("method", ""), [])
        happening = planned.pop(0) if planned else None
        if isinstance(happening, int):
            exchange.respond(happening, {"error": "trouble"}, Retry_After="0")
            return True
        if happening == "cut":
            self.server.report("cut", message=message)
            return False
        if self.deprecated:
            return self._old_post(exchange, request)
        modern = request.headers.get("mcp-protocol-version") == MODERN
        identity = request.headers.get("mcp-session-id", "")
        if not modern and message.get("method") == "initialize":
            identity = uuid.uuid4().hex
            self._new_session(identity)
        if not modern and identity not in self.sessions:
            exchange.respond(404 if identity else 400)
            return True
        session = Session(self.server, lambda _: None) if modern else self.sessions[identity][0]
        if "id" not in message or "method" not in message:
            session.take(message)
            exchange.respond(202)
            return True
        replies: asyncio.Queue[Message] = asyncio.Queue()
        task = session.take(message, replies.put_nowait)
        assert task
        if happening == "obey and cut":
            await task
            return False
        return await self._reply(exchange, session if modern else None, message["id"], replies, task, identity)

    async def _reply(
        self,
        exchange: Exchange,
        single: Session | None,
        identity: Any,
        replies: asyncio.Queue[Message],
        task: asyncio.Task[None],
        session_id: str,
    ) -> bool:
        headers = {"Mcp_Session_Id": session_id} if session_id else {}
        gone = asyncio.create_task(exchange.reader.read(1))
        streaming, keep = False, True
        getting = asyncio.create_task(replies.get())
        try:
            while True:
                await asyncio.wait({getting, gone}, return_when=asyncio.FIRST_COMPLETED)
                if not getting.done():
                    self.server.report("closed", id=identity)
                    if single:
                        task.cancel()
                    return False
                message = getting.result()
                final = message.get("id") == identity and "method" not in message
                if final and not streaming and not self.sse:
                    exchange.respond(200, message, **headers)
                    break
                if not streaming:
                    exchange.open_stream(**headers)
                    streaming = True
                exchange.event(json.dumps(message))
                await exchange.writer.drain()
                if final:
                    exchange.end_stream()
                    break
                getting = asyncio.create_task(replies.get())
        finally:
            getting.cancel()
            if single:
                self.server.sessions.discard(single)
            if not gone.done():
                gone.cancel()
                await asyncio.gather(gone, return_exceptions=True)
            else:
                keep = False
        return keep

    def _new_session(self, identity: str) -> asyncio.Queue[Message]:
        standing: asyncio.Queue[Message] = asyncio.Queue()
        self.sessions[identity] = (Session(self.server, standing.put_nowait), standing)
        return standing

    async def _pump(self, exchange: Exchange, messages: asyncio.Queue[Message]) -> bool:
        self.streams += 1
        try:
            while True:
                exchange.event(json.dumps(await messages.get()))
                await exchange.writer.drain()
        finally:
            self.streams -= 1

    async def _old_stream(self, exchange: Exchange) -> bool:
        identity = uuid.uuid4().hex
        messages = self._new_session(identity)
        exchange.open_stream()
        exchange.event(f"/messages?session={identity}", "endpoint")
        try:
            return await self._pump(exchange, messages)
        finally:
            self.sessions.pop(identity, None)

    def _old_post(self, exchange: Exchange, request: Request) -> bool:
        identity = request.path.partition("?session=")[2]
        if identity not in self.sessions:
            exchange.respond(405)
            return True
        self.sessions[identity][0].take(request.message)
        exchange.respond(202)
        return True
