from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.unit.gateway.fakes import settle
from tests.unit.gateway.gateways import World

from remora.gateway import connect


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


@pytest.fixture
async def world(tmp_path, monkeypatch) -> AsyncIterator[Any]:
    """Make a gateway with these servers (their config keys, by name) and start it; it is closed at the end."""
    made: list[World] = []

    async def make(servers: dict[str, Any], prepare: Any = None, **tables: Any) -> World:
        made.append(World(tmp_path, servers, **tables))
        monkeypatch.setattr(connect, "open_link", made[-1].open_link)
        if prepare is not None:
            prepare(made[-1])
        await made[-1].gateway.start()
        await settle()
        return made[-1]

    yield make
    for each in made:
        await each.gateway.close()
        await each.gateway.cache.close()
        await each.gateway.parts.workers.close()
