"""What comes through the gateway equals what the same server says directly: values, members and their order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.client import Client, StdioClient
from tests.support.control import Control
from tests.support.fronts import ERAS, bare, direct, front, own_meta, same, user
from tests.support.home import Home
from tests.support.http_upstream import HttpUpstream
from tests.support.scripted_tools import TOOLS

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("echo", {"text": "plain \u2028 \u0000 \ud7ff \U0001f980 \\ \" '"}),
    ("media", {}),
    ("weird", {}),
    ("complain", {"message": "it failed"}),
    ("refuse", {"code": -32001, "message": "not like that", "data": {"z": [1, {"a": None}], "a": 0.1}}),
    ("refuse", {"code": 7, "message": "", "data": "words"}),
    ("refuse", {"code": -32601, "message": "Method not found", "data": [1, 2]}),
    ("strict", {"q": "x"}),
    ("with_panel", {}),
    ("big", {"n": 1_000_000}),
    ("elicit", {}),
    ("sample", {}),
    ("progress", {"steps": 5}),
]
READS = [
    ("resources/read", {"uri": "test://up/a"}),
    ("resources/read", {"uri": "test://up/blob"}),
    ("resources/read", {"uri": "test://up/item/none-such%20x"}),
    ("prompts/get", {"name": "greet", "arguments": {"who": "\u00e9"}}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": ""}}),
]


async def outcome(client: Client, method: str, params: dict[str, Any]) -> Any:
    """The result, or the error object, of a request; progress and other notes are compared apart."""
    message = await client.ask(method, params, meta={"progressToken": "p", "vendor/m": {"b": 1, "a": 2}})
    while message.get("result", {}).get("resultType") == "input_required":
        asked = message["result"]["inputRequests"]
        state = {"requestState": message["result"]["requestState"]}
        answers = {key: client.handlers[request["method"]](request["params"]) for key, request in asked.items()}
        message = await client.ask(method, {**params, "inputResponses": answers, **state})
    return message.get("result", message.get("error"))


def prefixed(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "prompts/get":
        return {**params, "name": f"up__{params['name']}"}
    if method == "completion/complete" and "name" in params["ref"]:
        return {**params, "ref": {**params["ref"], "name": f"up__{params['ref']['name']}"}}
    return params


@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_same_era_both_sides_changes_nothing(home: Home, control: Control, era: str) -> None:
    home.configure({"up": control.server("up", "--era", era)})
    async with (
        direct("up", "--era", era, era=era, **user(home)) as alone,
        front(home, f"stdio-{era}", **user(home)) as through,
    ):
        await alone.open()
        served = await through.tools_with("up__echo")
        for tool in await alone.listing("tools"):
            if f"up__{tool['name']}" in served:  # the others have names of their own, see the name guard
                assert same(served[f"up__{tool['name']}"], {**tool, "name": f"up__{tool['name']}"})
        assert same(await alone.listing("resources"), await through.listing("resources"))
        prompts = [{**prompt, "name": f"up__{prompt['name']}"} for prompt in await alone.listing("prompts")]
        assert same(prompts, await through.listing("prompts"))
        for name, arguments in CALLS:
            one = await outcome(alone, "tools/call", {"name": name, "arguments": arguments})
            other = await outcome(through, "tools/call", {"name": f"up__{name}", "arguments": arguments})
            assert same(one, other), name
        for method, params in READS:
            one = await outcome(alone, method, params)
            assert same(one, await outcome(through, method, prefixed(method, params))), method
        kinds = ("notifications/progress", "elicitation/create", "sampling/createMessage")
        for kind in kinds:
            params = [note["params"] for note in alone.notes(kind)]
            assert same(params, [note["params"] for note in through.notes(kind)])


@pytest.mark.parametrize("upstream", ERAS)
@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_across_eras_only_the_envelope_changes(home: Home, control: Control, era: str, upstream: str) -> None:
    home.configure({"up": control.server("up", "--era", upstream)})
    async with direct("up", **user(home)) as alone, front(home, f"stdio-{era}", **user(home)) as through:
        await alone.open()
        await through.tools_with("up__echo")
        for name, arguments in CALLS:
            one = await outcome(alone, "tools/call", {"name": name, "arguments": arguments})
            other = await outcome(through, "tools/call", {"name": f"up__{name}", "arguments": arguments})
            assert same(bare(one), bare(other)), name
            if era == "modern" and "code" not in other:
                assert other["resultType"] == "complete"
            if era == "handshake":
                assert "resultType" not in other
        for method, params in READS:
            one = await outcome(alone, method, params)
            assert same(bare(one), bare(await outcome(through, method, prefixed(method, params)))), method


@pytest.mark.parametrize("sse", [True, False])
@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_an_http_upstream_is_as_faithful(home: Home, era: str, sse: bool) -> None:
    async with HttpUpstream("up", "--era", era, sse=sse) as up:
        home.configure({"up": {"url": up.url}})
        async with direct("up", **user(home)) as alone, front(home, "stdio-handshake", **user(home)) as through:
            await alone.open()
            await through.tools_with("up__echo")
            for name, arguments in CALLS:
                one = await outcome(alone, "tools/call", {"name": name, "arguments": arguments})
                other = await outcome(through, "tools/call", {"name": f"up__{name}", "arguments": arguments})
                assert same(bare(one), bare(other)), name


@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_the_upstream_receives_exactly_the_clients_arguments(home: Home, control: Control, era: str) -> None:
    home.configure({"up": control.server("up", "--era", era)})
    arguments = {
        "z": 1, "a": {"y": None, "b": [True, 1.5, 2**63, -0.0, 1e300]}, "": "empty key",
        "text": "\u2028\x7f", "_meta": {"inner": 1},
    }  # fmt: skip
    meta = {"vendor/one": {"z": 1, "a": [None]}, "x": "y", "progressToken": 5}
    async with front(home, f"stdio-{era}", **user(home)) as client:
        await client.tools_with("up__echo")
        await client.call("up__echo", arguments, meta=meta)
        call = await control.until("call", tool="echo")
        assert same(call["arguments"], arguments)
        assert same(own_meta(call["meta"]), own_meta(meta))
        await client.call("up__strict", {"q": "x", "_context_query": "why I ask"})
        assert (await control.until("call", tool="strict"))["arguments"] == {"q": "x"}
        await client.result("tools/call", {"name": "up__whoami"})  # no arguments member at all
        sent = control.reports.find(
            lambda report: report["event"] == "message" and report["message"].get("params", {}).get("name") == "whoami"
        )
        assert "arguments" not in sent[0]["message"]["params"]


async def test_a_hundred_pages_are_read_and_no_more(home: Home, control: Control) -> None:
    extra = 400 - (len(TOOLS) - 1)  # broken_header is not listed
    full = control.server("full", "--extra", str(extra), "--page", "4")
    home.configure({"full": full, "endless": control.server("endless", "--endless")})
    async with front(home, "stdio-handshake") as client:
        tools = await client.tools_with("full__echo", "endless__echo")
        assert len([name for name in tools if name.startswith("full__")]) == 400
        asked = [
            report["message"].get("params", {}).get("cursor")
            for report in control.seen("message", name="endless")
            if report["message"]["method"] == "tools/list"
        ]
        assert len(asked) == 100
        health = await client.call("remora", {"action": "health"})
        assert "incomplete" in json.dumps(health)


async def test_every_line_of_the_gateway_is_json(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up", "--babble")})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__echo")
        await client.call("up__weird")
        assert isinstance(client, StdioClient)
        assert client.garbage == []
