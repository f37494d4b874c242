from __future__ import annotations

import asyncio

import pytest
from tests.unit.gateway.fakes import MODERN, FakeFront, settle

from remora.errors import OutcomeUnknown, RpcError
from remora.gateway import parked
from remora.gateway.parked import Parked, ParkingLot
from remora.gateway.session import Principal, Session


class Place:
    """A call that is parked: what the server asks of it, and how it is taken up again."""

    def __init__(self, lot=None, server="up"):
        self.lot = lot or ParkingLot()
        self.front = FakeFront(MODERN)
        self.call = Parked(server, "tools/call", "up__t", "local", self.front)
        self.answers = []
        self.end = asyncio.Event()

    async def ask(self, *methods):
        """The work: ask all at once, then end with the answers."""
        self.answers = await asyncio.gather(*(self.call.ask(method, {"of": method}) for method in methods))
        return {"answers": self.answers}, False

    def run(self, work):
        return self.lot.run(self.call, work)

    async def resume(self, front=None, target="up__t", server="up", **params):
        return await asyncio.wait_for(
            self.lot.resume(front or self.front, server, "tools/call", target, params), timeout=5
        )


async def test_work_that_asks_nothing_is_not_parked():
    place = Place()

    async def work():
        return {"done": 1}, False

    assert await place.run(work()) == ({"done": 1}, False)
    assert not place.lot._parked


async def test_a_question_goes_to_the_client_and_its_answer_to_the_server():
    place = Place()
    asked = await place.run(place.ask("elicitation/create"))
    (key,) = asked["inputRequests"]
    assert asked["resultType"] == "input_required"
    assert asked["inputRequests"][key] == {"method": "elicitation/create", "params": {"of": "elicitation/create"}}
    assert asked["requestState"].startswith("remora.")
    done = await place.resume(requestState=asked["requestState"], inputResponses={key: {"action": "accept"}})
    assert done == ({"answers": [{"action": "accept"}]}, False)
    assert not place.lot._parked


async def test_what_is_left_unanswered_is_asked_again_under_a_new_state():
    place = Place()
    asked = await place.run(place.ask("roots/list", "elicitation/create"))
    first, second = asked["inputRequests"]
    answers = {first: {"n": 1}, "unknown": {}, second: "no object"}
    again = await place.resume(requestState=asked["requestState"], inputResponses=answers)
    assert list(again["inputRequests"]) == [second]
    assert again["requestState"] != asked["requestState"]
    again = await place.resume(requestState=again["requestState"], inputResponses=None)
    done = await place.resume(requestState=again["requestState"], inputResponses={second: {"n": 2}})
    assert done == ({"answers": [{"n": 1}, {"n": 2}]}, False)


async def test_a_state_is_good_once_and_for_its_own_call():
    place = Place()
    asked = await place.run(place.ask("roots/list"))
    state = asked["requestState"]
    stranger = FakeFront(MODERN, Session("http", Principal("eve", "write")))
    for foreign in (
        {"requestState": f"{state}x"},
        {"requestState": ["x"]},
        {"requestState": state, "target": "up__other"},
        {"requestState": state, "server": "other"},
        {"requestState": state, "front": stranger},
    ):
        with pytest.raises(RpcError, match="unknown or has expired") as refused:
            await place.resume(**foreign)
        assert refused.value.code == -32602
    await place.resume(requestState=state, inputResponses={next(iter(asked["inputRequests"])): {}})
    with pytest.raises(RpcError):
        await place.resume(requestState=state)


async def test_who_takes_a_call_up_gets_what_comes_of_it():
    place, later = Place(), FakeFront(MODERN)
    asked = await place.run(place.ask("roots/list"))
    await place.resume(front=later, requestState=asked["requestState"], inputResponses={})
    assert place.call.front is later
    place.lot.close()


async def test_a_call_that_failed_meanwhile_says_so():
    place = Place()
    failing = asyncio.Event()

    async def work():
        asking = asyncio.create_task(place.call.ask("roots/list", {}))
        await failing.wait()
        asking.cancel()
        raise OutcomeUnknown("the server ended")

    asked = await place.run(work())
    failing.set()
    await settle()
    with pytest.raises(OutcomeUnknown, match="the server ended"):
        await place.resume(requestState=asked["requestState"], inputResponses={})


async def test_giving_up_gives_up_the_work():
    place = Place()

    async def work():
        await asyncio.Event().wait()

    running = asyncio.create_task(place.run(work()))
    await settle()
    running.cancel()
    await settle()
    assert place.call.task.cancelled()


async def test_a_call_nobody_takes_up_expires(monkeypatch):
    monkeypatch.setattr(parked, "LIFE_SECONDS", 0)
    place = Place()
    asked = await place.run(place.ask("roots/list"))
    await asyncio.wait({place.call.task}, timeout=5)
    assert place.call.task.cancelled()
    with pytest.raises(RpcError, match="expired"):
        await place.resume(requestState=asked["requestState"])


async def test_only_so_many_calls_of_one_server_are_parked(monkeypatch):
    monkeypatch.setattr(parked, "LIMIT", 2)
    lot = ParkingLot()
    for server in ("up", "up", "other"):
        place = Place(lot, server)
        assert (await place.run(place.ask("roots/list")))["resultType"] == "input_required"
    third = Place(lot)
    with pytest.raises(RpcError, match="more than 2 calls"):
        await third.run(third.ask("roots/list"))
    await settle()
    assert third.call.task.cancelled()
    lot.close()
    assert not lot._parked
