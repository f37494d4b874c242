"""A raw MCP client on the pipes of a program, with any number of requests in flight."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

NAMESPACE = "io.modelcontextprotocol/"
CLIENT = {"name": "bench", "version": "1"}
ENVELOPE = {
    f"{NAMESPACE}protocolVersion": "2026-07-28",
    f"{NAMESPACE}clientInfo": CLIENT,
    f"{NAMESPACE}clientCapabilities": {},
}
LONGEST_LINE = 1 << 27
SECONDS = 30.0


class WrongReply(Exception):
    pass


class Pipe:
    def __init__(self, process: asyncio.subprocess.Process, modern: bool) -> None:
        assert process.stdin is not None
        self._process = process
        self._stdin = process.stdin
        self._modern = modern
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._count = 0
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def to(cls, command: Sequence[str], environ: Mapping[str, str], modern: bool) -> Pipe:
        made = await asyncio.create_subprocess_exec(
            *command, stdin=-1, stdout=-1, stderr=asyncio.subprocess.DEVNULL, limit=LONGEST_LINE, env=environ
        )
        return cls(made, modern)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            message = json.loads(line)
            waiting = self._waiting.pop(message.get("id"), None) if "method" not in message else None
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(WrongReply("the program ended"))

    def _write(self, message: dict[str, Any]) -> None:
        self._stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if self._reading.done():
            raise WrongReply("the program ended")
        self._count += 1
        answer = self._waiting[self._count] = asyncio.get_running_loop().create_future()
        sent = {**params, "_meta": ENVELOPE} if self._modern else params
        self._write({"id": self._count, "method": method, "params": sent})
        message = await asyncio.wait_for(answer, SECONDS)
        if "result" not in message:
            raise WrongReply(f"{method}: {json.dumps(message)[:200]}")
        return message["result"]

    async def greet(self) -> None:
        if self._modern:
            await self.request("server/discover", {})
            return
        await self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT})
        self._write({"method": "notifications/initialized"})

    async def call(self, tool: str, arguments: dict[str, Any], expected: str) -> None:
        result = await self.request("tools/call", {"name": tool, "arguments": arguments})
        text = "".join(item.get("text", "") for item in result["content"])
        if result.get("isError") or text != expected:
            raise WrongReply(f"{tool}: {text[:80]!r} ({len(text)}) instead of {expected[:80]!r} ({len(expected)})")

    async def close(self) -> None:
        self._stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), 10)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        await self._reading
