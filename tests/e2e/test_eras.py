"""Every front era before every upstream era: all that a server offers works, and vendor fields survive."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.support.client import LOG_LEVEL_KEY, Client, Failure, text
from tests.support.control import Control
from tests.support.fronts import ERAS, FRONTS, bare, front, same, user
from tests.support.home import Home

pytestmark = [pytest.mark.parametrize("kind", FRONTS), pytest.mark.parametrize("era", ERAS)]


@asynccontextmanager
async def before(home: Home, control: Control, kind: str, era: str) -> AsyncIterator[Client]:
    home.configure({"up": control.server("up", "--era", era)})
    query = f"?project={home.cwd}"
    async with front(home, kind, query, **user(home)) as client:
        await client.tools_with("up__echo")
        yield client


async def test_lists_and_reads(home: Home, control: Control, kind: str, era: str) -> None:
    async with before(home, control, kind, era) as client:
        tools = await client.tools()
        assert tools["up__echo"]["x-vendor"] == {"keep": [1, None]}
        assert tools["up__weird"]["_meta"] == {"anthropic/searchHint": "weird", "vendor/k": {"z": 1, "a": 2}}
        resources = {entry["uri"]: entry for entry in await client.listing("resources")}
        assert resources["test://up/a"]["x-vendor"] == {"r": [1]}
        templates = await client.listing("resources/templates", "resourceTemplates")
        assert templates == [{"uriTemplate": "test://up/item/{id}", "name": "item", "x-vendor": {"t": None}}]
        prompts = {entry["name"]: entry for entry in await client.listing("prompts")}
        assert prompts["up__greet"]["x-vendor"] == {"p": 1}

        for uri, content in (
            ("test://up/a", {"text": "test://up/a of up", "mimeType": "text/plain"}),
            ("test://up/item/7", {"text": "test://up/item/7 of up", "mimeType": "text/plain"}),
            ("test://up/blob", {"blob": "AAEC"}),
        ):
            read = bare(await client.result("resources/read", {"uri": uri}))
            expected = {"uri": uri, **content, "x-vendor": {"c": 1}, "_meta": {"v/k": 1}}
            assert same(read, {"contents": [expected], "x-top": 1})

        got = bare(await client.result("prompts/get", {"name": "up__greet", "arguments": {"who": "you"}}))
        assert got["messages"][0]["content"] == {"type": "text", "text": "Hello you from up", "x-vendor": 1}
        assert got["x-top"] == [1, None, 0.5]

        for reference in (
            {"type": "ref/prompt", "name": "up__greet"},
            {"type": "ref/resource", "uri": "test://up/item/{id}"},
        ):
            argument = {"name": "who", "value": "gre"}
            completed = bare(await client.result("completion/complete", {"ref": reference, "argument": argument}))
            values = {"values": ["green", "grey"], "total": 2, "x-vendor": 1}
            assert same(completed, {"completion": values, "x-top": True})

        with pytest.raises(Failure) as unknown:
            await client.result("prompts/get", {"name": "up__nobody"})
        assert unknown.value.code == -32602


async def test_calls_progress_logging_cancellation(home: Home, control: Control, kind: str, era: str) -> None:
    async with before(home, control, kind, era) as client:
        weird = bare(await client.call("up__weird"))
        assert list(weird) == ["content", "structuredContent", "x-top", "_meta"]
        assert weird["content"][0]["x-extra"] == 1
        assert weird["structuredContent"]["nested"] == [{"b": 1, "a": []}]

        result = await client.call("up__progress", {"steps": 3}, meta={"progressToken": "mine"})
        assert text(result) == "token=True"
        notes = [note["params"] for note in client.notes("notifications/progress")]
        assert notes == [
            {"progressToken": "mine", "progress": n + 1, "total": 3, "message": f"step {n}", "x-vendor": {"step": n}}
            for n in range(3)
        ]
        assert text(await client.call("up__progress", {"steps": 1})) == "token=False"

        if client.era == "handshake":
            await client.result("logging/setLevel", {"level": "info"})
            await client.call("up__log")
        else:
            await client.call("up__log")  # asks for no messages and gets none
            assert not client.notes("notifications/message")
            await client.call("up__log", meta={LOG_LEVEL_KEY: "info"})
        await client.noted("notifications/message", count=2)
        logged = [note["params"] for note in client.notes("notifications/message")]
        assert [(entry["level"], entry["data"]["said"], entry["x-vendor"]) for entry in logged] == [
            ("info", "info", 1),
            ("error", "error", 1),
        ]

        identity = await client.send("tools/call", {"name": "up__block", "arguments": {}})
        await control.until("blocked", name="up")
        await client.cancel(identity)
        await control.until("cancelled", name="up")
        assert text(await client.call("up__echo", {"text": "still here"})) == "still here"
        assert len(control.seen("start", name="up")) == 1


async def test_the_server_asks_the_client(home: Home, control: Control, kind: str, era: str) -> None:
    async with before(home, control, kind, era) as client:
        asked = []
        answer = client.handlers["elicitation/create"]
        client.handlers["elicitation/create"] = lambda params: (asked.append(params), answer(params))[1]
        elicited = await client.call("up__elicit")
        answers = [{"action": "accept", "content": {"answer": "me"}, "x-vendor": {"kept": 1}}]
        assert elicited["structuredContent"] == {"answers": answers}
        assert asked[0]["message"] == "Question 0?"
        assert asked[0]["x-vendor"] == {"q": 1}
        assert asked[0]["requestedSchema"]["required"] == ["answer"]

        sampled = await client.call("up__sample")
        assert sampled["structuredContent"] == client.handlers["sampling/createMessage"]({})

        rooted = await client.call("up__ask_roots")
        assert [root["uri"] for root in rooted["structuredContent"]["roots"]] == [home.cwd.as_uri()]

        prompt = await client.finish("prompts/get", {"name": "up__ask_first"})
        assert prompt["messages"][0]["content"]["text"] == "Hello me from up"
        assert len(control.seen("start", name="up")) == 1


async def test_changes_reach_the_client(home: Home, control: Control, kind: str, era: str) -> None:
    async with before(home, control, kind, era) as client:
        uri = "test://up/a"
        listen = await client.watch(resources=[uri])
        if client.era == "handshake":
            assert await client.result("resources/subscribe", {"uri": uri}) == {}
        await control.tell("up", "add_tool", tool="late")
        assert "up__late" in await client.tools_with("up__late")
        await control.tell("up", "add_prompt", prompt="late")
        await client.noted("notifications/prompts/list_changed")
        assert "up__late" in [prompt["name"] for prompt in await client.listing("prompts")]
        await control.tell("up", "add_resource", uri="test://up/late")
        await client.noted("notifications/resources/list_changed")
        assert "test://up/late" in [resource["uri"] for resource in await client.listing("resources")]

        await client.call("up__touch", {"uri": uri})
        updated = await client.noted("notifications/resources/updated")
        assert updated["params"]["uri"] == uri
        assert updated["params"]["x-vendor"] == "kept"
        await client.call("up__touch", {"uri": "test://up/other"})
        assert len(client.notes("notifications/resources/updated")) == 1
        if listen is None:
            assert await client.result("resources/unsubscribe", {"uri": uri}) == {}
        else:
            tagged = [note for note in client.inbox.items if note["method"].endswith(("changed", "updated"))]
            assert {note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] for note in tagged} == {listen}
        assert text(await client.call("up__late")) == "this is late"
