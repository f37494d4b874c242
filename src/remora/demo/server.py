"""A complete MCP server in one page of standard library: one line in, one line out, a thread for each call."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

Message = dict[str, Any]
Progress = Callable[[int, int, str], None]
Era = Literal["handshake", "modern"]

PID_KEY = "remora-demo/pid"
"""In the `_meta` of every tool result: which process answered."""
VERSIONS: Mapping[Era, str] = {"handshake": "2025-11-25", "modern": "2026-07-28"}
_NS = "io.modelcontextprotocol/"


class ToolError(Exception):
    """The tool ran and failed: the agent gets the text."""


@dataclass(frozen=True, slots=True)
class Tool:
    definition: Message
    run: Callable[[Message, Progress], Message]
    """Arguments in, structured content out."""


class _Refused(Exception):
    def __init__(self, code: int, message: str, data: Any = None) -> None:
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


class Server:
    """Speaks one protocol era and refuses the other, as most servers do."""

    def __init__(self, name: str, era: Era, instructions: str, tools: list[Tool]) -> None:
        self._info = {"name": name, "version": "1"}
        self._era = era
        self._instructions = instructions
        self._tools = {tool.definition["name"]: tool for tool in tools}
        self._out: BinaryIO = sys.stdout.buffer
        self._writing = threading.Lock()

    def serve(self, lines: BinaryIO, out: BinaryIO) -> None:
        """Until end of input."""
        self._out = out
        for line in lines:
            message = json.loads(line)
            if "id" in message and "method" in message:
                threading.Thread(target=self._answer, args=(message,), daemon=True).start()

    def _answer(self, message: Message) -> None:
        reply: Message = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = self._result(message["method"], message.get("params") or {})
        except _Refused as refused:
            reply["error"] = refused.error
        self._send(reply)

    def _send(self, message: Message) -> None:
        with self._writing:
            self._out.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
            self._out.flush()

    def _result(self, method: str, params: Message) -> Message:
        if self._era == "modern":
            self._check_envelope(params)
        match method, self._era:
            case "initialize", "handshake":
                return {"protocolVersion": VERSIONS["handshake"], "serverInfo": self._info, **self._offer()}
            case "server/discover", "modern":
                return self._stamped({"supportedVersions": [VERSIONS["modern"]], **self._offer()}, listed=True)
            case "ping", "handshake":
                return {}
            case "tools/list", _:
                return self._stamped({"tools": [tool.definition for tool in self._tools.values()]}, listed=True)
            case "tools/call", _:
                return self._stamped(self._call(params), listed=False)
        raise _Refused(-32601, f"Method not found: {method}")

    def _offer(self) -> Message:
        return {"capabilities": {"tools": {}}, "instructions": self._instructions}

    def _check_envelope(self, params: Message) -> None:
        asked = (params.get("_meta") or {}).get(f"{_NS}protocolVersion")
        if asked != VERSIONS["modern"]:
            data = {"supported": [VERSIONS["modern"]], "requested": asked}
            raise _Refused(-32022, "Unsupported protocol version", data)

    def _stamped(self, result: Message, *, listed: bool) -> Message:
        """What the modern era adds to every result."""
        if self._era == "handshake":
            return result
        keep = {"ttlMs": 60_000, "cacheScope": "private"} if listed else {}
        meta = {**result.get("_meta", {}), f"{_NS}serverInfo": self._info}
        return {**result, "resultType": "complete", **keep, "_meta": meta}

    def _call(self, params: Message) -> Message:
        tool = self._tools.get(params.get("name", ""))
        if tool is None:
            raise _Refused(-32602, f"Unknown tool: {params.get('name')}")
        token = (params.get("_meta") or {}).get("progressToken")

        def progress(done: int, total: int, message: str) -> None:
            if token is not None:
                told = {"progressToken": token, "progress": done, "total": total, "message": message}
                self._send({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})

        stamp = {"_meta": {PID_KEY: os.getpid()}}
        try:
            found = tool.run(params.get("arguments") or {}, progress)
        except ToolError as problem:
            return {"content": [{"type": "text", "text": str(problem)}], "isError": True, **stamp}
        text = json.dumps(found, ensure_ascii=False)
        return {"content": [{"type": "text", "text": text}], "structuredContent": found, **stamp}


def schema(required: Message | None = None, **optional: Message) -> Message:
    """An object with these properties."""
    made: Message = {"type": "object", "properties": {**(required or {}), **optional}}
    return made | ({"required": list(required)} if required else {})


def run(server: Server) -> None:
    """Serve the pipes this process was started with."""
    try:
        server.serve(sys.stdin.buffer, sys.stdout.buffer)
    finally:
        os._exit(0)  # at once: a call may still be running, and nobody waits for its answer any more
