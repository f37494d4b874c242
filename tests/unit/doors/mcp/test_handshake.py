from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.unit.doors.fakes import Exchange, FakeGateway, Gate, posted, rpc, soon

from remora.doors.mcp import handshake
from remora.doors.mcp.handshake import HandshakeSession
from remora.errors import RpcError
from remora.gateway.session import LOCAL_USER, Caller, Front, Params, ViewKey
from remora.gateway.wire import jsonrpc

LATEST, EARLIER = "2025-11-25", "2025-06-18"
NO_VIEW = ViewKey()
CANCEL = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}


@pytest.fixture
def gateway(tmp_path: Path) -> FakeGateway:
    return FakeGateway(tmp_path)


def opened(gateway: Any, version: str = LATEST, view: ViewKey = NO_VIEW, **capabilities: Any) -> HandshakeSession:
    return HandshakeSession(gateway, LOCAL_USER, view, Caller(False, version, {}, capabilities), "")


def post(
    session: HandshakeSession, method: str, request_id: Any = 1, **given: str
) -> tuple[Exchange, asyncio.Task[None]]:
    message = rpc(method, request_id=request_id)
    exchange = posted(message, given)
    exchange._incoming.get_nowait()  # the door has read the body
    return exchange, asyncio.create_task(session.post(exchange.request, message))


def get(session: HandshakeSession, last_event: str | None = None) -> tuple[Exchange, asyncio.Task[None]]:
    headers = {"accept": "text/event-stream", **({"last-event-id": last_event} if last_event else {})}
    exchange = Exchange("GET", headers=headers)
    return exchange, asyncio.create_task(session.get(exchange.request))


def noting(count: int, result: Params) -> Any:
    async def answer(front: Front, params: Params) -> Params:
        for number in range(count):
            front.notify("notifications/progress", {"progress": number})
        return result

    return answer


# -- POST ----------------------------------------------------------------------------------------------------------


async def test_an_answer_alone_is_plain_json(gateway: FakeGateway) -> None:
    session = opened(gateway)
    exchange, working = post(session, "ping")
    await soon(working)
    assert (exchange.status, exchange.headers["content-type"]) == (200, "application/json")
    assert exchange.headers["mcp-session-id"] == session.id
    assert exchange.json == {"jsonrpc": "2.0", "id": 1, "result": {}}


async def test_an_error_is_an_answer(gateway: FakeGateway) -> None:
    exchange, working = post(opened(gateway), "no/such")
    await soon(working)
    assert (exchange.status, exchange.json["error"]["code"]) == (200, jsonrpc.METHOD_NOT_FOUND)


async def test_what_comes_before_the_answer_makes_it_a_stream(gateway: FakeGateway) -> None:
    gateway.handlers["x"] = noting(2, {"done": True})
    session = opened(gateway)
    exchange, working = post(session, "x")
    await soon(working)
    assert (exchange.status, exchange.headers["content-type"]) == (200, "text/event-stream")
    assert exchange.headers["mcp-session-id"] == session.id
    assert [message.get("params", {}).get("progress") for message in exchange.messages] == [0, 1, None]
    assert exchange.messages[-1]["result"] == {"done": True}
    assert len(set(exchange.ids)) == 4  # a priming event, and one id for each message


@pytest.mark.parametrize(("version", "primed"), [(LATEST, True), (EARLIER, False)])
async def test_an_event_without_data_is_sent_only_to_who_can_read_it(
    gateway: FakeGateway, version: str, primed: bool
) -> None:
    gateway.handlers["x"] = noting(1, {})
    exchange, working = post(opened(gateway, version), "x")
    await soon(working)
    assert (b"data: \n\n" in exchange.body) is primed


async def test_who_wants_a_stream_first_of_all_gets_one(gateway: FakeGateway) -> None:
    exchange, working = post(opened(gateway), "ping", accept="text/event-stream, application/json")
    await soon(working)
    assert exchange.headers["content-type"] == "text/event-stream"
    assert [message["result"] for message in exchange.messages] == [{}]


async def test_an_id_in_use_is_refused_and_free_again_afterwards(gateway: FakeGateway) -> None:
    gate = gateway.handlers["x"] = Gate()
    session = opened(gateway)
    first, working = post(session, "x")
    await soon(gate.begun.wait())
    second, refused = post(session, "ping")
    await soon(refused)
    assert (second.status, second.json["id"], second.json["error"]["code"]) == (400, 1, jsonrpc.INVALID_REQUEST)
    gate.open.set()
    await soon(working)
    assert first.json["result"] == gate.answer
    third, again = post(session, "ping")
    await soon(again)
    assert third.status == 200


async def test_a_cancelled_request_is_answered_so_that_its_stream_ends(gateway: FakeGateway) -> None:
    gate = gateway.handlers["x"] = Gate()
    session = opened(gateway)
    exchange, working = post(session, "x")
    await soon(gate.begun.wait())
    session.notified({**CANCEL, "params": {"requestId": ["odd"]}})
    session.notified({**CANCEL, "params": {}})
    session.notified(CANCEL)
    await soon(working)
    assert gate.cancelled.is_set()
    assert exchange.ended
    assert [message["error"]["code"] for message in exchange.messages] == [jsonrpc.CANCELLED]


async def test_a_long_silence_is_filled(gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshake, "PING_SECONDS", 0)
    gate = gateway.handlers["x"] = Gate()
    exchange, working = post(opened(gateway, EARLIER), "x")
    assert await soon(exchange.chunks.get()) == b": ping\n\n"
    gate.open.set()
    await soon(working)
    assert exchange.messages[-1]["result"] == gate.answer


async def test_the_request_goes_on_when_its_client_leaves_and_can_be_read_later(gateway: FakeGateway) -> None:
    gate = gateway.handlers["x"] = Gate()
    session = opened(gateway)
    exchange, working = post(session, "x")
    await soon(gate.begun.wait())
    gate.front.notify("notifications/progress", {"progress": 1})  # type: ignore[union-attr]
    await exchange.next_message()
    exchange.leave()
    await soon(working)
    gate.front.notify("notifications/progress", {"progress": 2})  # type: ignore[union-attr]
    later, reading = get(session, exchange.ids[-1])
    assert (await later.next_message())["params"] == {"progress": 2}
    gate.open.set()
    assert (await later.next_message())["result"] == gate.answer
    await soon(reading)
    assert not gate.cancelled.is_set()


async def test_a_stream_closed_to_be_polled_gives_the_answer_to_a_get(gateway: FakeGateway) -> None:
    gate = gateway.handlers["x"] = Gate()
    session = opened(gateway)
    exchange, working = post(session, "x")
    await soon(gate.begun.wait())
    gate.front.close_stream()  # type: ignore[union-attr]
    await soon(working)
    assert (exchange.ended, exchange.messages) == (True, [])
    gate.open.set()
    await soon(asyncio.gather(*session._running.values()))
    later, reading = get(session, exchange.ids[0])
    await soon(reading)
    assert [message["result"] for message in later.messages] == [gate.answer]


async def test_who_cannot_resume_is_not_made_to_poll(gateway: FakeGateway) -> None:
    gate = gateway.handlers["x"] = Gate()
    exchange, working = post(opened(gateway, EARLIER), "x")
    await soon(gate.begun.wait())
    gate.front.close_stream()  # type: ignore[union-attr]
    gate.open.set()
    await soon(working)
    assert exchange.json["result"] == gate.answer


async def test_one_stream_cannot_be_read_by_the_ids_of_another(gateway: FakeGateway) -> None:
    gateway.handlers["x"] = noting(1, {"of": "x"})
    session = opened(gateway)
    (first, one), (second, two) = post(session, "x", 1), post(session, "x", 2)
    await soon(asyncio.gather(one, two))
    again, reading = get(session, first.ids[0])
    await soon(reading)
    assert [message.get("id") for message in again.messages] == [None, 1]
    assert {message.get("id") for message in second.messages} == {None, 2}


# -- the client is asked --------------------------------------------------------------------------------------------


async def test_a_question_goes_out_on_the_stream_of_its_request(gateway: FakeGateway) -> None:
    async def curious(front: Front, params: Params) -> Params:
        return {"told": await front.ask("elicitation/create", {"message": "sure?"})}

    gateway.handlers["x"] = curious
    session = opened(gateway)
    exchange, working = post(session, "x")
    question = await exchange.next_message()
    assert (question["method"], question["params"]) == ("elicitation/create", {"message": "sure?"})
    session.asked.answer({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}})
    await soon(working)
    assert exchange.messages[-1]["result"] == {"told": {"action": "accept"}}


async def test_a_question_given_up_is_taken_back(gateway: FakeGateway) -> None:
    async def curious(front: Front, params: Params) -> Params:
        return await front.ask("elicitation/create", {})

    gateway.handlers["x"] = curious
    session = opened(gateway)
    exchange, working = post(session, "x")
    question = await exchange.next_message()
    session.notified(CANCEL)
    await soon(working)
    taken_back = exchange.messages[1]
    assert (taken_back["method"], taken_back["params"]["requestId"]) == ("notifications/cancelled", question["id"])


async def test_questions_fail_when_the_session_ends(gateway: FakeGateway) -> None:
    session = opened(gateway)
    exchange, reading = get(session)
    await soon(exchange.started.wait())
    asking = asyncio.create_task(session.ask(session._standing, "roots/list", {}))
    assert (await exchange.next_message())["method"] == "roots/list"
    await session.close()
    with pytest.raises(RpcError, match="gone"):
        await soon(asking)
    await soon(reading)


# -- GET -----------------------------------------------------------------------------------------------------------


async def test_messages_of_no_request_come_on_the_standing_stream(gateway: FakeGateway) -> None:
    session = opened(gateway)
    assert session.session.standing is not None
    session.session.standing("notifications/tools/list_changed", {})
    exchange, reading = get(session)
    await soon(exchange.started.wait())
    session.session.standing("notifications/message", {"level": "info"})
    assert (await exchange.next_message())["params"] == {"level": "info"}
    session.end_standing()
    await soon(reading)
    assert exchange.ended


async def test_a_standing_stream_is_resumed_where_it_broke_off(gateway: FakeGateway) -> None:
    session = opened(gateway)
    first, reading = get(session)
    await soon(first.started.wait())
    session._standing_send("notifications/message", {"n": 1})
    await first.next_message()
    first.leave()
    await soon(reading)
    session._standing_send("notifications/message", {"n": 2})
    second, again = get(session, first.ids[-1])
    assert (await second.next_message())["params"] == {"n": 2}
    session._standing_send("notifications/message", {"n": 3})
    assert (await second.next_message())["params"] == {"n": 3}
    session.end_standing()
    await soon(again)


async def test_a_second_standing_stream_ends_the_first(gateway: FakeGateway) -> None:
    session = opened(gateway)
    first, one = get(session)
    await soon(first.started.wait())
    second, two = get(session)
    await soon(one)
    session._standing_send("notifications/message", {"n": 1})
    assert (await second.next_message())["params"] == {"n": 1}
    assert first.messages == []
    session.end_standing()
    await soon(two)


@pytest.mark.parametrize(("version", "primed"), [(LATEST, True), (EARLIER, False)])
async def test_a_standing_stream_is_primed_for_who_can_read_it(
    gateway: FakeGateway, version: str, primed: bool
) -> None:
    session = opened(gateway, version)
    exchange, reading = get(session)
    await soon(exchange.started.wait())
    session.end_standing()
    await soon(reading)
    assert (b"data: \n\n" in exchange.body) is primed


async def test_a_foreign_event_id_is_passed_over(gateway: FakeGateway) -> None:
    session = opened(gateway)
    for foreign in ("not-ours", "99-1"):
        exchange, reading = get(session, foreign)
        await soon(exchange.started.wait())
        session.end_standing()
        await soon(reading)
        assert exchange.messages == []


# -- what clients tell ----------------------------------------------------------------------------------------------


async def test_a_client_that_has_roots_is_asked_for_its_project(gateway: FakeGateway, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    session = opened(gateway, roots={"listChanged": True})
    exchange, reading = get(session)
    question = await exchange.next_message()
    assert question["method"] == "roots/list"
    root = {"uri": (tmp_path / "code").as_uri()}
    session.asked.answer({"id": question["id"], "result": {"roots": [root]}})
    await soon(gateway.settled())
    assert gateway.moved == [(session.session, tmp_path / "code")]

    session.notified({"method": "notifications/roots/list_changed"})
    again = await exchange.next_message()
    session.asked.answer({"id": again["id"], "error": {"code": -1, "message": "no"}})
    await soon(gateway.settled())
    assert len(gateway.moved) == 1
    assert gateway.roots_told == [session.session]
    session.end_standing()
    await soon(reading)


@pytest.mark.parametrize(("view", "capabilities"), [(ViewKey(project=Path("/srv/code")), {"roots": {}}), (NO_VIEW, {})])
async def test_a_client_that_said_its_project_or_has_no_roots_is_not_asked(
    gateway: FakeGateway, view: ViewKey, capabilities: Params
) -> None:
    session = opened(gateway, view=view, **capabilities)
    exchange, reading = get(session)
    await soon(exchange.started.wait())
    session.notified({"method": "notifications/roots/list_changed"})
    session.end_standing()
    await soon(reading)
    await soon(gateway.settled())
    assert exchange.messages == []
    assert gateway.roots_told == [session.session]


async def test_notifications_nobody_knows_are_passed_over(gateway: FakeGateway) -> None:
    session = opened(gateway)
    session.notified({"method": "notifications/whatever", "params": {}})
    session.notified({"method": "notifications/cancelled"})
    exchange, working = post(session, "ping")
    await soon(working)
    assert exchange.json["result"] == {}


# -- life ----------------------------------------------------------------------------------------------------------


async def test_a_session_is_busy_while_something_runs_or_is_read(gateway: FakeGateway) -> None:
    gate = gateway.handlers["x"] = Gate()
    session = opened(gateway)
    assert not session.busy
    _, working = post(session, "x")
    await soon(gate.begun.wait())
    assert session.busy
    gate.open.set()
    await soon(working)
    assert not session.busy
    exchange, reading = get(session)
    await soon(exchange.started.wait())
    assert session.busy
    exchange.leave()
    await soon(reading)
    assert not session.busy


async def test_closing_ends_requests_and_streams(gateway: FakeGateway) -> None:
    gate = gateway.handlers["x"] = Gate()
    session = opened(gateway)
    assert gateway.sessions == [session.session]
    posting, working = post(session, "x")
    getting, reading = get(session)
    await soon(gate.begun.wait())
    await soon(getting.started.wait())
    await session.close()
    await soon(asyncio.gather(working, reading))
    assert gate.cancelled.is_set()
    assert posting.ended
    assert getting.ended
    assert gateway.closed == [session.session]


async def test_sessions_have_unguessable_ids_and_the_key_of_their_client(gateway: FakeGateway) -> None:
    plain, named = opened(gateway), HandshakeSession(gateway, LOCAL_USER, ViewKey(), Caller(False, LATEST), "mine")  # type: ignore[arg-type]
    assert plain.id != named.id
    assert len(plain.id) == 32
    assert (plain.session.key, named.session.key) == (plain.id, "mine")
