from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.gateway.fakes import FakeFront, settle

from remora.gateway.cache.flight import TOKEN, Flight


class Server:
    """Answers when told to; knows what it was asked, and by whom."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.asked: list[Any] = []
        self.front: Any = None

    async def __call__(self, front: Any, params: Any) -> Any:
        self.front = front
        self.asked.append(params)
        return await self.answer


async def test_one_request_for_all_and_progress_for_those_who_want_it() -> None:
    server = Server()
    one, two = FakeFront(), FakeFront()
    params = {"name": "x", "_meta": {"progressToken": "mine", "k": 1}}
    flight = Flight(one, params, server)
    joined = [asyncio.create_task(flight.join(one, params)), asyncio.create_task(flight.join(two, {"name": "x"}))]
    await settle()
    assert server.asked == [{"name": "x", "_meta": {"progressToken": TOKEN, "k": 1}}]
    server.front.notify("notifications/progress", {"progressToken": TOKEN, "progress": 1})
    server.front.notify("notifications/message", {"level": "info"})
    assert one.notified == [
        ("notifications/progress", {"progressToken": "mine", "progress": 1}),
        ("notifications/message", {"level": "info"})
    ]  # fmt: skip
    assert two.notified == [("notifications/message", {"level": "info"})]
    server.answer.set_result({"content": []})
    assert await asyncio.gather(*joined) == [{"content": []}] * 2


async def test_it_is_cancelled_when_the_last_caller_has_gone() -> None:
    server = Server()
    front = FakeFront()
    flight = Flight(front, {}, server)
    one, two = (asyncio.create_task(flight.join(front, {})) for _ in range(2))
    await settle()
    one.cancel()
    await settle()
    assert not flight.task.done()
    two.cancel()
    await settle()
    assert flight.task.cancelled()


async def test_a_failure_is_shared() -> None:
    server = Server()
    front = FakeFront()
    flight = Flight(front, {}, server)
    server.answer.set_exception(KeyError("broken"))
    for _ in range(2):
        with pytest.raises(KeyError, match="broken"):
            await flight.join(front, {})
