from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.gateway.fakes import handshake, settle, tool

from remora.errors import RpcError
from remora.gateway.cache.cache import holds_secret

SAID = {"content": [{"type": "text", "text": "said"}]}
TOOLS = [tool("look", annotations={"readOnlyHint": True}), tool("write")]


def answering(made: Any) -> None:
    made.tables.update({name: handshake(tools__list={"tools": TOOLS}, tools__call=SAID) for name in made.tables})


@pytest.fixture
async def up(world: Any) -> Any:
    return await world({"up": {}, "near": {}}, answering)


async def call(made: Any, name: str = "up__look", front: Any = None, **params: Any) -> Any:
    answer = await made.ask(front or made.front(), "tools/call", name=name, **params)
    await settle()
    return answer


def asked(made: Any, server: str = "up") -> int:
    return sum(method == "tools/call" for method, _ in made.link(server).sent)


def uses(made: Any) -> list[str]:
    return [record.cache for record in made.records.calls]


async def test_the_same_question_reaches_the_server_once(up: Any) -> None:
    assert [await call(up, arguments={"a": 1}) for _ in range(2)] == [SAID, SAID]
    assert (asked(up), uses(up)) == (1, ["miss", "hit"])
    await call(up, arguments={"a": 2})
    assert asked(up) == 2


async def test_who_asks_at_the_same_time_shares_the_answer(up: Any) -> None:
    gate: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def wait(*_: Any) -> Any:
        return await gate

    up.gateway.servers["up"].upstream(None)
    await call(up, "up__write")
    up.link("up").answers["tools/call"] = wait
    both = [asyncio.create_task(call(up)) for _ in range(2)]
    await settle()
    gate.set_result(SAID)
    assert await asyncio.gather(*both) == [SAID, SAID]
    assert asked(up) == 2
    assert sorted(uses(up)[1:]) == ["hit", "miss"]


@pytest.mark.parametrize("name", ["up__write", "near__write"])
async def test_a_write_makes_stale_what_is_known_of_this_machine(up: Any, name: str) -> None:
    await call(up)
    await call(up, name)
    before = asked(up)
    await call(up)
    assert asked(up) == before + 1


async def test_a_caller_may_go_past_it(up: Any) -> None:
    await call(up)
    await call(up, _meta={"remora/no_cache": True})
    assert (asked(up), uses(up)) == (2, ["miss", "bypass"])


async def test_errors_and_secrets_are_not_kept(up: Any) -> None:
    await call(up, "up__write")
    for answer in ({**SAID, "isError": True}, {"content": [{"type": "text", "text": "password: hunter2hunter2XY9"}]}):
        up.link("up").answers["tools/call"] = answer
        before = asked(up)
        for _ in range(2):
            assert await call(up) == answer
        assert asked(up) == before + 2


async def test_a_shared_failure_is_made_sure_of(up: Any) -> None:
    await call(up, "up__write")
    up.link("up").answers["tools/call"] = RpcError(-32000, "no")
    outcomes = await asyncio.gather(*(call(up) for _ in range(2)), return_exceptions=True)
    assert all(isinstance(outcome, RpcError) for outcome in outcomes)
    assert asked(up) == 3


async def test_forgetting_and_what_the_server_tells(up: Any) -> None:
    for forget in (lambda: up.gateway.cache.stale(["up"]), lambda: up.gateway.resource_updated(
            up.gateway.servers["up"].upstream(None), {"uri": "test://a"})):  # fmt: skip
        await call(up)
        before = asked(up)
        forget()
        await call(up)
        assert asked(up) == before + 1


def test_secrets_are_found_wherever_they_are() -> None:
    token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    assert holds_secret({"structuredContent": {"a": [{"b": token}]}})
    assert not holds_secret(SAID)
