"""Running the gateway behind a door until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

from remora import __version__
from remora.app import App, opened, watcher
from remora.config.load import Loaded, Surroundings, load
from remora.config.project import project_root
from remora.errors import ConfigError
from remora.gateway.session import ViewKey

log = logging.getLogger(__name__)
GRACE_SECONDS = 10.0


def view_key(around: Surroundings, profile: str, project: str, catalog: str, cwd: Path | None) -> ViewKey:
    """What a session on this machine sees: flags over environment over the working directory."""
    home = Path(around.variables.get("HOME") or Path.home())
    chosen = project or around.project
    start = Path(chosen).expanduser() if chosen else cwd
    root = project_root(start, home) if start is not None else None
    return ViewKey(profile or around.profile, root, catalog)


async def serve_stdio(loaded: Loaded, around: Surroundings, view: ViewKey, pipes: tuple[int, int]) -> int:
    """The engine in this process, MCP on the pipes, until end of input or a signal."""
    from remora.doors.mcp.stdio import StdioDoor

    ended = asyncio.Event()
    with _on_signals(ended.set):
        async with opened(loaded, around.variables) as app:
            door = StdioDoor(app.gateway, view, around.session, ended)
            async with _background(_reloading(app, loaded, around)):
                await door.serve(*pipes)
    return 0


async def serve_http(loaded: Loaded, around: Surroundings, announce: Callable[[str], None]) -> int:
    """The engine in this process, MCP at http://HOST:PORT/mcp, in the foreground."""
    from remora.doors.http.server import HttpServer

    server = HttpServer.bind(loaded, around)
    stopped = asyncio.Event()
    with _on_signals(stopped.set):
        async with opened(loaded, around.variables, (f"{server.url}/mcp",)) as app, server.running(app, stopped):
            with _run_file(app.paths.run / "daemon.json", _describe(app, server.url)):
                async with _background(_reloading(app, loaded, around)):
                    announce(server.url)
                    await stopped.wait()
    return 0


def _describe(app: App, url: str) -> dict[str, Any]:
    from remora.gateway.children import started_at

    pid = os.getpid()
    return {"pid": pid, "start_time": started_at(pid), "version": __version__, "http_url": url, "started_by": "serve",
            "started_at": time.time()}  # fmt: skip


@contextlib.contextmanager
def _run_file(path: Path, content: dict[str, Any]) -> Iterator[None]:
    from remora.config.files import write_private

    write_private(path, json.dumps(content))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def single_engine(run: Path) -> Iterator[dict[str, Any] | None]:
    """The lock of the one engine that serves this home; what the holder says of itself if it is not us."""
    import fcntl

    run.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(os.open(run / "daemon.lock", os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield running_engine(run) or {"pid": None, "http_url": None}
            return
        yield None


def running_engine(run: Path) -> dict[str, Any] | None:
    """What a live `remora serve` of this home says of itself."""
    from remora.gateway.children import started_at

    try:
        said = json.loads((run / "daemon.json").read_text())
        return said if started_at(said["pid"]) == said["start_time"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


async def _reloading(app: App, loaded: Loaded, around: Surroundings) -> None:
    """Follow the config file, and SIGHUP."""
    watch = watcher(app, lambda: load(loaded.paths.home, loaded.path, environ=around.variables))
    loop = asyncio.get_running_loop()
    if hasattr(signal, "SIGHUP"):
        loop.add_signal_handler(signal.SIGHUP, watch.nudge)
    await asyncio.gather(watch.run(), _watch_projects(app))


async def _watch_projects(app: App) -> None:
    """Project files of open sessions are followed like the config file."""
    while True:
        await asyncio.sleep(1.0)
        app.gateway.reread_projects()


@contextlib.asynccontextmanager
async def _background(work: Any) -> AsyncIterator[None]:
    task = asyncio.get_running_loop().create_task(_supervised(work))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _supervised(work: Any) -> None:
    try:
        await work
    except Exception:  # root of a background task: it may not end the gateway
        log.exception("a background task ended")


@contextlib.contextmanager
def _on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """The first signal ends in good order, the second at once."""
    loop = asyncio.get_running_loop()
    asked = False

    def handle() -> None:
        nonlocal asked
        if asked:
            os._exit(130)
        asked = True
        stop()

    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, handle)
    try:
        yield
    finally:
        for sign in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(sign)


def main_stdio(loaded: Loaded, around: Surroundings, view: ViewKey) -> int:
    """From the command line: take the pipes, run, give back the exit code."""
    from remora.doors.mcp.stdio import take_stdio
    from remora.telemetry.logs import setup_logging

    pipes = take_stdio()
    setup_logging(loaded.paths.logs, loaded.config.log_level, stderr=True)
    for warning in loaded.warnings:
        log.warning("%s", warning)
    try:
        return asyncio.run(serve_stdio(loaded, around, view, pipes))
    except ConfigError as problem:
        print(f"remora: {problem}", file=sys.stderr)
        return problem.exit_code


def main_http(loaded: Loaded, around: Surroundings, announce: Callable[[str], None]) -> int:
    from remora.telemetry.logs import setup_logging

    with single_engine(loaded.paths.run) as other:
        if other is not None:
            print(f"remora: already running (pid {other['pid']}, {other['http_url']})", file=sys.stderr)
            return 5
        setup_logging(loaded.paths.logs, loaded.config.log_level, stderr=True)
        for warning in loaded.warnings:
            log.warning("%s", warning)
        return asyncio.run(serve_http(loaded, around, announce))
