"""Backstage of the scripted upstreams: each connects here, reports what it does and takes orders.

Nothing is polled: a report wakes the test, and a process that ends (however it ends) is known by its closed connection.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Self

from tests.support.inbox import Inbox

UPSTREAM = Path(__file__).with_name("upstream.py")


class Control:
    def __init__(self) -> None:
        self.reports = Inbox()
        self._connections: dict[int, tuple[str, asyncio.StreamWriter]] = {}  # pid -> name and order line

    async def __aenter__(self) -> Self:
        self._folder = tempfile.mkdtemp(prefix="rc-")  # short: a socket path has at most 107 bytes
        self.path = f"{self._folder}/s"
        self._server = await asyncio.start_unix_server(self._serve, self.path, limit=2**26)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for _, writer in self._connections.values():
            writer.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pid = 0
        try:
            while line := await reader.readline():
                report = json.loads(line)
                if report["event"] == "start":
                    pid = report["pid"]
                    self._connections[pid] = (report["name"], writer)
                self.reports.add(report)
        except (ConnectionError, asyncio.CancelledError):
            pass  # a killed process resets its connection: the same news as its end
        finally:
            name = self._connections.pop(pid, ("", writer))[0]
            self.reports.add({"event": "end", "name": name, "pid": pid})
            writer.close()

    def server(self, name: str, *options: str, **fields: Any) -> dict[str, Any]:
        """A `[servers.NAME]` table that starts the scripted upstream, other config keys as keywords."""
        return {"command": sys.executable, "args": [str(UPSTREAM), name, "--control", self.path, *options], **fields}

    def alive(self, name: str = "") -> set[int]:
        """Ids of the processes running under `name` (all names without one)."""
        return {pid for pid, (owner, _) in self._connections.items() if name in ("", owner)}

    def seen(self, event: str, **fields: Any) -> list[dict[str, Any]]:
        return self.reports.find(_matcher(event, fields))

    async def until(self, event: str, *, count: int = 1, timeout: float = 15, **fields: Any) -> dict[str, Any]:
        """Wait for the `count`-th report of an event, e.g. `until("call", name="up", tool="echo")`."""
        return await self.reports.until(_matcher(event, fields), count, timeout)

    async def ended(self, *pids: int, timeout: float = 15) -> None:
        await self.reports.reached(lambda: not self._connections.keys() & set(pids), timeout)

    async def all_ended(self, timeout: float = 15) -> None:
        await self.reports.reached(lambda: not self._connections, timeout)

    async def tell(self, name: str, do: str, **fields: Any) -> None:
        """Give an order to every process running under `name`."""
        for owner, writer in list(self._connections.values()):
            if owner == name:
                writer.write(json.dumps({"do": do, **fields}).encode() + b"\n")
                await writer.drain()


def _matcher(event: str, fields: dict[str, Any]) -> Any:
    return lambda report: report["event"] == event and all(report.get(key) == value for key, value in fields.items())
