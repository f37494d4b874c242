"""How many calls run at one time, and who waits: first come, first served."""

from __future__ import annotations

import asyncio
from collections import deque

from remora.errors import Busy

QUEUE_LIMIT = 256


class Slots:
    def __init__(self, limit: int) -> None:
        self.limit = limit  # 0 = no limit
        self._active = 0
        self._queue: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        if not self.limit or (self._active < self.limit and not self._queue):
            self._active += 1
            return
        if len(self._queue) >= QUEUE_LIMIT:
            raise Busy(f"{self._active} calls are in flight and {QUEUE_LIMIT} are waiting")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            elif turn in self._queue:
                self._queue.remove(turn)
            raise

    def leave(self) -> None:
        """Let in who waits longest; several if the limit was raised, nobody if it was lowered."""
        self._active -= 1
        while self._queue and (not self.limit or self._active < self.limit):
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                self._active += 1
