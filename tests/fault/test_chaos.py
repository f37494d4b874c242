"""Many calls while the server dies again and again: each is answered once, none runs twice, the gateway stays whole."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.support.client import failure_code, text
from tests.support.control import Control
from tests.support.fronts import front, user
from tests.support.home import Home
from tests.support.http_upstream import HttpUpstream

QUICK = {"reconnect_delay_seconds": 0.02, "max_reconnect_delay_seconds": 0.05, "breaker_failures": 1000}


@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_calls_through_repeated_crashes(home: Home, control: Control, era: str) -> None:
    home.configure({"up": control.server("up", "--era", era, **QUICK), "calm": control.server("calm")})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__echo", "calm__echo")
        sent: dict[int, str] = {}
        for n in range(300):
            name, arguments = ("crash", {}) if n % 30 == 29 else ("echo", {"text": str(n)})
            sent[await client.send("tools/call", {"name": f"up__{name}", "arguments": arguments})] = str(n)
            if n % 10 == 0:
                assert text(await client.call("calm__echo", {"text": "calm"})) == "calm"
        for identity, words in sent.items():
            result = (await client.answer(identity))["result"]
            assert failure_code(result) in ("unavailable", "outcome_unknown") or text(result) == words
        ran = Counter(report["arguments"].get("text") for report in control.seen("call", name="up", tool="echo"))
        assert set(ran.values()) <= {1}
        assert text(await client.call("up__echo", {"text": "after"})) == "after"
        assert len(control.alive("calm")) == 1
        assert not client.inbox.find(lambda message: "answered twice" in message)


async def test_calls_through_a_server_that_resets_connections(home: Home) -> None:
    async with HttpUpstream("up") as up:
        home.configure({"up": {"url": up.url, **QUICK}})
        async with front(home, "stdio-modern") as client:
            await client.tools_with("up__echo")
            up.trouble["tools/call"] = ["cut", "pass", "obey and cut", "pass", 500, "pass"] * 20
            sent = {
                await client.send("tools/call", {"name": "up__echo", "arguments": {"text": str(n)}}): str(n)
                for n in range(120)
            }
            for identity, words in sent.items():
                result = (await client.answer(identity))["result"]
                assert failure_code(result) == "outcome_unknown" or text(result) == words
            ran = Counter(call["arguments"]["text"] for call in up.calls("echo"))
            assert set(ran.values()) <= {1}
            assert len(up.messages("tools/call")) == 120


async def test_a_cancelled_call_leaves_the_queue(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up", max_in_flight=1)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__block")
        running = await client.send("tools/call", {"name": "up__block", "arguments": {}})
        await control.until("blocked")
        waiting = await client.send("tools/call", {"name": "up__echo", "arguments": {"text": "never"}})
        await client.cancel(waiting)
        last = await client.send("tools/call", {"name": "up__echo", "arguments": {"text": "last"}})
        await control.tell("up", "release")
        assert text((await client.answer(running))["result"]) == "released"
        assert text((await client.answer(last))["result"]) == "last"
        assert [report["arguments"]["text"] for report in control.seen("call", tool="echo")] == ["last"]


async def test_a_client_that_leaves_takes_its_calls_along(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with home.serve() as gateway, gateway.client() as stays:
        await stays.open()
        await stays.tools_with("up__block")
        for era in ("handshake", "modern"):
            async with gateway.client(era=era, **user(home)) as leaves:
                await leaves.open()
                await leaves.send("tools/call", {"name": "up__block", "arguments": {"of": era}})
                await control.reports.until(
                    lambda report, era=era: report["event"] == "blocked" and report["arguments"] == {"of": era}
                )
        await control.until("cancelled", count=2)  # a session that is deleted, a stream that is closed
        assert text(await stays.call("up__echo", {"text": "on"})) == "on"


async def test_a_hundred_and_one_questions_nobody_answers(home: Home, control: Control) -> None:
    """Calls parked for input are limited; what is beyond gets an answer, and the server can still be used."""
    home.configure({"up": control.server("up", max_in_flight=0)})
    async with front(home, "stdio-modern", **user(home)) as client:
        await client.tools_with("up__elicit")
        params = {"name": "up__elicit", "arguments": {}}
        first = await client.result("tools/call", params)
        for _ in range(105):
            await client.ask("tools/call", params)
        assert text(await client.call("up__echo", {"text": "on"})) == "on"
        state = {"requestState": first["requestState"]}
        answers = {key: {"action": "decline"} for key in first["inputRequests"]}
        await client.ask("tools/call", {**params, **state, "inputResponses": answers})
