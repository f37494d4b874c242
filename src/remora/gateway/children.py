"""Child processes never outlive their engine: a watcher ends them at once, a ledger lets the next start make sure."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from remora.gateway.wire.process import Watcher, kill_group

log = logging.getLogger(__name__)


class Children:
    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger
        self._watcher = Watcher()
        self._mine: dict[int, str] = {}
        self._writing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, pid: int) -> None:
        self._watcher.add(pid)
        self._mine[pid] = started_at(pid) or ""
        self._write_soon()

    def remove(self, pid: int) -> None:
        self._watcher.remove(pid)
        self._mine.pop(pid, None)
        self._write_soon()

    async def end_orphans(self) -> None:
        """End what engines left behind that are no more."""
        await asyncio.to_thread(self._update, None)

    async def close(self) -> None:
        for task in list(self._tasks):
            await task
        self._mine.clear()
        await asyncio.to_thread(self._update, self._mine)
        await asyncio.to_thread(self._watcher.close)

    def _write_soon(self) -> None:
        async def write() -> None:
            async with self._writing:
                await asyncio.to_thread(self._update, dict(self._mine))

        task = asyncio.get_running_loop().create_task(write())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _update(self, mine: dict[int, str] | None) -> None:
        """Engines: {pid: {"started", "children": {pid: started}}}; the dead ones' children are ended here."""
        try:
            with _locked(self._ledger) as engines:
                for pid in [pid for pid, engine in engines.items() if not _alive(int(pid), engine.get("started"))]:
                    for child, started in engines.pop(pid).get("children", {}).items():
                        if _alive(int(child), started):
                            log.warning("ended process %s, left behind by engine %s", child, pid)
                            kill_group(int(child), signal.SIGKILL)
                me = os.getpid()
                if mine:
                    engines[str(me)] = {"started": started_at(me), "children": {str(k): v for k, v in mine.items()}}
                elif mine is not None:
                    engines.pop(str(me), None)
        except OSError as problem:
            log.warning("cannot write %s: %s", self._ledger, problem)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[dict[str, Any]]:
    import fcntl

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            engines = json.loads(file.read() or "{}")
        except ValueError:
            engines = {}
        engines = engines if isinstance(engines, dict) else {}
        before = json.dumps(engines)
        yield engines
        if (after := json.dumps(engines)) != before:
            file.seek(0)
            file.truncate()
            file.write(after)


def started_at(pid: int) -> str | None:
    """When a process began, in whatever unit the system has; None if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    if Path("/proc/self").exists():
        return None
    shown = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.strip() or None


def _alive(pid: int, started: Any) -> bool:
    now = started_at(pid)
    return now is not None and now == started
