"""A small MCP server on stdio without any library: what the smoke bench calls, directly and through the gateway.

Tools: echo(text), wait(ms), blob(n characters). It speaks the handshake era only.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

VERSION = "2025-11-25"
TOOLS = {
    "echo": ("Give back the text.", {"text": {"type": "string"}}),
    "wait": ("Answer after some milliseconds.", {"ms": {"type": "integer"}}),
    "blob": ("Answer with n characters.", {"n": {"type": "integer"}}),
}
LISTED = [
    {"name": name, "description": text, "inputSchema": {"type": "object", "properties": fields}}
    for name, (text, fields) in TOOLS.items()
]


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")) + "\n")
    sys.stdout.flush()


async def call(request_id: Any, name: str, arguments: dict[str, Any]) -> None:
    if name == "wait":
        await asyncio.sleep(arguments["ms"] / 1000)
        text = "waited"
    else:
        text = arguments["text"] if name == "echo" else "b" * arguments["n"]
    say({"id": request_id, "result": {"content": [{"type": "text", "text": text}]}})


def greeting() -> dict[str, Any]:
    return {
        "protocolVersion": VERSION,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "bench", "version": "1"},
    }


async def main() -> None:
    reader = asyncio.StreamReader(limit=1 << 26)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    running: set[asyncio.Task[None]] = set()
    while line := await reader.readline():
        message = json.loads(line)
        method, request_id, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method == "tools/call" and params["name"] in TOOLS:
            task = asyncio.create_task(call(request_id, params["name"], params.get("arguments") or {}))
            running.add(task)
            task.add_done_callback(running.discard)
        elif request_id is not None:
            known = {"initialize": greeting(), "tools/list": {"tools": LISTED}, "ping": {}}
            unknown = {"error": {"code": -32601, "message": "Method not found"}}
            say({"id": request_id, **({"result": known[method]} if method in known else unknown)})


if __name__ == "__main__":
    asyncio.run(main())
