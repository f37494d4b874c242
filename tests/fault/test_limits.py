"""Limits: the breaker, calls in flight, the size of one message; refused logins."""

from __future__ import annotations

import pytest
from tests.support.client import Failure, failure_code, text
from tests.support.control import Control
from tests.support.fronts import FRONTS, front
from tests.support.home import Home
from tests.support.http_upstream import HttpUpstream

QUICK = {"reconnect_delay_seconds": 0.05, "max_reconnect_delay_seconds": 0.1}
MB = 2**20


async def test_failing_connects_open_the_breaker_and_a_probe_closes_it(home: Home, control: Control) -> None:
    sign = home.folder / "up"
    sign.touch()
    up = control.server("up", "--unless", str(sign), breaker_failures=3, breaker_reset_seconds=1.0, **QUICK)
    home.configure({"up": up})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__echo")
        sign.unlink()
        await client.call("up__crash")
        result = {}
        for _ in range(10):
            result = await client.call("up__echo", {"text": "x"})
            assert failure_code(result) == "unavailable"
        error = result["_meta"]["remora/error"]
        assert error["retryable"] is True
        assert 0 < error["retry_after_ms"] <= 1000
        assert "open" in text(await client.call("remora", {"action": "status"}))
        starts = len(control.seen("start", name="up"))
        for _ in range(5):
            assert failure_code(await client.call("up__echo", {"text": "x"})) == "unavailable"
        assert len(control.seen("start", name="up")) - starts <= 1  # an open breaker starts nothing
        sign.touch()
        result = await client.call("up__echo", {"text": "x"})
        while failure_code(result):  # ends with the first probe after the reset time
            result = await client.call("up__echo", {"text": "x"})
        assert text(result) == "x"
        assert len(control.seen("call", tool="echo")) == 1


async def test_timeouts_count_for_the_breaker(home: Home, control: Control) -> None:
    limits = {"call_timeout_seconds": 0.2, "breaker_failures": 2, "breaker_reset_seconds": 60.0}
    home.configure({"up": control.server("up", **limits, **QUICK)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__block")
        for _ in range(2):
            assert failure_code(await client.call("up__block")) in ("timeout", "outcome_unknown")
        assert failure_code(await client.call("up__echo", {"text": "x"})) == "unavailable"
        assert not control.seen("call", tool="echo")


async def test_a_success_in_between_keeps_it_closed(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up", breaker_failures=2, **QUICK)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__crash")
        for n in range(4):
            assert failure_code(await client.call("up__crash")) == "outcome_unknown"
            assert text(await client.call("up__echo", {"text": str(n)})) == str(n)


async def test_calls_queue_and_then_it_is_busy(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up", max_in_flight=2), "other": control.server("other")})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__block", "other__echo")
        sent = [
            await client.send("tools/call", {"name": "up__block", "arguments": {"n": n}}) for n in range(2 + 256 + 1)
        ]
        busy = await client.answer(sent[-1])
        assert failure_code(busy["result"]) == "busy"
        assert busy["result"]["_meta"]["remora/error"]["retryable"] is True
        await control.until("blocked", count=2)
        assert text(await client.call("other__echo", {"text": "free"})) == "free"
        assert len(control.seen("blocked")) == 2
        served = 0
        while served < 258:
            served = len(control.seen("blocked"))
            await control.tell("up", "release")
            if served < 258:
                await control.until("blocked", count=served + 1)
        for identity in sent[:-1]:
            assert text((await client.answer(identity))["result"]) == "released"
        order = [report["arguments"]["n"] for report in control.seen("blocked")]
        assert order == sorted(order)  # first come, first served


@pytest.mark.parametrize("kind", FRONTS)
async def test_calls_do_not_wait_for_each_other(home: Home, control: Control, kind: str) -> None:
    home.configure({"up": control.server("up")})
    async with front(home, kind) as client:
        await client.tools_with("up__block")
        sent = [await client.send("tools/call", {"name": "up__block", "arguments": {}}) for _ in range(20)]
        await control.until("blocked", count=20)  # all are running at one time, on one connection
        await control.tell("up", "release")
        for identity in sent:
            assert text((await client.answer(identity))["result"]) == "released"
        assert len(control.seen("start")) == 1


@pytest.mark.parametrize("id_at", ["start", "end"])
async def test_a_huge_answer_fails_only_its_own_call(home: Home, control: Control, id_at: str) -> None:
    home.configure({"up": control.server("up")})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__huge")
        (pid,) = control.alive("up")
        blocked = await client.send("tools/call", {"name": "up__block", "arguments": {}})
        await control.until("blocked")
        result = await client.call("up__huge", {"mb": 200, "id_at": id_at}, timeout=60)
        assert failure_code(result) == "result_too_large"
        assert not client.answered(blocked)
        assert len(text(await client.call("up__big", {"n": 30 * MB}))) == 30 * MB
        await control.tell("up", "release")
        assert text((await client.answer(blocked))["result"]) == "released"
        assert control.alive("up") == {pid}


async def test_a_huge_answer_of_nobody_knows_whom(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up", max_message_bytes=MB)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__huge")
        blocked = await client.send("tools/call", {"name": "up__block", "arguments": {}})
        await control.until("blocked")
        assert failure_code(await client.call("up__huge", {"mb": 2, "id_at": "middle"})) == "result_too_large"
        assert failure_code((await client.answer(blocked))["result"]) == "result_too_large"
        assert text(await client.call("up__echo", {"text": "on"})) == "on"
        assert len(control.seen("start")) == 1


@pytest.mark.parametrize("sse", [True, False])
@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_huge_answers_over_http_are_cut_off(home: Home, era: str, sse: bool) -> None:
    async with HttpUpstream("up", "--era", era, sse=sse) as up:
        home.configure({"up": {"url": up.url, "max_message_bytes": MB}})
        async with front(home, "stdio-handshake") as client:
            await client.tools_with("up__big")
            assert failure_code(await client.call("up__big", {"n": 8 * MB})) == "result_too_large"
            assert len(text(await client.call("up__big", {"n": MB // 2}))) == MB // 2
            assert len(up.calls("big")) == 2


async def test_a_refused_login_says_so_and_is_not_hammered(home: Home, control: Control) -> None:
    async with HttpUpstream("up", token="right") as up:
        wrong = {"url": up.url, "reconnect_delay_seconds": 0.05, "headers": {"Authorization": "Bearer wrong"}}
        home.configure({"up": wrong, "good": control.server("good")}, catalog={"first_list_wait_seconds": 1.0})
        async with front(home, "stdio-handshake") as client:
            await client.tools_with("good__echo")
            assert "login needed" in text(await client.call("remora", {"action": "status"}))
            asked = len(up.requests)
            assert asked < 5
            assert text(await client.call("good__echo", {"text": "hi"})) == "hi"
            assert len(up.requests) == asked
            home.configure(
                {"up": {"url": up.url, "auth": {"type": "bearer", "token": "right"}}, "good": control.server("good")}
            )
            await client.tools_with("up__echo")
            assert text(await client.call("up__echo", {"text": "in"})) == "in"
            assert "right" not in home.errors.read_text()


async def test_a_url_without_transport_falls_back_to_sse(home: Home) -> None:
    async with HttpUpstream("up", deprecated=True) as up, HttpUpstream("named", deprecated=True) as named:
        home.configure({"up": {"url": up.url}, "named": {"url": named.url, "transport": "sse"}})
        async with front(home, "stdio-modern") as client:
            await client.tools_with("up__echo", "named__echo")
            for name in ("up", "named"):
                assert text(await client.call(f"{name}__echo", {"text": name})) == name
                params = {"steps": 2}
                await client.call(f"{name}__progress", params, meta={"progressToken": name})
            assert len(client.notes("notifications/progress")) == 4


async def test_outbound_headers(home: Home) -> None:
    async with HttpUpstream("up", "--era", "modern", "--broken-header") as up:
        home.configure({"up": {"url": up.url, "headers": {"X-Team": "${TEAM}"}}})
        async with front(home, "stdio-handshake", env={"TEAM": "blue"}) as client:
            tools = await client.tools_with("up__with_header")
            assert "up__broken_header" not in tools
            await client.call("up__with_header", {"region": "süd"})
            (request,) = up.messages("tools/call")
            assert request.headers["x-team"] == "blue"
            assert request.headers["mcp-protocol-version"] == "2026-07-28"
            assert request.headers["mcp-method"] == "tools/call"
            assert request.headers["mcp-name"] == "with_header"
            assert request.headers["mcp-param-region"] == "=?base64?c8O8ZA==?="
    async with HttpUpstream("old") as old:
        home.configure({"old": {"url": old.url}})
        async with front(home, "stdio-modern") as client:
            await client.tools_with("old__echo")
            await client.call("old__echo", {"text": "x"})
            for request in old.requests:
                message = request.message.get("method")
                if message not in (None, "initialize", "server/discover"):
                    assert request.headers["mcp-protocol-version"] == "2025-11-25"
                    assert request.headers["mcp-session-id"]


async def test_an_http_server_is_left_properly(home: Home) -> None:
    async with HttpUpstream("up") as up:
        home.configure({"up": {"url": up.url}})
        async with front(home, "stdio-handshake") as client:
            await client.tools_with("up__echo")
            with pytest.raises(Failure):
                await client.call("up__refuse")
        assert [request.verb for request in up.requests].count("DELETE") == 1
