#!/usr/bin/env python3
"""A scripted MCP server for tests, without any SDK: `upstream.py NAME [options]` speaks stdio, http_upstream.py HTTP.

With `--control SOCKET` it reports each start, message, call and cancellation there and takes orders (see control.py).
Its tools do what their names say: most misbehave on purpose. Standard library only, so that it starts fast.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[2])  # started as a script, by a gateway that knows nothing of this package

from tests.support import scripted_tools  # noqa: F401  (registers the tools)
from tests.support.scripted_server import Message, Server, Session


def options(argv: Iterable[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--control", default="")
    parser.add_argument("--era", choices=["handshake", "modern", "dual"], default="handshake")
    parser.add_argument("--version", default="2025-11-25", help="newest handshake revision it speaks")
    parser.add_argument("--start", choices=["normal", "hang", "die", "wait"], default="normal", help="wait: until `go`")
    parser.add_argument("--unless", default="", help="dies at start as long as this file does not exist")
    parser.add_argument("--probe", choices=["normal", "silent", "late"], default="normal", help="server/discover")
    parser.add_argument("--babble", action="store_true", help="prints lines that are no JSON between its messages")
    parser.add_argument("--stubborn", action="store_true", help="ignores end of input and SIGTERM")
    parser.add_argument("--child", action="store_true", help="has a child process of its own, NAME-child")
    parser.add_argument("--extra", type=int, default=0, help="that many more tools")
    parser.add_argument("--page", type=int, default=0, help="entries per page of a list")
    parser.add_argument("--endless", action="store_true", help="its tool list never ends: every page names a next one")
    parser.add_argument("--resource", action="append", default=[], help="one more resource with this URI")
    parser.add_argument("--instructions", default="")
    parser.add_argument("--broken-header", action="store_true", help="one tool with an invalid x-mcp-header")
    return parser.parse_args(list(argv))


def dead_at_start(given: argparse.Namespace) -> bool:
    return given.start == "die" or bool(given.unless and not Path(given.unless).exists())


class Stdio:
    """The process around a Server: stdin, stdout, the control socket, its bad manners."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.socket = socket.socket(socket.AF_UNIX) if given.control else None

    def connect(self) -> None:
        if self.socket:
            self.socket.connect(self.given.control)
            self.tell({"event": "start", "name": self.given.name, "pid": os.getpid(), "cwd": os.getcwd()})

    def tell(self, report: Message) -> None:
        if self.socket:
            try:
                self.socket.sendall(json.dumps(report).encode() + b"\n")  # blocking: it arrives whatever comes next
            except OSError:
                os._exit(0)  # the test is over

    def orders(self) -> Iterable[Message]:
        """Orders that have come; the end of the connection is the end of the test."""
        assert self.socket
        self.pending = getattr(self, "pending", b"") + (chunk := self.socket.recv(65536))
        if not chunk:
            os._exit(0)
        *lines, self.pending = self.pending.split(b"\n")
        return [json.loads(line) for line in lines]

    def send(self, message: Message) -> None:
        if self.given.babble:
            sys.stdout.buffer.write(b"listening on port 3000...\n\n{not json}\n\xff\xfe\n")
        sys.stdout.buffer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        sys.stdout.buffer.flush()

    async def run(self) -> None:
        loop, server = asyncio.get_running_loop(), Server(self.given)
        server.listeners.append(self.tell)
        session, reader = Session(server, self.send), asyncio.StreamReader(limit=2**27)
        if self.socket:
            loop.add_reader(self.socket, lambda: [server.obey(order) for order in self.orders()])
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            session.take(json.loads(line))
        server.report("eof")
        if self.given.stubborn:
            await asyncio.Event().wait()


def main() -> None:
    given = options(sys.argv[1:])
    outside = Stdio(given)
    outside.connect()
    if given.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if given.child:
        control = ["--control", given.control] if given.control else []
        subprocess.Popen([sys.executable, __file__, f"{given.name}-child", *control, "--start", "hang", "--stubborn"])
    if dead_at_start(given):
        sys.exit(f"{given.name}: cannot start")
    while given.start == "hang":
        outside.orders() if outside.socket else signal.pause()
    while given.start == "wait" and not any(order["do"] == "go" for order in outside.orders()):
        pass
    if given.babble:
        print("Welcome! This server prints to stdout.", flush=True)
    asyncio.run(outside.run())


if __name__ == "__main__":
    main()
