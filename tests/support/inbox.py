"""Things that arrive, in order, and a way to wait for one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


class Inbox:
    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self._news = asyncio.Event()

    def add(self, item: dict[str, Any]) -> None:
        self.items.append(item)
        self.wake()

    def wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def find(self, wanted: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        return [item for item in self.items if wanted(item)]

    async def until(
        self, wanted: Callable[[dict[str, Any]], bool], count: int = 1, timeout: float = 15
    ) -> dict[str, Any]:
        """The `count`-th item that `wanted` accepts."""
        await self.reached(lambda: len(self.find(wanted)) >= count, timeout)
        return self.find(wanted)[count - 1]

    async def reached(self, condition: Callable[[], bool], timeout: float = 15) -> None:
        """Wait until `condition` holds; it is looked at again after each arrival."""
        try:
            async with asyncio.timeout(timeout):
                while not condition():
                    await self._news.wait()
        except TimeoutError:
            tail = "\n  ".join(str(item)[:300] for item in self.items[-15:])
            raise AssertionError(f"not within {timeout} s; the last that came:\n  {tail}") from None
