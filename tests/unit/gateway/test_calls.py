from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.gateway.fakes import HANDSHAKE, MODERN, handshake, modern, settle, tool

from remora.errors import RpcError
from remora.gateway.attempts import Stopped
from remora.gateway.calls import text_bytes
from remora.gateway.pipeline import Pipeline
from remora.gateway.session import Caller, Principal
from remora.gateway.wire.link import LinkLost
from remora.telemetry.tracing import Span

SAID = {"content": [{"type": "text", "text": "é"}], "x-top": 1}
TOOLS = [
    tool("echo"),
    tool("read", annotations={"readOnlyHint": True}),
    tool("own", inputSchema={"type": "object", "properties": {"_context_query": {"type": "string"}}}),
    tool("typed", inputSchema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
]
ABLE = Caller(True, "2026-07-28", {"name": "tester"}, {"roots": {}})


def answering(**answers: Any):
    return lambda made: made.tables.update(up=handshake(tools__list={"tools": TOOLS}, tools__call=SAID, **answers))


@pytest.fixture
async def up(world):
    return await world({"up": {}}, answering())


def call(made, front, name="up__echo", **params):
    return made.ask(front, "tools/call", name=name, **params)


def sent(made):
    return [params for method, params in made.link("up").sent if method == "tools/call"]


def answer(made, outcome):
    made.link("up").answers["tools/call"] = outcome


async def test_a_call_reaches_its_tool_and_the_result_is_untouched(up):
    arguments = {"b": 1, "a": [None, {"z": 1.5}]}
    assert await call(up, up.front(), arguments=arguments, x=1) is SAID
    assert sent(up) == [{"name": "echo", "arguments": arguments, "x": 1}]
    await call(up, up.front())
    assert sent(up)[-1] == {"name": "echo"}
    assert await call(up, up.front(MODERN)) == {**SAID, "resultType": "complete"}


async def test_the_record_of_a_call(up, tmp_path):
    await call(up, up.front(key="k"), arguments={"secret": "never kept"})
    (record,) = up.records.calls
    told = (record.server, record.tool, record.outcome, record.session, record.client, record.principal, record.door)
    assert told == ("up", "echo", "ok", "k", "tester", "local", "in_process")
    assert (record.era_front, record.era_up, record.in_bytes, record.out_bytes) == ("handshake", "handshake", 2, 2)
    assert record.trace_id
    assert record.ms_total >= record.ms_upstream
    assert "never kept" not in str(record)


async def test_a_trace_has_what_was_asked_and_answered(up, monkeypatch):
    seen: list[Any] = []
    monkeypatch.setattr(Span, "content", lambda span, **texts: seen.append(texts))
    await call(up, up.front(), arguments={"a": 1})
    assert seen == [{"arguments": {"a": 1}}, {"result": SAID}]


@pytest.mark.parametrize(
    ("name", "arguments", "forwarded", "query"),
    [
        ("echo", {"_context_query": "why", "a": 1}, {"a": 1}, "why"),
        ("echo", {"_context_query": "y" * 2000}, {}, "y" * 1000),
        ("echo", {"_context_query": 5}, {}, ""),
        ("own", {"_context_query": "theirs"}, {"_context_query": "theirs"}, ""),
    ],
)
async def test_the_context_query_is_for_us_unless_the_tool_has_one(up, name, arguments, forwarded, query):
    seen = []

    class Stage:
        name = "stage"
        keeps_time = False

        async def __call__(self, made, result):
            seen.append((made.context_query, made.arguments))
            return {**result, "staged": True}

    up.gateway.pipeline = Pipeline([Stage()], 1000)
    assert (await call(up, up.front(), f"up__{name}", arguments=arguments))["staged"]
    assert (sent(up)[0]["arguments"], seen) == (forwarded, [(query, forwarded)])


async def test_a_pipeline_that_is_off_changes_nothing(world):
    made = await world({"up": {}}, answering(), pipeline={"enabled": False})
    made.gateway.pipeline.stages = (None,)
    assert await call(made, made.front()) is SAID


async def test_a_tool_that_is_hidden_is_as_unknown_as_one_that_is_not_there(world):
    made = await world({"up": {"tools": {"echo": {"hidden": True}}}}, answering())
    for name in ("up__echo", "up__ecko", "find_tools"):
        with pytest.raises(RpcError, match=f"Unknown tool: {name}") as refused:
            await call(made, made.front(), name)
        assert refused.value.code == -32602
        assert "up__echo" not in refused.value.data["similar"]
    with pytest.raises(RpcError) as refused:
        await call(made, made.front(), "up__red")
    assert refused.value.data["similar"][0] == "up__read"


@pytest.mark.parametrize("params", [{"name": None}, {"name": "up__echo", "arguments": []}])
async def test_wrong_params(up, params):
    with pytest.raises(RpcError, match="tools/call: (name|arguments) must be") as refused:  # noqa: RUF043
        await up.ask(up.front(), "tools/call", **params)
    assert refused.value.code == -32602


async def test_who_may_only_read_calls_only_what_reads(up):
    front = up.front(principal=Principal("guest", "read"))
    assert await call(up, front, "up__read") is SAID
    denied = await call(up, front, "up__echo")
    assert denied["_meta"]["remora/error"]["code"] == "denied"
    assert len(sent(up)) == 1
    assert [record.outcome for record in up.records.calls] == ["ok", "denied"]


async def test_a_failure_is_a_result_that_says_what_failed(up):
    answer(up, LinkLost("broke"))
    failed = await call(up, up.front(MODERN))
    assert (failed["isError"], failed["resultType"]) == (True, "complete")
    text = failed["content"][0]["text"]
    assert text == 'remora: server "up" broke off (broke; it is not known whether the call ran)'
    error = failed["_meta"]["remora/error"]
    assert (error["code"], error["server"], error["tool"], error["retryable"]) == (
        "outcome_unknown", "up", "up__echo", False
    )  # fmt: skip
    (record,) = up.records.calls
    assert (record.outcome, record.error_category, record.trace_id) == ("unavailable", "transport", error["trace_id"])


async def test_errors_of_the_server_are_its_own(up):
    answer(up, RpcError(-32099, "no", {"v": 1}))
    with pytest.raises(RpcError) as refused:
        await call(up, up.front())
    assert refused.value.to_wire() == {"code": -32099, "message": "no", "data": {"v": 1}}
    answer(up, {"isError": True, "content": []})
    assert (await call(up, up.front()))["isError"]
    assert [record.outcome for record in up.records.calls] == ["rpc_error", "is_error"]
    assert up.records.calls[0].error_code == -32099


async def test_a_fault_of_ours_ends_only_its_call(up, caplog):
    answer(up, KeyError("our fault"))
    with pytest.raises(RpcError, match="internal error; see the log") as failed:
        await call(up, up.front())
    assert failed.value.data["trace_id"] == up.records.calls[0].trace_id
    assert "our fault" in caplog.text
    answer(up, SAID)
    assert await call(up, up.front()) is SAID


async def test_a_call_that_is_given_up_is_recorded_as_that(up):
    answer(up, lambda *_: asyncio.Event().wait())
    task = asyncio.create_task(call(up, up.front()))
    await settle()
    task.cancel()
    await settle()
    assert task.cancelled()
    assert [record.outcome for record in up.records.calls] == ["cancelled"]


async def test_structured_content_is_dropped_where_it_is_not_wanted(world):
    made = await world({"up": {"structured": "drop"}}, answering())
    answer(made, {**SAID, "structuredContent": {"a": 1}})
    assert await call(made, made.front()) == SAID


async def test_a_task_that_is_begun_is_remembered(up):
    answer(up, {"task": {"taskId": "t1"}})
    assert await call(up, up.front()) == {"task": {"taskId": "t1"}}
    assert up.gateway.tasks.server_of("t1", "local") == "up"


async def test_another_connection_is_taken_if_one_was_replaced(up, monkeypatch):
    upstream = up.gateway.servers["up"].upstream(None)
    outcomes = [Stopped("replaced"), SAID]

    async def once(*_: Any, **__: Any) -> Any:
        outcome = outcomes.pop(0) if len(outcomes) > 1 else outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome, False

    monkeypatch.setattr(upstream, "call", once)
    assert await call(up, up.front()) is SAID
    outcomes[:] = [Stopped("replaced")]
    assert (await call(up, up.front()))["_meta"]["remora/error"]["code"] == "unavailable"


async def test_a_question_of_a_handshake_server_parks_a_modern_call(up):
    async def ask(params: Any, exchange: Any) -> Any:
        return {"roots": await exchange.on_question("roots/list", {})}

    answer(up, ask)
    front = up.front(ABLE)
    asked = await call(up, front)
    (key,) = asked["inputRequests"]
    done = await call(up, front, requestState=asked["requestState"], inputResponses={key: {"roots": []}})
    assert done == {"roots": {"roots": []}, "resultType": "complete"}
    with pytest.raises(RpcError, match="does not support|needs the client capability") as refused:  # noqa: RUF043
        await call(up, up.front(MODERN))
    assert refused.value.code == -32021


async def test_input_a_modern_server_requires_is_asked_of_a_handshake_client(world):
    needs = {"resultType": "input_required", "inputRequests": {"r": {"method": "roots/list"}}, "requestState": "s"}
    results = [needs, {"content": [], "resultType": "complete"}]
    table = modern(tools__call=lambda *_: results.pop(0))
    made = await world({"up": {"era": "modern"}}, lambda made: made.tables.update(up=table))
    front = made.front(Caller(False, "2025-11-25", {}, {"roots": {}}))
    front.answers["roots/list"] = {"roots": [1]}
    assert await call(made, front) == {"content": []}
    assert (sent(made)[1]["requestState"], sent(made)[1]["inputResponses"]) == ("s", {"r": {"roots": [1]}})


async def test_errors_are_told_in_the_era_of_the_client(world):
    made = await world({"up": {"era": "modern"}}, lambda made: made.tables.update(up=modern()))
    answer(made, RpcError(-32021, "needs sampling"))
    with pytest.raises(RpcError) as old:
        await call(made, made.front(HANDSHAKE))
    with pytest.raises(RpcError) as new:
        await call(made, made.front(MODERN))
    assert (old.value.code, old.value.data["code"], new.value.code) == (-32600, -32021, -32021)


async def test_lazy_catalogs_are_searched_and_called_through(world):
    made = await world({"up": {}}, answering(), catalog={"mode": "lazy"})
    front = made.front(MODERN)
    found = await call(made, front, "find_tools", arguments={"query": "typed"})
    assert found["content"][0]["text"].startswith("up__typed(n: integer)")
    inner = {"name": "up__typed", "arguments": {"n": 5}}
    assert (await call(made, front, "call_tool", arguments=inner))["x-top"] == 1
    assert sent(made) == [{"name": "typed", "arguments": {"n": 5}}]
    refused = await call(made, front, "call_tool", arguments={"name": "up__typed", "arguments": {"n": "5"}})
    assert (refused["isError"], refused["resultType"]) == (True, "complete")
    assert "n must be integer" in refused["content"][0]["text"]
    with pytest.raises(RpcError, match="not read-only"):
        await call(made, front, "call_read_tool", arguments={"name": "up__echo"})
    assert len(sent(made)) == 1


async def test_our_own_tools_are_ours(up):
    class Own:
        names = ["remora"]

        def definitions(self, key):
            return [tool("remora")]

        async def call(self, name, arguments, front):
            return {"content": [], "got": arguments}

    up.gateway.serve_own(Own())
    assert await call(up, up.front(), "remora") == {"content": [], "got": {}}
    assert (await call(up, up.front(MODERN), "remora", arguments={"a": 1}))["resultType"] == "complete"
    assert sent(up) == up.records.calls == []


def test_only_text_counts_as_text():
    content = [{"text": "aé"}, {"type": "image", "data": "xxxx"}, "odd", {"text": 5}, {"text": "\ud800"}]
    assert text_bytes({"content": content}) == 4
    assert text_bytes({"content": "odd"}) == text_bytes({}) == 0
