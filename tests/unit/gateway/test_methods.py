from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.gateway.fakes import HANDSHAKE, MODERN, handshake, settle, tool

from remora.errors import NotSent, RpcError
from remora.gateway import methods
from remora.gateway.connect import INSTANCE_KEY
from remora.gateway.eras import SERVER_KEY, SUBSCRIPTION_KEY
from remora.gateway.session import Principal, ViewKey
from remora.gateway.tasks import Tasks

CAN = {"tools": {}, "resources": {}, "prompts": {}, "tasks": {"list": {}}, "experimental": {"x": {"a": 1}}, "own": {}}
RESOURCES = [{"uri": "test://a", "name": "a"}, {"uri": "test://b", "name": "b"}]


def rich(**answers: Any) -> dict[str, Any]:
    """A server that offers everything, and repeats what it was asked."""

    def repeat(params: Any, _: Any) -> Any:
        return {"asked": params}

    said = {"protocolVersion": "2025-11-25", "capabilities": CAN, "instructions": "Be nice."}
    made = {
        "initialize": said,
        "resources/list": {"resources": RESOURCES},
        "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "item://{id}", "name": "item"}]},
        "prompts/list": {"prompts": [{"name": "greet", "x": 1}]},
        **{method: {} for method in ("resources/subscribe", "resources/unsubscribe", "logging/setLevel")},
        **dict.fromkeys(["resources/read", "prompts/get", "completion/complete", "tasks/get", "tasks/cancel"], repeat),
    }
    return {**handshake(**answers), **made}


@pytest.fixture
async def up(world):
    profiles = {"none": {"servers": []}}
    return await world({"up": {}}, lambda made: made.tables.update(up=rich()), profiles=profiles)


async def test_each_era_has_its_own_methods(up):
    assert methods.HANDSHAKE.keys() - methods.MODERN.keys() == {
        "initialize", "ping", "resources/subscribe", "resources/unsubscribe", "logging/setLevel"
    }  # fmt: skip
    assert methods.MODERN.keys() - methods.HANDSHAKE.keys() == {"server/discover", "subscriptions/listen"}
    for front, method in ((up.front(), "server/discover"), (up.front(MODERN), "ping"), (up.front(), "vendor/x")):
        with pytest.raises(RpcError, match=f"Method not found: {method}") as refused:
            await up.ask(front, method)
        assert refused.value.code == -32601
    assert await up.ask(up.front(), "ping") == {}


async def test_what_the_gateway_says_of_itself(up):
    said = await up.ask(up.front(), "initialize")
    assert (said["protocolVersion"], said["serverInfo"]["name"]) == ("2025-11-25", "remora")
    assert said["instructions"].endswith("## up\nBe nice.")
    assert said["_meta"] == {INSTANCE_KEY: up.gateway.instance}
    can = said["capabilities"]
    assert (can["tasks"], can["experimental"]) == ({"list": {}}, {"x": {"a": 1}})
    assert (can["tools"], can["resources"]) == ({"listChanged": True}, {"subscribe": True, "listChanged": True})
    assert "own" not in can
    found = await up.ask(up.front(MODERN), "server/discover")
    assert found["supportedVersions"] == ["2026-07-28"]
    assert (found["capabilities"], found["instructions"]) == (can, said["instructions"])
    assert found["_meta"].keys() == {SERVER_KEY, INSTANCE_KEY}


@pytest.mark.parametrize(
    ("method", "key", "first"),
    [
        ("tools/list", "tools", "up__echo"),
        ("resources/list", "resources", "test://a"),
        ("resources/templates/list", "resourceTemplates", "item://{id}"),
        ("prompts/list", "prompts", "up__greet"),
    ],
)
async def test_lists(up, method, key, first):
    front = up.front()
    listed = await up.ask(front, method)
    assert first in listed[key][0].values()
    assert (list(listed), front.session.listed) == ([key], True)
    stamped = await up.ask(up.front(MODERN), method)
    assert stamped[key] == listed[key]
    assert (stamped["resultType"], stamped["ttlMs"], stamped["cacheScope"]) == ("complete", 60_000, "private")
    assert stamped["_meta"][SERVER_KEY]["name"] == "remora"


async def test_pages(world):
    many = handshake(tools__list={"tools": [tool(f"t{n}") for n in range(5)]})
    made = await world({"up": {}}, lambda made: made.tables.update(up=many), catalog={"page_size": 2})
    front, seen, cursor = made.front(), [], {}
    for _ in range(3):
        page = await made.ask(front, "tools/list", **cursor)
        seen.append([entry["name"][-1] for entry in page["tools"]])
        cursor = {"cursor": page.get("nextCursor")}
    assert (seen, cursor) == ([["0", "1"], ["2", "3"], ["4"]], {"cursor": None})
    for wrong in ("x", 5, "", ["x"], methods._cursor(1), methods._cursor(6)):
        with pytest.raises(RpcError, match="cursor is not one of ours") as refused:
            await made.ask(front, "tools/list", cursor=wrong)
        assert refused.value.code == -32602


async def test_one_page_has_no_cursor(up):
    assert "nextCursor" not in await up.ask(up.front(), "tools/list")
    with pytest.raises(RpcError, match="cursor"):
        await up.ask(up.front(), "tools/list", cursor=methods._cursor(0))


async def test_requests_reach_the_server_under_its_own_names(up):
    front = up.front()
    for method, params, sent in (
        ("resources/read", {"uri": "test://a", "x": 1}, {"uri": "test://a", "x": 1}),
        ("resources/read", {"uri": "item://9"}, {"uri": "item://9"}),
        ("prompts/get", {"name": "up__greet", "arguments": {"a": 1}}, {"name": "greet", "arguments": {"a": 1}}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "up__greet"}},
         {"ref": {"type": "ref/prompt", "name": "greet"}}),
        ("completion/complete", {"ref": {"type": "ref/resource", "uri": "item://{id}"}},
         {"ref": {"type": "ref/resource", "uri": "item://{id}"}}),
    ):  # fmt: skip
        assert await up.ask(front, method, **params) == {"asked": sent}


async def test_a_moved_resource_is_read_where_it_comes_from(world):
    made = await world({"one": {}, "two": {}}, lambda made: made.tables.update(one=rich(), two=rich()))
    read = await made.ask(made.front(), "resources/read", uri="rem://two/test%3A%2F%2Fa")
    assert made.link("two").sent[-1] == ("resources/read", {"uri": "test://a"})
    assert read == {"asked": {"uri": "rem://two/test%3A%2F%2Fa"}}
    with pytest.raises(RpcError, match="No server, or more than one"):
        await made.ask(made.front(), "resources/read", uri="item://9")


@pytest.mark.parametrize(
    ("method", "params", "named"),
    [
        ("resources/read", {}, "uri must be a string"),
        ("resources/read", {"uri": "nothing://"}, "nothing://"),
        ("prompts/get", {"name": ["x"]}, "name must be a string"),
        ("prompts/get", {"name": "greet"}, "Unknown prompt: greet"),
        ("completion/complete", {"ref": "x"}, "ref must be an object"),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": []}}, "name must be a string"),
        ("completion/complete", {"ref": {"type": "ref/resource", "uri": {}}}, "uri must be a string"),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}}, "nothing is known of 'x'"),
        ("resources/subscribe", {"uri": 5}, "uri must be a string"),
        ("resources/subscribe", {"uri": "nothing://"}, "nothing://"),
        ("resources/unsubscribe", {}, "uri must be a string"),
        ("logging/setLevel", {"level": "loud"}, "level must be one of debug"),
        ("logging/setLevel", {"level": ["debug"]}, "level must be one of debug"),
        ("tasks/get", {"taskId": []}, "Unknown task"),
        ("tools/call", {"name": 5}, "name must be a string"),
    ],
)
async def test_wrong_params_are_named(up, method, params, named):
    with pytest.raises(RpcError, match=named) as refused:
        await up.ask(up.front(), method, **params)
    assert refused.value.code == -32602


async def test_a_failure_of_the_gateway_is_an_error_that_says_what_failed(up):
    up.link("up").answers["resources/read"] = NotSent("away", retry_after=4.0)
    with pytest.raises(RpcError, match=r'remora: server "up" is unavailable \(away\); next attempt in 4 s') as failed:
        await up.ask(up.front(), "resources/read", uri="test://a")
    data = failed.value.data
    assert failed.value.code == -32603
    assert (data.pop("trace_id") != "", data) == (
        True,
        {"code": "unavailable", "server": "up", "tool": "resources/read", "retryable": True, "retry_after_ms": 4000},
    )


async def test_a_task_belongs_to_whoever_began_it(up):
    up.gateway.tasks = Tasks()
    up.gateway.tasks.remember({"taskId": "t"}, "up", "ann")
    logins = Principal("ann", "write"), Principal("ann", "read"), Principal("eve", "admin")
    ann, reader, eve = (up.front(principal=login) for login in logins)
    assert await up.ask(ann, "tasks/cancel", taskId="t") == {"asked": {"taskId": "t"}}
    assert await up.ask(reader, "tasks/get", taskId="t") == {"asked": {"taskId": "t"}}
    blind = up.front(principal=logins[0], view=ViewKey("none"))
    for front, method in ((reader, "tasks/cancel"), (eve, "tasks/get"), (blind, "tasks/get")):
        with pytest.raises(RpcError, match="Unknown task: t"):
            await up.ask(front, method, taskId="t")


async def test_watching_a_resource(up):
    said: list[Any] = []
    front = up.front(standing=lambda *message: said.append(message))
    assert await up.ask(front, "resources/subscribe", uri="test://a") == {}
    up.gateway.servers["up"].upstream(None).link_notified(
        "notifications/resources/updated", {"uri": "test://a", "x": 1}
    )
    assert said == [("notifications/resources/updated", {"uri": "test://a", "x": 1})]
    assert await up.ask(front, "resources/unsubscribe", uri="test://a") == {}
    assert up.link("up").methods()[-2:] == ["resources/subscribe", "resources/unsubscribe"]


async def test_a_log_level_is_kept_and_passed_on(up):
    front = up.front()
    up.gateway.servers["up"].manifest.capabilities["logging"] = {}
    assert await up.ask(front, "logging/setLevel", level="debug") == {}
    await settle()
    assert front.session.log_level == "debug"
    assert up.link("up").sent[-1] == ("logging/setLevel", {"level": "debug"})


async def test_a_listen_stream_says_what_it_serves_and_then_what_changes(up, clock):
    front = up.front(MODERN)
    wanted = {"toolsListChanged": True, "resourceSubscriptions": ["test://a", "unknown://"], "x": 1}
    listening = asyncio.create_task(up.ask(front, "subscriptions/listen", notifications=wanted))
    await settle()
    tag = {"_meta": {SUBSCRIPTION_KEY: front.request_id}}
    served = {"toolsListChanged": True, "resourceSubscriptions": ["test://a", "unknown://"]}
    assert front.notified == [("notifications/subscriptions/acknowledged", {"notifications": served, **tag})]
    up.gateway.resource_updated(up.gateway.servers["up"].upstream(None), {"uri": "test://a"})
    up.link("up").answers["tools/list"] = {"tools": []}
    await up.gateway.servers["up"].upstream(None).refresh()
    assert front.notified[1:] == [
        ("notifications/resources/updated", {"uri": "test://a", **tag}),
        ("notifications/tools/list_changed", tag),
    ]
    up.gateway.listeners.close()
    assert await listening == {"resultType": "complete", **tag}
    assert not up.gateway.listeners.all


async def test_a_listen_stream_that_is_closed_watches_nothing_any_more(up):
    listening = asyncio.create_task(
        up.ask(up.front(MODERN), "subscriptions/listen", notifications={"resourceSubscriptions": ["test://a"]})
    )
    await settle()
    listening.cancel()
    await settle()
    assert not up.gateway.listeners.all
    assert up.link("up").methods()[-1] == "resources/unsubscribe"
    assert HANDSHAKE.modern is False
