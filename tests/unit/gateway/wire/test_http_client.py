from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from tests.unit.gateway.fakes import Events
from tests.unit.gateway.wire.ports import events, port, result, status

from remora.errors import NotSent, ResultTooLarge, RpcError
from remora.gateway import eras
from remora.gateway.wire import http_client
from remora.gateway.wire.http_client import HttpLink, shown
from remora.gateway.wire.link import Exchange, LinkLost, LoginNeeded, NotFoundHere, TryOnceMore

DONE = {"jsonrpc": "2.0", "id": "ID", "result": {"ok": 1}}


@asynccontextmanager
async def link_to(there, told=None, **keys):
    link = HttpLink(there.endpoint(**keys), told or Events())
    try:
        yield link
    finally:
        await link.close()


def call(link, exchange=None, **params):
    return link.request("tools/call", {"name": "t", **params}, exchange or Exchange())


async def test_a_json_answer_is_the_result():
    async with port(tools__call=result({"ok": 1})) as there, link_to(there, Authorization="Bearer t") as link:
        assert await call(link) == {"ok": 1}
        assert there.requests[0].headers["authorization"] == "Bearer t"
        assert there.requests[0].headers["mcp-protocol-version"] == "2025-11-25"
        assert json.loads(there.requests[0].body)["params"] == {"name": "t"}


async def test_messages_before_the_answer_belong_to_its_call():
    told = []
    exchange = Exchange(lambda method, params: told.append((method, params)))
    exchange.progress_token = "theirs"
    progress = {"method": "notifications/progress", "params": {"progressToken": "ID", "progress": 1}}
    other = {"method": "notifications/progress", "params": {"progressToken": 99}}
    said = {"method": "notifications/message", "params": {"data": "x"}}
    answering = events(": hello\n\n", "data: no json\n\n", {"method": 5}, [1], progress, other, said, DONE)
    async with port(tools__call=answering) as there, link_to(there) as link:
        assert await call(link, exchange) == {"ok": 1}
    assert told == [
        ("notifications/progress", {"progressToken": "theirs", "progress": 1}),
        ("notifications/message", {"data": "x"}),
    ]
    assert there.requests[0].message["params"]["_meta"] == {"progressToken": 1}


async def test_a_question_is_answered_by_a_post():
    async def stream(exchange, request):
        exchange.open_stream()
        exchange.event(json.dumps({"jsonrpc": "2.0", "id": "q", "method": "roots/list"}))
        await there.until("POST", 2)
        exchange.event(json.dumps({**DONE, "id": request.message["id"]}))

    async def roots(method, params):
        return {"roots": []}

    async with port(tools__call=stream) as there, link_to(there) as link:
        assert await call(link, Exchange(on_question=roots)) == {"ok": 1}
        assert there.requests[1].message == {"jsonrpc": "2.0", "id": "q", "result": {"roots": []}}


UNAUTHORIZED = {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "Unauthorized"}}


@pytest.mark.parametrize(
    ("answer", "raised", "words"),
    [
        (status(401), LoginNeeded, "login needed"),
        (status(401, UNAUTHORIZED), LoginNeeded, "login needed"),
        (status(403), LoginNeeded, "login needed"),
        (status(404), NotFoundHere, "HTTP 404 at http://127.0.0.1"),
        (status(405), NotFoundHere, "HTTP 405"),
        (status(429), TryOnceMore, "429"),
        (status(503), LinkLost, "HTTP 503"),
        (status(204), RpcError, "HTTP 204 without"),
        (status(200, {"hello": 1}), RpcError, "HTTP 200 without"),
        (status(400, UNAUTHORIZED), RpcError, "Unauthorized"),
        (events(), LinkLost, "without an answer"),
    ],
)
async def test_what_a_status_says(answer, raised, words):
    async with port(tools__call=answer) as there, link_to(there) as link:
        with pytest.raises(raised, match=words) as failed:
            await call(link)
        assert "secret" not in str(failed.value)
        assert link.lost is None


async def test_a_session_is_kept_until_the_server_forgets_it():
    told = Events()
    hello = result({"protocolVersion": "2025-06-18"}, Mcp_Session_Id="s1")
    async with port(initialize=hello, tools__call=result({})) as there, link_to(there, told) as link:
        await link.request("initialize", {}, Exchange())
        await call(link)
        assert [request.headers.get("mcp-session-id") for request in there.requests] == [None, "s1"]
        assert "mcp-protocol-version" not in there.requests[0].headers
        there.answers["tools/call"] = status(404, UNAUTHORIZED)
        with pytest.raises(TryOnceMore):
            await call(link)
        assert told.lost == [link.lost]
        with pytest.raises(NotSent, match="forgot the session"):
            await call(link)


async def test_closing_ends_the_session():
    async with port(initialize=result({}, Mcp_Session_Id="s1")) as there:
        async with link_to(there) as link:
            await link.request("initialize", {}, Exchange())
        assert there.sent("DELETE")[0].headers["mcp-session-id"] == "s1"


async def test_an_unknown_method_is_no_lost_session():
    unknown = {"jsonrpc": "2.0", "id": 2, "error": {"code": -32601, "message": "no"}}
    answers = {"initialize": result({}, Mcp_Session_Id="s"), "tools__call": status(404, unknown)}
    async with port(**answers) as there, link_to(there) as link:
        await link.request("initialize", {}, Exchange())
        with pytest.raises(RpcError, match="no"):
            await call(link)
        assert link.lost is None


async def test_redirects_are_followed_on_the_same_origin_only():
    async with port() as there, port(tools__call=result({"from": "elsewhere"})) as other, link_to(there) as link:

        def move(exchange, request):
            there.answers["tools/call"] = result({"ok": 1})
            exchange.respond(307, Location="/moved")

        there.answers["tools/call"] = move
        assert await call(link) == {"ok": 1}
        assert (await call(link), there.requests[-1].path) == ({"ok": 1}, "/moved")
        there.answers["tools/call"] = status(308, Location=f"{other.url}/mcp")
        with pytest.raises(NotSent, match=f"redirected to {other.url}"):
            await call(link)
        assert other.requests == []


@pytest.mark.parametrize("answer", [result("x" * 5000), events({**DONE, "result": {"x": "x" * 5000}})])
async def test_an_answer_too_large_fails_its_call_alone(answer):
    async with port(tools__call=answer) as there, link_to(there, limit=2000) as link:
        with pytest.raises(ResultTooLarge):
            await call(link)
        assert link.lost is None


async def test_a_port_nobody_listens_on_was_told_nothing():
    told = Events()
    async with port() as there:
        pass
    async with link_to(there, told) as link:
        with pytest.raises(NotSent, match="cannot connect to http://127"):
            await call(link)
    assert told.lost == [link.lost]
    assert "secret" not in link.lost


async def test_a_connection_that_breaks_leaves_the_session_alone():
    def cut(exchange, request):
        exchange.writer.close()

    async with port(tools__call=cut) as there, link_to(there) as link:
        with pytest.raises(LinkLost, match="broke"):
            await call(link)
        assert link.lost is None


@pytest.mark.parametrize("modern", [False, True])
async def test_giving_up_a_call_tells_the_server(modern):
    closed = asyncio.Event()

    async def wait(exchange, request):
        exchange.open_stream()
        await exchange.reader.read()
        closed.set()

    async with port(tools__call=wait) as there, link_to(there) as link:
        link.modern = modern
        task = asyncio.create_task(call(link))
        await there.until("tools/call")
        task.cancel()
        await asyncio.wait_for(closed.wait(), 10)
        if not modern:
            cancelled = await there.until("notifications/cancelled")
            assert cancelled.message["params"] == {"requestId": 1}
    assert len(there.sent("notifications/cancelled")) == (0 if modern else 1)


async def test_a_stream_closed_to_be_polled_is_resumed():
    polled = []
    waiting = {"method": "notifications/message", "params": {}}
    dropped = events("id: e1\nretry: 0\ndata: \n\n", waiting)
    async with port(tools__call=dropped, GET=events(DONE | {"id": 1})) as there, link_to(there) as link:
        assert await call(link, Exchange(on_stream_closed=lambda: polled.append(1))) == {"ok": 1}
        assert there.sent("GET")[0].headers["last-event-id"] == "e1"
        there.answers["GET"] = status(404)
        with pytest.raises(LinkLost, match="without an answer"):
            await call(link)
    assert polled == [1]


async def test_modern_requests_carry_routing_headers_and_nothing_else_is_sent():
    async with port(tools__call=result({})) as there, link_to(there) as link:
        link.modern, link.version = True, "2026-07-28"
        exchange = Exchange()
        exchange.schema = {"type": "object", "properties": {"r": {"type": "string", "x-mcp-header": "Region"}}}
        await call(link, exchange, arguments={"r": "é"})
        await link.notify("notifications/initialized")
        sent = there.requests[0].headers
        assert [sent[f"mcp-{key}"] for key in ("protocol-version", "method", "name", "param-region")] == [
            "2026-07-28", "tools/call", "t", "=?base64?w6k=?="
        ]  # fmt: skip
        assert len(there.requests) == 1


async def test_the_probe_is_modern_before_the_link_is():
    async with port(server__discover=result({})) as there, link_to(there) as link:
        await link.request("server/discover", {"_meta": eras.envelope()}, Exchange())
        assert there.requests[0].headers["mcp-protocol-version"] == "2026-07-28"


async def test_the_standing_stream_brings_what_belongs_to_no_call():
    changed = {"method": "notifications/tools/list_changed"}
    told = Events()
    come = asyncio.Event()
    told.link_notified = lambda method, params: (told.notified.append((method, params)), come.set())
    async with port(GET=events(changed, end=False)) as there, link_to(there, told) as link:
        link.listen()
        await asyncio.wait_for(come.wait(), 10)
        assert told.notified == [("notifications/tools/list_changed", {})]


@pytest.mark.parametrize("answer", [status(405), status(200, {"no": "stream"})])
async def test_a_server_without_standing_stream_is_asked_once(monkeypatch, answer):
    monkeypatch.setattr(http_client, "RETRY_SECONDS", 0)
    async with port(GET=answer) as there, link_to(there) as link:
        link.listen()
        await there.until("GET")
        await asyncio.gather(*link._tasks)
        assert len(there.requests) == 1
        assert link.lost is None


async def test_a_standing_stream_tells_too_that_the_session_is_forgotten():
    async with port(initialize=result({}, Mcp_Session_Id="s"), GET=status(404)) as there, link_to(there) as link:
        await link.request("initialize", {}, Exchange())
        link.listen()
        await asyncio.gather(*link._tasks)
        assert link.lost == "the server forgot the session (HTTP 404)"


@pytest.mark.parametrize("url", ["https://user:pw@host:1/mcp?key=secret#x", "https://host:1/mcp"])
def test_an_address_is_shown_without_secrets(url):
    assert shown(url) == "https://host:1/mcp"
