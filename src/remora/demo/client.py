"""The smallest MCP client that is of use: requests over a pipe, in either era, answers matched by id."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from remora.demo.server import VERSIONS, Message

_NS = "io.modelcontextprotocol/"
_INFO = {"name": "remora-demo", "version": "1"}
_LINE_LIMIT = 64 << 20
PATIENCE_SECONDS = 10.0
ENVELOPE: Message = {
    f"{_NS}protocolVersion": VERSIONS["modern"],
    f"{_NS}clientInfo": _INFO,
    f"{_NS}clientCapabilities": {},
}


class Failed(Exception):
    """A JSON-RPC error."""


class Client:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.progress: list[str] = []
        """What `notifications/progress` said, in order."""
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._count = 0

    async def initialize(self) -> Message:
        """Begin a session of the handshake era."""
        hello = {"protocolVersion": VERSIONS["handshake"], "capabilities": {}, "clientInfo": _INFO}
        said = await self.request("initialize", hello)
        self._send({"method": "notifications/initialized"})
        return said

    async def request(self, method: str, params: Message | None = None, *, modern: bool = False) -> Message:
        self._count += 1
        number = self._count
        if modern:
            params = {**(params or {}), "_meta": {**(params or {}).get("_meta", {}), **ENVELOPE}}
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._send({"id": number, "method": method, "params": params or {}})
        message = await answer
        if "error" in message:
            raise Failed(message["error"]["message"])
        result: Message = message["result"]
        return result

    async def call(self, name: str, arguments: Message | None = None, *, modern: bool = False) -> Message:
        params = {"name": name, "arguments": arguments or {}, "_meta": {"progressToken": name}}
        return await self.request("tools/call", params, modern=modern)

    def _send(self, message: Message) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n")

    async def read(self) -> None:
        """Hand out answers until the other side goes."""
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            message = json.loads(line)
            if message.get("method") == "notifications/progress":
                told = message["params"]
                self.progress.append(f"{told['progress']}/{told['total']} {told['message']}")
            elif (waiting := self._waiting.pop(message.get("id"), None)) and not waiting.done():
                waiting.set_result(message)
        for waiting in self._waiting.values():
            waiting.set_exception(Failed("the server has gone"))


@contextlib.asynccontextmanager
async def connected(command: Sequence[str], env: Mapping[str, str], cwd: str) -> AsyncIterator[Client]:
    """A client of a program, which is started for it and ends with it."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=dict(env),
        cwd=cwd,
        limit=_LINE_LIMIT,
    )
    client = Client(process)
    reading = asyncio.get_running_loop().create_task(client.read())
    try:
        yield client
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), PATIENCE_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
        await reading


def text_of(result: Message) -> str:
    """The text of a tool's result."""
    found: list[Any] = [item.get("text", "") for item in result.get("content", ()) if item.get("type") == "text"]
    return "\n".join(found)
