from __future__ import annotations

import asyncio

import pytest
from tests.unit.gateway.fakes import settle


class Clock:
    """The loop's time, which the test moves on: what would take minutes happens at once, and in order."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._real = self._loop.time
        self._ahead = 0.0
        self._loop.time = lambda: self._real() + self._ahead  # type: ignore[method-assign]

    def now(self) -> float:
        return self._loop.time()

    async def advance(self, seconds: float) -> None:
        await settle()
        self._ahead += seconds
        await settle()


@pytest.fixture
async def clock() -> Clock:
    return Clock()
