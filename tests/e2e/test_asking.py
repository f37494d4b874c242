"""Servers that ask the client: parked calls, missing capabilities, several fronts on one server."""

from __future__ import annotations

import json

import pytest
from tests.support.client import EVERYTHING, Client, Failure, Message, text
from tests.support.control import Control
from tests.support.fronts import SERVER_KEY, front, user
from tests.support.home import Home

ANSWER = {"action": "accept", "content": {"answer": "me"}}


async def parked(client: Client, arguments: Message | None = None) -> tuple[Message, Message]:
    """The params of a call that waits for input, and its `input_required` result."""
    params = {"name": "up__elicit", "arguments": arguments or {}}
    result = await client.result("tools/call", params)
    assert result["resultType"] == "input_required"
    return params, result


def given(result: Message, answer: Message | None = None) -> Message:
    answers = dict.fromkeys(result["inputRequests"], answer or ANSWER)
    return {"inputResponses": answers, "requestState": result["requestState"]}


@pytest.mark.parametrize("kind", ["stdio-modern", "http-modern"])
async def test_a_handshake_servers_question_parks_the_call(home: Home, control: Control, kind: str) -> None:
    home.configure({"up": control.server("up")})
    async with front(home, kind, **user(home)) as client:
        await client.tools_with("up__elicit")
        params, result = await parked(client)
        (asked,) = result["inputRequests"].values()
        assert asked["method"] == "elicitation/create"
        assert asked["params"]["message"] == "Question 0?"
        assert asked["params"]["x-vendor"] == {"q": 1}
        done = await client.result("tools/call", {**params, **given(result)})
        assert done["resultType"] == "complete"
        assert done["structuredContent"] == {"answers": [ANSWER]}
        assert len(control.seen("call", tool="elicit")) == 1  # resumed, never called anew


async def test_a_server_may_ask_several_times(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with front(home, "stdio-modern", **user(home)) as client:
        await client.tools_with("up__elicit")
        params, first = await parked(client, {"times": 2})
        second = await client.result("tools/call", {**params, **given(first, {"action": "decline"})})
        assert second["resultType"] == "input_required"
        done = await client.result("tools/call", {**params, **given(second, {"action": "cancel"})})
        assert [answer["action"] for answer in done["structuredContent"]["answers"]] == ["decline", "cancel"]


async def test_a_state_that_is_not_ours_is_refused(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with front(home, "stdio-modern", **user(home)) as client:
        await client.tools_with("up__elicit")
        params, result = await parked(client)
        state = result["requestState"]
        middle = len(state) // 2
        altered = state[:middle] + ("A" if state[middle] != "A" else "B") + state[middle + 1 :]
        for wrong in (altered, "", "up:0", state[:-1], state + "A"):
            with pytest.raises(Failure) as failure:
                await client.result("tools/call", {**params, **given(result), "requestState": wrong})
            assert failure.value.code == -32602, wrong
        done = await client.result("tools/call", {**params, **given(result)})
        assert done["structuredContent"] == {"answers": [ANSWER]}
        with pytest.raises(Failure) as failure:  # answered already
            await client.result("tools/call", {**params, **given(result)})
        assert failure.value.code == -32602


async def test_a_modern_servers_own_state_passes_unchanged(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up", "--era", "modern")})
    async with front(home, "stdio-modern", **user(home)) as client:
        await client.tools_with("up__elicit")
        params, result = await parked(client)
        assert result["requestState"] == "up:0"
        assert result["x-vendor"] == 1
        done = await client.result("tools/call", {**params, **given(result)})
        assert done["_meta"][SERVER_KEY]["name"] == "up"
        with pytest.raises(Failure, match="foreign requestState"):  # its own to refuse
            await client.result("tools/call", {**params, **given(result), "requestState": "up:99"})


async def test_a_parked_call_can_be_left_alone(home: Home, control: Control) -> None:
    """The agent never comes back: the server works on for others."""
    home.configure({"up": control.server("up")})
    async with front(home, "stdio-modern", **user(home)) as client:
        await client.tools_with("up__elicit")
        await parked(client)
        assert text(await client.call("up__echo", {"text": "on"})) == "on"
        assert await client.end() == 0  # type: ignore[attr-defined]
    await control.all_ended()


@pytest.mark.parametrize(
    ("kind", "era"),
    [("stdio-handshake", "handshake"), ("stdio-handshake", "modern"), ("stdio-modern", "handshake")],
)
async def test_a_client_that_cannot_be_asked(home: Home, control: Control, kind: str, era: str) -> None:
    """The server gets an error, and the client an answer, never silence."""
    home.configure({"up": control.server("up", "--era", era)})
    async with front(home, kind) as client:
        await client.tools_with("up__elicit")
        message = await client.ask("tools/call", {"name": "up__elicit", "arguments": {}})
        assert "error" in message
        if kind == "stdio-modern":
            assert message["error"]["code"] == -32021
            assert "elicitation" in message["error"]["data"]["requiredCapabilities"]
        if era == "handshake":
            assert "error" in (await control.until("answer"))["message"]
        assert text(await client.call("up__echo", {"text": "on"})) == "on"


async def test_a_clients_refusal_reaches_the_server(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    options = {"capabilities": EVERYTHING}  # claims everything, answers nothing
    async with front(home, "stdio-handshake", **options) as client:
        await client.tools_with("up__sample")
        with pytest.raises(Failure) as failure:
            await client.call("up__sample")
        assert failure.value.code == -32601


async def test_each_question_goes_to_the_front_it_belongs_to(home: Home, control: Control) -> None:
    """With two calls in flight a shared connection cannot tell; a back channel of one's own can."""
    home.configure({"up": control.server("up"), "own": control.server("own", back_channel=True)})
    who = [{"handlers": {"elicitation/create": lambda _, n=n: {**ANSWER, "content": {"answer": n}}}} for n in "ab"]
    async with home.serve() as gateway:
        one, two = (gateway.client(capabilities=EVERYTHING, **options) for options in who)
        async with one, two:
            for client in (one, two):
                await client.open()
                await client.tools_with("up__elicit", "own__elicit")
            blocked = await one.send("tools/call", {"name": "up__block", "arguments": {}})
            await control.until("blocked", name="up")
            message = await two.ask("tools/call", {"name": "up__elicit", "arguments": {}})
            assert message["error"]["code"] == -32603  # refused by us, passed on by the server
            await control.tell("up", "release")
            await one.answer(blocked)

            held = await one.send("tools/call", {"name": "own__block", "arguments": {}})
            await control.until("blocked", name="own")
            result = await two.call("own__elicit")
            assert result["structuredContent"]["answers"][0]["content"] == {"answer": "b"}
            pids = [json.loads(text(await client.call("own__whoami")))["pid"] for client in (one, two)]
            assert pids[0] != pids[1]
            await control.tell("own", "release")
            await one.answer(held)
