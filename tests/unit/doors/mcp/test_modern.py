from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.doors.fakes import ENVELOPE, Exchange, FakeGateway, Gate, modern, posted, rpc, soon

from remora.doors.mcp import modern as module
from remora.doors.mcp.modern import handle_modern
from remora.errors import RpcError
from remora.gateway import eras
from remora.gateway.session import Caller, Front, Params, Session
from remora.gateway.wire import jsonrpc


@pytest.fixture
def gateway() -> FakeGateway:
    return FakeGateway()


def begin(gateway: Any, exchange: Exchange) -> asyncio.Task[None]:
    """The door at work on one POST, as the McpDoor would call it."""

    def session_of(caller: Caller) -> Session:
        return Session("http", caller=caller)

    async def work() -> None:
        request = exchange.request
        message = jsonrpc.decode(await request.body(1 << 20))
        await handle_modern(gateway, request, message, session_of)

    return asyncio.create_task(work())


async def ask(gateway: FakeGateway, exchange: Exchange) -> Exchange:
    await soon(begin(gateway, exchange))
    return exchange


def answering(result: Params, *notes: str) -> Any:
    async def answer(front: Front, params: Params) -> Params:
        for note in notes:
            front.notify(f"notifications/{note}", {"of": note})
        return result

    return answer


async def test_a_result_is_plain_json(gateway: FakeGateway) -> None:
    gateway.handlers["tools/call"] = answering({"content": []})
    answer = await ask(gateway, modern("tools/call", {"name": "git__log"}, request_id="a"))
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json == {"jsonrpc": "2.0", "id": "a", "result": {"content": []}}
    front, method, params = gateway.asked[0]
    assert (front.caller.modern, front.caller.client, method, params["name"]) == (
        True, {"name": "probe"}, "tools/call", "git__log",
    )  # fmt: skip


async def test_what_comes_before_the_result_makes_it_a_stream(gateway: FakeGateway) -> None:
    gateway.handlers["x"] = answering({"done": True}, "one", "two")
    answer = await ask(gateway, modern("x"))
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
    assert [message.get("method") for message in answer.messages] == ["notifications/one", "notifications/two", None]
    assert answer.messages[0]["params"] == {"of": "one"}
    assert answer.messages[-1] == {"jsonrpc": "2.0", "id": 1, "result": {"done": True}}
    assert answer.ended


async def test_a_stream_is_sent_as_it_comes(gateway: FakeGateway) -> None:
    gate = gateway.handlers["x"] = Gate()
    exchange = modern("x")
    working = begin(gateway, exchange)
    await soon(gate.begun.wait())
    assert not exchange.started.is_set()
    gate.front.notify("notifications/progress", {"progress": 1})  # type: ignore[union-attr]
    assert (await exchange.next_message())["params"] == {"progress": 1}
    gate.open.set()
    assert (await exchange.next_message())["result"] == gate.answer
    await soon(working)


async def test_a_long_silence_is_filled_so_that_nobody_hangs_up(
    gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = gateway.handlers["x"] = Gate()
    monkeypatch.setattr(module, "PING_SECONDS", 0)
    exchange = modern("x")
    working = begin(gateway, exchange)
    assert await soon(exchange.chunks.get()) == b": ping\n\n"
    gate.open.set()
    await soon(working)
    assert exchange.messages == [{"jsonrpc": "2.0", "id": 1, "result": gate.answer}]


@pytest.mark.parametrize("streaming", [False, True])
async def test_leaving_cancels(gateway: FakeGateway, streaming: bool) -> None:
    gate = gateway.handlers["x"] = Gate()
    exchange = modern("x")
    working = begin(gateway, exchange)
    await soon(gate.begun.wait())
    if streaming:
        gate.front.notify("notifications/progress", {})  # type: ignore[union-attr]
        await exchange.next_message()
    exchange.leave()
    await soon(gate.cancelled.wait())
    await soon(working)
    assert exchange.started.is_set() is streaming
    assert exchange.messages[1:] == []


async def test_a_door_that_is_closed_takes_its_request_along(gateway: FakeGateway) -> None:
    gate = gateway.handlers["x"] = Gate()
    working = begin(gateway, modern("x"))
    await soon(gate.begun.wait())
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await soon(working)
    await soon(gate.cancelled.wait())


@pytest.mark.parametrize(
    ("code", "status"),
    [(jsonrpc.INVALID_PARAMS, 400), (jsonrpc.METHOD_NOT_FOUND, 404), (jsonrpc.MISSING_CAPABILITY, 400),
     (jsonrpc.INTERNAL_ERROR, 200), (-32002, 200), (-1, 200)],
)  # fmt: skip
async def test_errors_of_the_protocol_have_a_status_of_their_own(gateway: FakeGateway, code: int, status: int) -> None:
    async def refuse(front: Front, params: Params) -> Params:
        raise RpcError(code, "no", {"why": "so"})

    gateway.handlers["x"] = refuse
    answer = await ask(gateway, modern("x"))
    assert answer.status == status
    assert answer.json["error"] == {"code": code, "message": "no", "data": {"why": "so"}}


async def test_an_error_after_the_stream_began_is_its_last_event(gateway: FakeGateway) -> None:
    async def fail(front: Front, params: Params) -> Params:
        front.notify("notifications/progress", {})
        raise RpcError(jsonrpc.INVALID_PARAMS, "no")

    gateway.handlers["x"] = fail
    answer = await ask(gateway, modern("x"))
    assert (answer.status, answer.messages[-1]["error"]["message"]) == (200, "no")


async def test_an_unknown_method_is_not_found(gateway: FakeGateway) -> None:
    answer = await ask(gateway, modern("no/such"))
    assert (answer.status, answer.json["error"]["code"]) == (404, jsonrpc.METHOD_NOT_FOUND)


async def test_notifications_of_clients_are_taken_and_dropped(gateway: FakeGateway) -> None:
    answer = await ask(gateway, posted({"jsonrpc": "2.0", "method": "notifications/x", "params": {"_meta": ENVELOPE}}))
    assert (answer.status, answer.body, gateway.asked) == (202, b"", [])


@pytest.mark.parametrize("meta", [None, {}, {eras.VERSION_KEY: "2026-07-28"}, {**ENVELOPE, eras.VERSION_KEY: 7},
                                  {**ENVELOPE, eras.CAPABILITIES_KEY: []}])  # fmt: skip
async def test_an_incomplete_envelope_is_refused(gateway: FakeGateway, meta: Any) -> None:
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"}
    answer = await ask(gateway, posted(rpc("tools/list", {} if meta is None else {"_meta": meta}), headers))
    assert (answer.status, answer.json["error"]["code"], answer.json["id"]) == (400, jsonrpc.INVALID_PARAMS, 1)
    assert gateway.asked == []


async def test_a_version_nobody_speaks_is_told_what_is_spoken(gateway: FakeGateway) -> None:
    params = {"_meta": {**ENVELOPE, eras.VERSION_KEY: "2031-01-01"}}
    headers = {"mcp-protocol-version": "2031-01-01", "mcp-method": "tools/list"}
    answer = await ask(gateway, posted(rpc("tools/list", params), headers))
    assert answer.status == 400
    assert answer.json["error"]["code"] == jsonrpc.UNSUPPORTED_VERSION
    assert answer.json["error"]["data"]["supported"] == ["2026-07-28"]


@pytest.mark.parametrize(
    "given",
    [{"mcp_protocol_version": "2025-11-25"}, {"mcp_method": "tools/list"}, {"mcp_name": "other"}, {"mcp_name": ""},
     {"mcp_name": "=?base64?b3RoZXI=?="}, {"mcp_name": "=?base64?!?="}],
)  # fmt: skip
async def test_headers_that_contradict_the_body_are_refused(gateway: FakeGateway, given: dict[str, str]) -> None:
    gateway.handlers["tools/call"] = answering({})
    answer = await ask(gateway, modern("tools/call", {"name": "git__log"}, **given))
    assert (answer.status, answer.json["error"]["code"]) == (400, jsonrpc.HEADER_MISMATCH)
    assert gateway.asked == []


async def test_a_missing_header_contradicts_too(gateway: FakeGateway) -> None:
    answer = await ask(gateway, posted(rpc("tools/call", {"name": "x", "_meta": ENVELOPE})))
    assert answer.json["error"]["code"] == jsonrpc.HEADER_MISMATCH


async def test_a_header_may_be_wrapped_in_base64(gateway: FakeGateway) -> None:
    gateway.handlers["tools/call"] = answering({})
    for name in ("größe", " x", "plain"):
        assert (await ask(gateway, modern("tools/call", {"name": name}))).status == 200
    wrapped = await ask(gateway, modern("tools/call", {"name": "plain"}, mcp_name="=?base64?cGxhaW4=?="))
    assert wrapped.status == 200


async def test_headers_of_arguments_must_agree_with_them(gateway: FakeGateway) -> None:
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    gateway.callable["db__query"] = SimpleNamespace(definition={"inputSchema": schema})
    gateway.handlers["tools/call"] = answering({})
    call = {"name": "db__query", "arguments": {"region": "eu"}}
    assert (await ask(gateway, modern("tools/call", call, mcp_param_region="eu"))).status == 200
    for wrong in (modern("tools/call", call), modern("tools/call", call, mcp_param_region="us")):
        answer = await ask(gateway, wrong)
        assert (answer.status, answer.json["error"]["code"]) == (400, jsonrpc.HEADER_MISMATCH)
    unknown = await ask(gateway, modern("tools/call", {**call, "name": "no__such"}))
    assert unknown.status == 200  # whether there is such a tool is for the gateway to say


async def test_a_client_of_this_era_is_not_asked(gateway: FakeGateway) -> None:
    async def curious(front: Front, params: Params) -> Params:
        return await front.ask("roots/list", {})

    gateway.handlers["x"] = curious
    answer = await ask(gateway, modern("x"))
    assert answer.json["error"]["code"] == jsonrpc.METHOD_NOT_FOUND


async def test_streams_cannot_be_polled(gateway: FakeGateway) -> None:
    async def closing(front: Front, params: Params) -> Params:
        front.close_stream()
        return {"still": "here"}

    gateway.handlers["x"] = closing
    assert (await ask(gateway, modern("x"))).json["result"] == {"still": "here"}
