"""The socket and the server process around the ASGI application."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import uvicorn

from remora.app import App, new_token
from remora.config.load import Loaded, Surroundings
from remora.doors.http.app import HttpApp
from remora.doors.mcp.http import McpDoor
from remora.doors.policy import LOOPBACK, Policy
from remora.errors import ConfigError, UnavailableError

GRACE_SECONDS = 10


class HttpServer:
    """Bound before anything slow happens, so that a busy port is told at once."""

    def __init__(self, bound: socket.socket, host: str, around: Surroundings) -> None:
        self._socket = bound
        self._host = host
        self._around = around
        self.port: int = bound.getsockname()[1]

    @classmethod
    def bind(cls, loaded: Loaded, around: Surroundings) -> HttpServer:
        http = loaded.config.http
        if http.host not in LOOPBACK:
            # Logins other than the local token do not exist yet, so nothing but loopback can be safe.
            raise ConfigError(
                f'http.host = "{http.host}" is not loopback: that needs a login method beside the local token'
            )
        family = socket.AF_INET6 if ":" in http.host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((http.host.strip("[]"), http.port))
        except OSError as problem:
            bound.close()
            raise UnavailableError(
                f"cannot bind {http.host}:{http.port} ({problem.strerror}): set another http.port"
            ) from problem
        return cls(bound, http.host, around)

    @property
    def url(self) -> str:
        host = f"[{self._host}]" if self._host == "::1" else self._host
        return f"http://{host}:{self.port}"

    @contextlib.asynccontextmanager
    async def running(self, app: App, stopped: asyncio.Event) -> AsyncIterator[None]:
        """Serving. At the end calls in flight may finish; if the server ends by itself, `stopped` is set."""
        token = self._around.token or new_token(app.paths)
        door = McpDoor(app.gateway)
        application = HttpApp(
            door,
            lambda: app.gateway.config.http,
            lambda: Policy(token, app.gateway.config.auth.anonymous, self._host),
            lambda: self.port,
            Path(self._around.variables.get("HOME") or Path.home()),
        )
        settings = uvicorn.Config(
            application, http="httptools", ws="none", lifespan="off", log_config=None, access_log=False,
            server_header=False, timeout_graceful_shutdown=GRACE_SECONDS, timeout_keep_alive=75,
        )  # fmt: skip
        server = _Server(settings)
        serving = asyncio.get_running_loop().create_task(server.serve(sockets=[self._socket]))
        sweeping = asyncio.get_running_loop().create_task(door.sweep(lambda: app.gateway.config.http))
        serving.add_done_callback(lambda _: stopped.set())
        try:
            yield
        finally:
            sweeping.cancel()
            app.gateway.listeners.close()
            door.end_standing()
            server.should_exit = True
            await serving
            await door.close()


class _Server(uvicorn.Server):
    """Signals are ours to handle."""

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        yield
