from __future__ import annotations

import asyncio

import pytest
from tests.unit.gateway.fakes import settle

from remora.errors import Busy
from remora.gateway.slots import QUEUE_LIMIT, Slots


class Users:
    """Tasks that enter, and in which order they got in."""

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self.inside: list[int] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def come(self, count: int) -> None:
        async def enter(number: int) -> None:
            await self.slots.enter()
            self.inside.append(number)

        self.tasks += [asyncio.create_task(enter(len(self.tasks) + at)) for at in range(count)]
        await settle()

    async def leave(self) -> None:
        self.slots.leave()
        await settle()


async def test_first_come_first_served():
    users = Users(Slots(2))
    await users.come(5)
    assert users.inside == [0, 1]
    await users.leave()
    await users.come(1)
    for _ in range(3):
        await users.leave()
    assert users.inside == [0, 1, 2, 3, 4, 5]
    for _ in range(2):
        await users.leave()
    await users.come(1)
    assert users.inside[-1] == 6


async def test_who_gives_up_loses_its_place_to_the_next():
    users = Users(Slots(1))
    await users.come(4)
    users.tasks[1].cancel()
    await users.leave()
    assert users.inside == [0, 2]
    users.slots.leave()  # 3 has its turn, and gives up before it runs
    users.tasks[3].cancel()
    await users.come(1)
    assert users.inside == [0, 2, 4]
    assert [task.cancelled() for task in users.tasks] == [False, True, False, True, False]


async def test_the_queue_has_an_end_that_who_gave_up_does_not_fill():
    users = Users(Slots(1))
    await users.come(QUEUE_LIMIT + 1)
    with pytest.raises(Busy, match="256 are waiting"):
        await users.slots.enter()
    for task in users.tasks[1:]:
        task.cancel()
    await users.come(1)
    await users.leave()
    assert users.inside == [0, QUEUE_LIMIT + 1]


async def test_no_limit_lets_everyone_in():
    users = Users(Slots(0))
    await users.come(300)
    assert len(users.inside) == 300


async def test_a_new_limit_holds_for_those_who_wait_already():
    users = Users(Slots(1))
    await users.come(6)
    users.slots.limit = 3
    await users.leave()
    assert users.inside == [0, 1, 2, 3]
    users.slots.limit = 1
    await users.leave()
    await users.leave()
    assert users.inside == [0, 1, 2, 3]
    await users.leave()
    assert users.inside == [0, 1, 2, 3, 4]
    users.slots.limit = 0
    await users.leave()
    assert len(users.inside) == 6
