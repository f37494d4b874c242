"""Resources, prompts and completions of several servers: collisions, templates, switches, `ui://` links."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from tests.support.client import Failure, text
from tests.support.control import Control
from tests.support.fronts import front
from tests.support.home import Home

SAME, PANEL = "file:///shared/notes.txt", "ui://panel"


async def test_equal_uris_of_two_servers(home: Home, control: Control) -> None:
    home.configure(
        {name: control.server(name, "--resource", SAME, "--resource", PANEL) for name in ("first", "second")},
    )
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("first__echo", "second__echo")
        listed = [resource["uri"] for resource in await client.listing("resources")]
        assert len(listed) == len(set(listed))
        renamed, panel = f"rem://second/{quote(SAME, safe='')}", "ui://second.panel"
        assert {SAME, renamed, PANEL, panel} <= set(listed)
        for uri, owner in ((SAME, "first"), (renamed, "second"), (PANEL, "first"), (panel, "second")):
            (content,) = (await client.result("resources/read", {"uri": uri}))["contents"]
            assert content["uri"] == uri
            assert content["text"].endswith(f"of {owner}")
        tools = await client.tools()
        assert tools["first__with_panel"]["_meta"]["ui"]["resourceUri"] == PANEL
        assert tools["second__with_panel"]["_meta"]["ui"]["resourceUri"] == panel
        (link,) = (await client.call("second__with_panel"))["content"]
        assert link["uri"] == panel
        (link,) = (await client.call("first__with_panel"))["content"]
        assert link["uri"] == PANEL

        await client.result("resources/subscribe", {"uri": renamed})
        await client.call("first__touch", {"uri": SAME})
        await client.call("second__touch", {"uri": SAME})
        updated = await client.noted("notifications/resources/updated")
        assert updated["params"]["uri"] == renamed
        assert len(client.notes("notifications/resources/updated")) == 1


async def test_unlisted_uris_go_to_the_one_server_that_fits(home: Home, control: Control) -> None:
    home.configure({"first": control.server("first"), "second": control.server("second")})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("first__echo", "second__echo")
        (content,) = (await client.result("resources/read", {"uri": "test://second/item/5"}))["contents"]
        assert content["text"] == "test://second/item/5 of second"
        for nobodys in ("test://third/item/5", "http://x", "", "rem://first/x", "rem://", "ui://none"):
            with pytest.raises(Failure) as failure:
                await client.result("resources/read", {"uri": nobodys})
            assert failure.value.code == -32602, nobodys
        with pytest.raises(Failure) as failure:
            await client.result(
                "completion/complete",
                {"ref": {"type": "ref/prompt", "name": "nobody"}, "argument": {"name": "a", "value": ""}},
            )
        assert failure.value.code == -32602


async def test_a_server_may_keep_its_resources_and_prompts(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up", resources=False, prompts=False), "other": control.server("other")})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__echo", "other__echo")
        assert {entry["uri"].split("/")[2] for entry in await client.listing("resources")} == {"other"}
        assert {entry["name"].split("__")[0] for entry in await client.listing("prompts")} == {"other"}
        templates = await client.listing("resources/templates", "resourceTemplates")
        assert [entry["uriTemplate"] for entry in templates] == ["test://other/item/{id}"]
        with pytest.raises(Failure):
            await client.result("resources/read", {"uri": "test://up/a"})
        with pytest.raises(Failure):
            await client.result("prompts/get", {"name": "up__greet"})


@pytest.mark.parametrize("kind", ["http-handshake", "http-modern"])
async def test_a_subscription_lives_as_long_as_its_last_listener(home: Home, control: Control, kind: str) -> None:
    home.configure({"up": control.server("up")})
    uri, era = "test://up/a", kind.split("-")[1]
    async with home.serve() as gateway, gateway.client(era=era) as one, gateway.client(era=era) as two:
        listens = []
        for client in (one, two):
            await client.open()
            await client.tools_with("up__echo")
            listens.append(await client.watch("tools", resources=[uri]))
            if era == "handshake":
                await client.result("resources/subscribe", {"uri": uri})
        await control.tell("up", "touch", uri=uri)
        for client in (one, two):
            await client.noted("notifications/resources/updated")
        subscribed = control.reports.find(
            lambda report: report.get("message", {}).get("method") == "resources/subscribe"
        )
        assert len(subscribed) == 1
        for client, listen in zip((one, two), listens, strict=True):
            assert not control.reports.find(
                lambda report: report.get("message", {}).get("method") == "resources/unsubscribe"
            )
            if listen is None:
                await client.result("resources/unsubscribe", {"uri": uri})
            else:
                await client.cancel(listen)
        await control.reports.until(lambda report: report.get("message", {}).get("method") == "resources/unsubscribe")
        assert text(await two.call("up__echo", {"text": "on"})) == "on"
