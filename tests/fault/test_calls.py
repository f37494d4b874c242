"""A server fails in the middle of a call: what is sent again, what never is, what the agent is told."""

from __future__ import annotations

import json

import pytest
from tests.support.client import Client, Failure, Message, failure_code, text
from tests.support.control import Control
from tests.support.fronts import front
from tests.support.home import Home
from tests.support.http_upstream import HttpUpstream

QUICK = {"reconnect_delay_seconds": 0.05, "max_reconnect_delay_seconds": 0.2}


async def failed(client: Client, tool: str, arguments: Message | None = None) -> Message:
    """The `remora/error` object of a call that the gateway itself gave up, its form checked."""
    result = await client.call(tool, arguments)
    assert result["isError"] is True
    (item,) = result["content"]
    assert item["text"].startswith("remora: ")
    assert "\n" not in item["text"]
    error = result["_meta"]["remora/error"]
    assert {"code", "server", "tool", "retryable", "retry_after_ms", "trace_id"} <= error.keys()
    assert error["server"] == tool.partition("__")[0]
    assert error["tool"] in (tool, tool.partition("__")[2])
    assert isinstance(error["retryable"], bool)
    return error


@pytest.mark.parametrize("tool", ["crash_once", "crash_once_destructive"])
async def test_an_unsafe_call_is_never_sent_twice(home: Home, control: Control, tool: str) -> None:
    home.configure({"up": control.server("up", **QUICK)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with(f"up__{tool}")
        error = await failed(client, f"up__{tool}")
        assert (error["code"], error["retryable"]) == ("outcome_unknown", False)
        assert text(await client.call("up__echo", {"text": "back"})) == "back"
        assert len(control.seen("call", tool=tool)) == 1
        assert text(await client.call(f"up__{tool}")) == "survived"


@pytest.mark.parametrize("tool", ["crash_once_read", "crash_once_idempotent"])
async def test_a_safe_call_is_sent_again(home: Home, control: Control, tool: str) -> None:
    home.configure({"up": control.server("up", **QUICK)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with(f"up__{tool}")
        assert text(await client.call(f"up__{tool}")) == "survived"
        assert len(control.seen("call", tool=tool)) == 2


@pytest.mark.parametrize(
    ("tool", "keys", "times"),
    [
        ("crash_once", {"tools": {"crash_once": {"safe": True}}}, 2),
        ("crash_once_read", {"tools": {"crash_once_read": {"safe": False}}}, 1),
        ("crash_once_read", {"trust_annotations": False}, 1),
        ("crash_once_read", {"max_retries": 0}, 1),
    ],
)
async def test_config_says_what_is_safe(home: Home, control: Control, tool: str, keys: Message, times: int) -> None:
    home.configure({"up": control.server("up", **QUICK, **keys)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with(f"up__{tool}")
        code = failure_code(await client.call(f"up__{tool}"))
        if times == 2:
            assert code == ""
        else:  # a safe call that may not be tried again can be repeated by the agent
            assert code == ("unavailable" if "max_retries" in keys else "outcome_unknown")
        assert len(control.seen("call", tool=tool)) == times


async def test_a_call_that_times_out(home: Home, control: Control) -> None:
    """Cancelled upstream, not repeated unless safe; the connection that still answers is kept."""
    home.configure({"up": control.server("up", call_timeout_seconds=0.3, **QUICK)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__stall_once")
        (pid,) = control.alive("up")
        assert (await failed(client, "up__stall_once"))["code"] in ("timeout", "outcome_unknown")
        await control.until("cancelled", name="up")
        assert len(control.seen("call", tool="stall_once")) == 1
        assert text(await client.call("up__stall_once_read")) == "survived"
        assert len(control.seen("call", tool="stall_once_read")) == 2
        assert control.alive("up") == {pid}


async def test_a_server_that_went_deaf_is_started_anew(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up", call_timeout_seconds=0.3, **QUICK)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__go_deaf")
        (pid,) = control.alive("up")
        await failed(client, "up__go_deaf")
        await control.ended(pid)
        assert text(await client.call("up__echo", {"text": "new"})) == "new"


async def test_progress_extends_the_time_of_one_attempt(home: Home, control: Control) -> None:
    patient = control.server("patient", call_timeout_seconds=0.6, **QUICK)
    strict = control.server("strict", call_timeout_seconds=0.6, progress_extends=False, **QUICK)
    short = control.server("short", call_timeout_seconds=0.6, overall_deadline_seconds=0.9, **QUICK)
    home.configure({"patient": patient, "strict": strict, "short": short})
    arguments = {"steps": 6, "ms": 250}
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("patient__echo", "strict__echo", "short__echo")
        meta = {"progressToken": 1}
        results = {
            name: await client.send("tools/call", {"name": f"{name}__slow_progress", "arguments": arguments}, meta=meta)
            for name in ("patient", "strict", "short")
        }
        codes = {name: failure_code((await client.answer(sent))["result"]) for name, sent in results.items()}
        assert codes["patient"] == ""
        assert codes["strict"] in ("timeout", "outcome_unknown")
        assert codes["short"] in ("timeout", "outcome_unknown")


async def test_errors_of_the_server_are_not_ours(home: Home, control: Control) -> None:
    """Forwarded as they are, never retried, whatever the code; they do not open the breaker."""
    home.configure({"up": control.server("up", breaker_failures=2, tools={"refuse": {"safe": True}}, **QUICK)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__refuse")
        for code in (-32000, -32001, -32603, -32700, 0, 429):
            with pytest.raises(Failure) as failure:
                await client.call("up__refuse", {"code": code, "message": "mine"})
            assert (failure.value.code, failure.value.message) == (code, "mine")
            assert failure.value.data == {"vendor": [1, {"deep": None}]}
        for _ in range(3):
            assert (await client.call("up__complain"))["isError"] is True
        assert len(control.seen("call", tool="refuse")) == 6
        assert text(await client.call("up__echo", {"text": "on"})) == "on"


async def test_other_methods_fail_with_an_error_object(home: Home, control: Control) -> None:
    """What is a tool result for calls is −32603 with the same object in `data` elsewhere."""
    sign = home.folder / "up"
    sign.touch()
    home.configure({"up": control.server("up", "--unless", str(sign), breaker_failures=1, **QUICK)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__echo")
        sign.unlink()
        await client.call("up__crash")
        await control.until("start", name="up", count=2)
        for method, params in (
            ("resources/read", {"uri": "test://up/a"}),
            ("prompts/get", {"name": "up__greet", "arguments": {"who": "x"}}),
        ):
            with pytest.raises(Failure) as failure:
                await client.result(method, params)
            assert failure.value.code == -32603
            assert failure.value.data["code"] == "unavailable"
            assert failure.value.data["server"] == "up"


@pytest.mark.parametrize("tool", ["cut_off", "close_output", "crash"])
async def test_a_connection_that_breaks_is_made_anew(home: Home, control: Control, tool: str) -> None:
    home.configure({"up": control.server("up", **QUICK)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with(f"up__{tool}")
        (pid,) = control.alive("up")
        assert (await failed(client, f"up__{tool}"))["code"] == "outcome_unknown"
        assert text(await client.call("up__echo", {"text": "again"})) == "again"
        await control.ended(pid)
        assert len(control.alive("up")) == 1


async def test_all_calls_of_a_dead_connection_end(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up", **QUICK)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__block")
        waiting = [await client.send("tools/call", {"name": "up__block", "arguments": {"n": n}}) for n in range(5)]
        await control.until("blocked", name="up", count=5)
        await client.call("up__crash")
        for identity in waiting:
            assert failure_code((await client.answer(identity))["result"]) == "outcome_unknown"
        assert len(control.seen("call", tool="block")) == 5


async def test_killed_a_hundred_times_in_a_row(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up", breaker_failures=1000, **QUICK)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__crash")
        for n in range(100):
            assert (await failed(client, "up__crash"))["code"] == "outcome_unknown"
            assert text(await client.call("up__echo", {"text": str(n)})) == str(n)
        assert len(control.seen("call", tool="crash")) == 100
        assert len(control.alive("up")) == 1


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc":"2.0","id":ID,"result":"words"}',
        '{"jsonrpc":"2.0","id":ID,"result":null}',
        '{"jsonrpc":"2.0","id":ID,"result":[1,{"a":null}]}',
        '{"jsonrpc":"2.0","id":ID,"error":{"code":"E_BAD","message":"x"}}',
        '{"jsonrpc":"2.0","id":ID,"error":"words"}',
        '{"jsonrpc":"2.0","id":ID}',
    ],
)
async def test_an_answer_without_sense_ends_its_call(home: Home, control: Control, line: str) -> None:
    home.configure({"up": control.server("up", **QUICK)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__raw_line")
        with pytest.raises(Failure) as failure:
            await client.call("up__raw_line", {"line": line})
        assert failure.value.code == -32603
        original = json.loads(line.replace("ID", "0"))
        for key in ("result", "error"):
            if original.get(key) is not None:
                assert json.dumps(original[key]) in json.dumps(failure.value.data)
        assert text(await client.call("up__echo", {"text": "on"})) == "on"
        assert len(control.seen("start")) == 1


@pytest.mark.parametrize(
    "result",
    [
        '{"content":"not a list"}',
        "{}",
        '{"content":[{"type":"text"}],"isError":"perhaps"}',
        '{"content":[{"type":"text","text":"\\ud800 lone"}]}',
        '{"content":[],"n":1e400}',
        '{"content":[],"n":123456789012345678901234567890}',
    ],
)
async def test_a_result_against_its_schema_is_passed_on(home: Home, control: Control, result: str) -> None:
    home.configure({"up": control.server("up", **QUICK)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__raw_line")
        line = '{"jsonrpc":"2.0","id":ID,"result":' + result + "}"
        got = await client.call("up__raw_line", {"line": line})
        assert json.dumps(got) == json.dumps(json.loads(result))


@pytest.mark.parametrize("line", ['{"jsonrpc":"2.0","id":ID,"result":{"n":NaN}}', '{"id":ID,"result":{"n":-Infinity}}'])
async def test_an_answer_that_is_not_quite_json_ends_its_call(home: Home, control: Control, line: str) -> None:
    home.configure({"up": control.server("up", **QUICK)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__raw_line")
        with pytest.raises(Failure) as failure:
            await client.call("up__raw_line", {"line": line})
        assert failure.value.code == -32603
        assert text(await client.call("up__echo", {"text": "on"})) == "on"


async def test_answers_nobody_waits_for_are_dropped(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up", **QUICK)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__twice")
        assert text(await client.call("up__twice")) == "once"
        assert text(await client.call("up__echo", {"text": "on"})) == "on"
        assert client.inbox.items == []


@pytest.mark.parametrize("trouble", ["cut", 500, 503])
@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_http_calls_that_were_sent_are_not_repeated(home: Home, era: str, trouble: int | str) -> None:
    async with HttpUpstream("up", "--era", era) as up:
        home.configure({"up": {"url": up.url, **QUICK}})
        async with front(home, "stdio-handshake") as client:
            await client.tools_with("up__echo", "up__whoami")
            up.trouble["tools/call"] = [trouble]
            assert (await failed(client, "up__echo", {"text": "x"}))["code"] == "outcome_unknown"
            assert len(up.messages("tools/call")) == 1
            up.trouble["tools/call"] = [trouble]
            assert "pid" in text(await client.call("up__whoami"))
            assert len(up.messages("tools/call")) == 3


@pytest.mark.parametrize("trouble", [404, 429])
async def test_http_refusals_before_the_call_are_tried_once_more(home: Home, trouble: int) -> None:
    async with HttpUpstream("up") as up:
        home.configure({"up": {"url": up.url, **QUICK}})
        async with front(home, "stdio-handshake") as client:
            await client.tools_with("up__echo")
            up.trouble["tools/call"] = [trouble]
            assert text(await client.call("up__echo", {"text": "x"})) == "x"
            assert len(up.calls("echo")) == 1
            assert len(up.messages("initialize")) == (2 if trouble == 404 else 1)


async def test_an_http_server_that_forgets_its_sessions(home: Home) -> None:
    async with HttpUpstream("up") as up:
        home.configure({"up": {"url": up.url, "breaker_failures": 1000, **QUICK}})
        async with front(home, "stdio-handshake") as client:
            await client.tools_with("up__echo")
            up.sessions.clear()
            assert text(await client.call("up__echo", {"text": "new session"})) == "new session"
            port, met = up.port, len(up.messages("initialize"))
            await up.stop()
            assert (await failed(client, "up__echo", {"text": "x"}))["code"] in ("unavailable", "outcome_unknown")
            await up.start(port)
            await up.reports.reached(lambda: len(up.messages("initialize")) > met)  # found again by itself
            assert text(await client.call("up__echo", {"text": "back"})) == "back"
