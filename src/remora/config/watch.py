"""Takes up changes of the configuration file while we run; what does not validate changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from remora.config.files import Stamp, stamp
from remora.config.keys import flatten
from remora.config.load import Loaded, remember_good
from remora.config.model import Config
from remora.config.outline import dotted
from remora.config.problems import InvalidConfig, Problem
from remora.errors import ConfigError

RESTART_KEYS = frozenset({"http.enabled", "http.host", "http.port"}) | {
    f"embedding.{key}" for key in ("provider", "model", "url", "path", "api_key")
}


@dataclass(frozen=True, slots=True)
class Reload:
    """One reading of a changed file. With problems, `loaded` is what was in force before and stays so."""

    loaded: Loaded
    problems: tuple[Problem, ...] = ()
    changed: tuple[str, ...] = ()
    needs_restart: tuple[str, ...] = ()
    """Changed keys that take effect at the next start only."""


class Watcher:
    """Polls the file. `read` loads everything anew and raises for an invalid file; `tell` gets each outcome.

    `loaded` is always the configuration in force.
    """

    def __init__(
        self,
        loaded: Loaded,
        read: Callable[[], Loaded],
        tell: Callable[[Reload], Awaitable[None]],
        interval: float = 1.0,
    ) -> None:
        self.loaded = loaded
        self._read = read
        self._tell = tell
        self._interval = interval
        self._nudged = asyncio.Event()
        self._seen = stamp(loaded.path)
        self._gone = False

    def nudge(self) -> None:
        """Read the file now, changed or not."""
        self._nudged.set()

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            try:
                await asyncio.wait_for(self._nudged.wait(), self._interval)
            except TimeoutError:
                pass
            await self.look()

    async def look(self) -> None:
        """Read the file if it changed or somebody asked."""
        nudged, now = self._nudged.is_set(), stamp(self.loaded.path)
        self._nudged.clear()
        if not nudged and (now == self._seen or self._just_gone(now)):
            return
        self._seen, self._gone = now, False
        await self._tell(await self._reload())

    def _just_gone(self, now: Stamp | None) -> bool:
        """Editors replace a file by moving it away first: only a file that stays away is gone."""
        waiting = now is None and not self._gone
        self._gone = now is None
        return waiting

    async def _reload(self) -> Reload:
        before = self.loaded
        try:
            # Off the loop: a call in flight must not wait for a disk.
            self.loaded = await asyncio.to_thread(lambda: remember_good(self._read()))
        except InvalidConfig as invalid:
            return Reload(before, invalid.problems)
        except ConfigError as failure:
            return Reload(before, (Problem(str(before.path), None, "", str(failure)),))
        changed = changed_keys(before.config, self.loaded.config)
        return Reload(self.loaded, (), changed, tuple(key for key in changed if key in RESTART_KEYS))


def changed_keys(before: Config, after: Config) -> tuple[str, ...]:
    """The keys whose effective values differ; keys of servers that came or went included."""
    old, new = dict(flatten(before.model_dump())), dict(flatten(after.model_dump()))
    absent = object()
    return tuple(dotted(path) for path in {**new, **old} if new.get(path, absent) != old.get(path, absent))
