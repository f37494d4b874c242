"""The gateway under test: a home folder with its config file, and the two ways to start the product in it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import tomlkit
from tests.support.client import StdioClient
from tests.support.http_client import HttpClient

PROGRAM = [sys.executable, "-m", "remora"]
OWN_TOOLS = ("remora", "read_more", "feedback", "remember", "recall", "revise", "forget")


class Gateway:
    """A running `remora serve`."""

    def __init__(self, home: Home, process: asyncio.subprocess.Process) -> None:
        self.home, self.process = home, process
        self.url = json.loads((home.path / "run" / "daemon.json").read_text())["http_url"].rstrip("/")
        self.url = self.url if self.url.endswith("/mcp") else f"{self.url}/mcp"
        self.root = self.url.removesuffix("/mcp")
        self.token = (home.path / "run" / "token").read_text().strip()

    def client(self, query: str = "", **options: Any) -> HttpClient:
        return HttpClient(self.url + query, self.token, **options)

    async def stop(self, timeout: float = 20) -> int:
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        return await asyncio.wait_for(self.process.wait(), timeout)


class Home:
    def __init__(self, folder: Path) -> None:
        self.folder, self.path, self.cwd = folder, folder / "remora", folder / "work"
        self.path.mkdir(parents=True)
        self.cwd.mkdir()
        self.config = self.path / "config.toml"
        self.errors = folder / "stderr.log"

    def configure(self, servers: dict[str, Any], **sections: Any) -> None:
        """Write the config file whole, in one step, as an editor would. Lists are waited for only briefly."""
        sections.setdefault("http", {"port": 0})
        sections["catalog"] = {"first_list_wait_seconds": 5.0, "mode": "full", **sections.get("catalog", {})}
        document = {key: value for key, value in sections.items() if not isinstance(value, dict)}
        document |= {key: value for key, value in sections.items() if isinstance(value, dict)}
        draft = self.config.with_suffix(".draft")
        draft.write_text(tomlkit.dumps({**document, "servers": servers}))
        draft.replace(self.config)

    def env(self, **extra: str) -> dict[str, str]:
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("REMORA_", "CLAUDE"))}
        own = {"HOME": str(self.folder), "REMORA_HOME": str(self.path), "REMORA_DAEMON": "off", "PYTHONUTF8": "1"}
        return {**inherited, **own, **extra}

    def stdio(
        self, *args: str, env: dict[str, str] | None = None, cwd: Path | None = None, **options: Any
    ) -> StdioClient:
        """`remora mcp` as a client would start it; not yet opened."""
        command = [*PROGRAM, "mcp", *args]
        return StdioClient(command, env=self.env(**env or {}), cwd=cwd or self.cwd, errors=self.errors, **options)

    @asynccontextmanager
    async def serve(self, *args: str, env: dict[str, str] | None = None) -> AsyncIterator[Gateway]:
        """`remora serve`, ready to be spoken to."""
        with open(self.errors, "ab") as errors:  # noqa: ASYNC230
            process = await asyncio.create_subprocess_exec(
                *PROGRAM,
                "serve",
                *args,
                stdin=-3,
                stdout=errors,
                stderr=errors,
                env=self.env(**env or {}),
                cwd=self.cwd,
            )
        try:
            yield await self._ready(process)
        finally:
            if process.returncode is None:
                process.terminate()
                try:
                    await asyncio.wait_for(process.wait(), 20)
                except TimeoutError:
                    process.kill()
                    await process.wait()

    async def _ready(self, process: asyncio.subprocess.Process) -> Gateway:
        async with asyncio.timeout(20):
            while process.returncode is None:
                try:
                    gateway = Gateway(self, process)
                    host, port = gateway.root.removeprefix("http://").split("/")[0].split(":")
                    _, writer = await asyncio.open_connection(host, int(port))
                    writer.close()
                    return gateway
                except (OSError, ValueError, KeyError):
                    await asyncio.sleep(0.02)  # its run files are not there yet: nothing to wait on but time
        raise AssertionError(f"remora serve ended with {process.returncode}:\n{self.errors.read_text()[-2000:]}")

    async def cli(self, *args: str, env: dict[str, str] | None = None, stdin: bytes = b"") -> tuple[int, str, str]:
        """One command of the program: exit code, stdout, stderr."""
        process = await asyncio.create_subprocess_exec(
            *PROGRAM, *args, stdin=-1, stdout=-1, stderr=-1, env=self.env(**env or {}), cwd=self.cwd
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(stdin), 60)
        except TimeoutError:
            process.kill()
            raise
        return process.returncode or 0, out.decode(), err.decode()
