from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.unit.gateway.fakes import Events, settle

from remora.errors import NotSent, ResultTooLarge, RpcError
from remora.gateway.wire.link import Exchange, LinkLost
from remora.gateway.wire.peer import Peer, with_meta


class Pipe:
    """A peer, what it wrote, and the calls made on it."""

    def __init__(self, answer: Any = None) -> None:
        self.written: list[dict[str, Any]] = []
        self.events = Events(answer)
        self.peer = Peer(lambda line: self.written.append(json.loads(line)), self.events)

    async def call(self, method: str = "tools/call", exchange: Exchange | None = None) -> asyncio.Task[Any]:
        task = asyncio.create_task(self.peer.request(method, {}, exchange or Exchange()))
        await settle()
        return task

    async def says(self, **message: Any) -> None:
        self.peer.feed(json.dumps({"jsonrpc": "2.0", **message}).encode())
        await settle()


async def test_answers_find_their_requests_in_any_order():
    pipe = Pipe()
    first, second = await pipe.call(), await pipe.call("tools/list")
    assert [message["id"] for message in pipe.written] == [1, 2]
    await pipe.says(id=2, result={"n": 2})
    await pipe.says(id=1, error={"code": -5, "message": "no"})
    assert await second == {"n": 2}
    with pytest.raises(RpcError, match="no"):
        await first


@pytest.mark.parametrize("stray", [{"id": 99}, {"id": "1"}, {"id": True}, {"id": None}, {}, {"id": [1]}])
async def test_answers_nobody_waits_for_are_dropped(stray):
    pipe = Pipe()
    call = await pipe.call()
    await pipe.says(**stray, result={"wrong": 1})
    await pipe.says(id=1, result={"right": 1})
    await pipe.says(id=1, result={"late": 1})
    assert await call == {"right": 1}
    assert pipe.peer._waiting == {}


async def test_what_belongs_to_no_call_is_told_to_the_owner():
    pipe = Pipe()
    await pipe.says(method="notifications/message", params={"data": 1})
    await pipe.says(method="notifications/tools/list_changed", params=[])
    assert pipe.events.notified == [("notifications/message", {"data": 1}), ("notifications/tools/list_changed", {})]


async def test_progress_carries_the_fronts_token_and_reaches_it_before_the_answer():
    told: list[Any] = []
    exchange = Exchange(lambda method, params: told.append(params))
    exchange.progress_token = "theirs"
    pipe = Pipe()
    call = await pipe.call(exchange=exchange)
    assert pipe.written[0]["params"]["_meta"] == {"progressToken": 1}
    for token in (1, 2, "theirs", [1]):
        await pipe.says(method="notifications/progress", params={"progressToken": token, "progress": 1, "x": 2})
    assert told == [{"progressToken": "theirs", "progress": 1, "x": 2}]
    assert pipe.events.notified == []
    await pipe.says(id=1, result={})
    assert await call == {}


@pytest.mark.parametrize(("method", "told"), [("tools/call", True), ("initialize", False), ("server/discover", False)])
async def test_a_call_that_is_given_up_is_cancelled_at_the_server(method, told):
    pipe = Pipe()
    call = await pipe.call(method)
    call.cancel()
    await settle()
    assert call.cancelled()
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    assert pipe.written[1:] == ([cancelled] if told else [])


async def test_a_question_is_answered_under_its_own_id():
    pipe = Pipe(lambda method, params: {"roots": []})
    await pipe.says(id="q", method="roots/list")
    assert pipe.events.asked == [("roots/list", {})]
    assert pipe.written == [{"jsonrpc": "2.0", "id": "q", "result": {"roots": []}}]
    refusing = Pipe()
    await refusing.says(id=1, method="roots/list", params=[])
    assert refusing.written[0]["error"]["code"] == -32601


async def test_a_question_that_is_withdrawn_is_not_answered():
    pipe = Pipe(lambda method, params: asyncio.Event().wait())
    await pipe.says(id=5, method="sampling/createMessage", params={})
    await pipe.says(method="notifications/cancelled", params={"requestId": 5})
    assert pipe.peer._questions == {}
    assert pipe.written == []


@pytest.mark.parametrize(
    "line",
    [
        {"id": [1], "method": "roots/list"},
        {"id": {}, "method": "ping"},
        {"method": "notifications/cancelled", "params": {"requestId": []}},
        {"method": "notifications/progress", "params": {"progressToken": {}}},
        {"method": 5},
    ],
)
async def test_a_malformed_message_does_no_harm(line):
    pipe = Pipe()
    call = await pipe.call()
    await pipe.says(**line)
    pipe.peer.feed(b"[1]")
    pipe.peer.feed(b"listening on port 3000")
    await pipe.says(id=1, result={})
    assert await call == {}


async def test_an_answer_that_is_not_quite_json_ends_its_call():
    pipe = Pipe()
    call = await pipe.call()
    pipe.peer.feed(b'{"jsonrpc":"2.0","id":1,"result":{"n":NaN}}')
    with pytest.raises(RpcError, match="not valid JSON"):
        await call


@pytest.mark.parametrize(
    ("head", "tail", "failed"),
    [
        (b'{"jsonrpc":"2.0","id":2,"result":', b"}", [2]),
        (b'{"result":{"content":', b'},"jsonrpc":"2.0","id": 1}', [1]),
        (b'{"result":{"structuredContent":{"id":77,', b'"x":1}},"jsonrpc":"2.0","id":1}', [1]),
        (b'{"result":{"structuredContent":{"id":2,', b'"x":1}},"jsonrpc":"2.0","id":1}', [1]),
        (b'{"jsonrpc":"2.0","id":1,"result":{"a":', b'{"id":2}}}', [1]),
        (b'{"jsonrpc":"2.0","id":77,"result":', b"}", []),  # of a call that was given up
        (b'{"method":"notifications/message"', b"}", [1, 2]),
    ],
)
async def test_an_answer_too_long_fails_the_call_it_belongs_to(head, tail, failed):
    pipe = Pipe()
    calls = {1: await pipe.call(), 2: await pipe.call()}
    pipe.peer.too_long(head, tail)
    await settle()
    assert [number for number, call in calls.items() if call.done()] == failed
    for number in failed:
        with pytest.raises(ResultTooLarge):
            await calls[number]
    assert pipe.peer.lost is None
    pipe.peer.lose("over")
    await asyncio.gather(*calls.values(), return_exceptions=True)


async def test_a_lost_connection_ends_everything_once():
    pipe = Pipe(lambda method, params: asyncio.Event().wait())
    call = await pipe.call()
    await pipe.says(id=1, method="roots/list")
    pipe.peer.lose("the server ended")
    pipe.peer.lose("again")
    with pytest.raises(LinkLost, match="the server ended"):
        await call
    with pytest.raises(NotSent, match="the server ended"):
        await pipe.peer.request("ping", None, Exchange())
    await pipe.peer.notify("notifications/initialized")
    await settle()
    assert (pipe.events.lost, pipe.peer._questions, len(pipe.written)) == (["the server ended"], {}, 1)


def test_meta_is_added_to_without_changing_what_was_given():
    given = {"a": 1, "_meta": {"b": 2}}
    assert with_meta(given, c=3) == {"a": 1, "_meta": {"b": 2, "c": 3}}
    assert given == {"a": 1, "_meta": {"b": 2}}
    assert with_meta({"_meta": "odd"}, c=3) == with_meta(None, c=3) == {"_meta": {"c": 3}}
