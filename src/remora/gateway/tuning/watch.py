"""The tuner at work beside the calls: takes back what made things worse, applies what is certain if it may."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from remora.errors import RemoraError
from remora.gateway.tuning.changes import DAY, Changes

if TYPE_CHECKING:
    from remora.config.load import Loaded
    from remora.storage.sqlite.state import StateDb

log = logging.getLogger(__name__)
PERIOD_SECONDS = 60.0


class Tuner:
    def __init__(self, state: StateDb, loaded: Callable[[], Loaded], flush: Callable[[], Awaitable[None]]) -> None:
        self._state = state
        self._loaded = loaded
        self._flush = flush

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(PERIOD_SECONDS)
            try:
                await self.once()
            except (RemoraError, OSError) as problem:
                log.warning("tuner: %s", problem)

    async def once(self) -> None:
        loaded = self._loaded()
        if not loaded.config.tuner.enabled or loaded.mode != "normal":
            return
        with _alone(loaded.paths.run / "jobs.lock") as alone:
            if not alone:
                return  # another engine of this home does it
            await self._flush()
            changes = Changes(self._state, loaded)
            for ended in await changes.guard():
                log.warning("tuner: %s/%s: %s made it worse, taken back", ended.server, ended.tool, ended.field)
            if loaded.config.tuner.auto_apply:
                for made in await changes.automatic(time.time() - DAY):
                    log.info("tuner: %s/%s: %s = %s: %s", made.server, made.tool, made.field, made.new, made.reason)


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[bool]:
    """Whether nobody else holds the lock; while the block runs, it is ours."""
    with open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True
