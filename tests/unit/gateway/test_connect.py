from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from tests.unit.gateway.fakes import (
    SETTINGS,
    Events,
    FakeLink,
    handshake,
    manifest,
    modern,
    settle,
    surroundings,
    tool,
)

from remora.config.model import ServerConfig
from remora.errors import ConfigError, NotSent, RpcError
from remora.gateway import connect, eras
from remora.gateway.connect import SelfReference
from remora.gateway.wire.link import LinkLost, LoginNeeded, NotFoundHere

UNKNOWN = RpcError(-32601, "Method not found")
UNSUPPORTED = RpcError(-32022, "Unsupported protocol version")


class Server:
    """Each connection to it answers from the next table, the last one for ever."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *tables: Any) -> None:
        self.tables = list(tables)
        self.links: list[FakeLink] = []
        self.ways: list[bool] = []
        monkeypatch.setattr(connect, "open_link", self._open)

    async def _open(self, settings: Any, around: Any, events: Any, *, sse: bool = False) -> FakeLink:
        table = self.tables.pop(0) if len(self.tables) > 1 else self.tables[0]
        link = FakeLink(answers={key: self._dying(answer) for key, answer in table.items()})
        link.events = events
        self.links.append(link)
        self.ways.append(sse)
        return link

    def _dying(self, answer: Any) -> Any:
        def die(*_: Any) -> Any:
            self.links[-1].lost = "it died"
            return LinkLost("it died")

        return die if answer == "die" else answer

    async def connect(self, known: Any = None, **settings: Any) -> Any:
        configured = ServerConfig(**{"command": "server", **settings})
        return await connect.connect(configured, surroundings(), Events(), known)


async def test_a_modern_server_is_found_at_once(monkeypatch):
    server = Server(monkeypatch, modern())
    link, said = await server.connect()
    assert (link.modern, link.version) == (True, "2026-07-28")
    assert link.sent == [("server/discover", {"_meta": eras.envelope()})]
    assert said["capabilities"] == {"tools": {}}


@pytest.mark.parametrize("refusal", [UNKNOWN, {"supportedVersions": ["2031-01-01"]}, {"supportedVersions": None}, {}])
async def test_any_other_answer_leads_to_the_handshake(monkeypatch, refusal):
    server = Server(monkeypatch, handshake(server__discover=refusal))
    link, _ = await server.connect()
    assert (link.modern, link.version) == (False, "2025-11-25")
    assert link.methods() == ["server/discover", "initialize"]
    assert link.notified == [("notifications/initialized", None)]


async def test_a_probe_that_is_not_answered_is_not_waited_for(monkeypatch, clock):
    server = Server(monkeypatch, handshake(server__discover=lambda *_: asyncio.Event().wait()))
    connecting = asyncio.create_task(server.connect())
    await clock.advance(connect.PROBE_SECONDS + 0.1)
    link, _ = await connecting
    assert not link.modern


async def test_a_server_that_dies_of_the_probe_is_started_again(monkeypatch):
    server = Server(monkeypatch, {"server/discover": "die"}, handshake())
    link, _ = await server.connect()
    assert link is server.links[1]
    assert server.links[0].closed


async def test_a_server_that_answered_the_probe_late_is_modern(monkeypatch):
    answers = [UNKNOWN, modern()["server/discover"]]
    server = Server(monkeypatch, {"server/discover": lambda *_: answers.pop(0), "initialize": UNSUPPORTED})
    link, _ = await server.connect()
    assert link.modern


@pytest.mark.parametrize(("was_modern", "first"), [(True, "server/discover"), (False, "initialize")])
async def test_what_it_was_is_tried_first(monkeypatch, was_modern, first):
    server = Server(monkeypatch, {**handshake(), **modern()})
    link, _ = await server.connect(manifest(modern=was_modern))
    assert link.methods() == [first]
    changed = Server(monkeypatch, modern() if not was_modern else handshake())
    link, _ = await changed.connect(manifest(modern=was_modern))
    assert link.modern != was_modern


@pytest.mark.parametrize(("era", "methods"), [("modern", ["server/discover"]), ("legacy", ["initialize"])])
async def test_an_era_that_is_set_is_the_only_one(monkeypatch, era, methods):
    server = Server(monkeypatch, {})
    with pytest.raises(RpcError, match="no "):
        await server.connect(era=era)
    assert server.links[0].methods() == methods
    assert server.links[0].closed


@pytest.mark.parametrize(
    ("answer", "raised"),
    [
        ({"protocolVersion": "1999-01-01"}, NotSent),
        ({}, NotSent),
        (LoginNeeded("login needed"), LoginNeeded),
        (LinkLost("broke"), LinkLost),
    ],
)
async def test_a_connection_that_fails_is_closed(monkeypatch, answer, raised):
    server = Server(monkeypatch, {"initialize": answer})
    with pytest.raises(raised):
        await server.connect(era="legacy")
    assert all(link.closed for link in server.links)


async def test_messages_that_belong_to_no_call_are_listened_for(monkeypatch):
    listening = []
    monkeypatch.setattr(FakeLink, "listen", lambda link: listening.append(link), raising=False)
    for era, table, count in (("modern", modern(), 0), ("legacy", handshake(), 1)):
        await Server(monkeypatch, table).connect(era=era)
        assert len(listening) == count  # a modern server has its own way, `subscriptions/listen`


async def test_an_older_version_is_spoken_if_the_server_wants_it(monkeypatch):
    server = Server(monkeypatch, handshake(initialize={"protocolVersion": "2024-11-05"}))
    link, _ = await server.connect()
    assert link.version == "2024-11-05"


async def test_an_address_of_the_older_transport_is_recognised(monkeypatch):
    nowhere = NotFoundHere("HTTP 405")
    server = Server(monkeypatch, {"server/discover": nowhere, "initialize": nowhere}, handshake())
    link, _ = await server.connect(command="", url="http://x/sse")
    assert (server.ways, link.methods()) == ([False, True], ["initialize"])
    refused = Server(monkeypatch, {"server/discover": UNKNOWN, "initialize": UNKNOWN})
    with pytest.raises(RpcError):
        await refused.connect(command="", url="http://x/mcp")
    assert refused.ways == [False]
    named = Server(monkeypatch, {"server/discover": nowhere, "initialize": nowhere})
    with pytest.raises(NotFoundHere):
        await named.connect(command="", url="http://x/sse", transport="http")


async def manifest_of(answers, said, **settings):
    link = FakeLink(answers=answers)
    return await connect.read_manifest(link, said, ServerConfig(**{"command": "x", **settings})), link


async def test_the_manifest_is_what_the_server_says_it_can():
    said = {**handshake()["initialize"], "capabilities": {"tools": {}, "prompts": {}, "resources": {}}}
    said |= {"instructions": "Be nice.", "_meta": {eras.SERVER_KEY: {"name": "other"}}}
    answers = {
        "tools/list": {"tools": [tool("a"), {"nameless": 1}, "odd"]},
        "prompts/list": {"prompts": [{"name": "p"}]},
        "resources/list": {"resources": [{"uri": "r"}]},
        "resources/templates/list": UNKNOWN,
    }
    made, _ = await manifest_of(answers, said)
    assert (made.tools, made.prompts, made.resources, made.templates) == (
        (tool("a"),), ({"name": "p"},), ({"uri": "r"},), ()
    )  # fmt: skip
    assert (made.server_info, made.instructions, made.incomplete) == ({"name": "s"}, "Be nice.", False)
    only_tools, link = await manifest_of(answers, said, resources=False, prompts=False)
    assert (link.methods(), only_tools.resources) == (["tools/list"], ())
    nothing, link = await manifest_of(answers, {"capabilities": "odd", "serverInfo": 5, "instructions": None})
    assert (link.sent, nothing.capabilities, nothing.server_info, nothing.instructions) == ([], {}, {}, "")


async def test_all_pages_are_read_but_not_for_ever(monkeypatch):
    monkeypatch.setattr(connect, "MAX_PAGES", 3)

    def page(params, _):
        number = int(params.get("cursor", 0))
        return {"tools": [tool(f"t{number}")], "nextCursor": str(number + 1) if number < last else None}

    last = 2
    made, link = await manifest_of({"tools/list": page}, {"capabilities": {"tools": {}}})
    assert [entry["name"] for entry in made.tools] == ["t0", "t1", "t2"]
    assert [params for _, params in link.sent] == [{}, {"cursor": "1"}, {"cursor": "2"}]
    assert not made.incomplete
    last = 99
    made, link = await manifest_of({"tools/list": page}, {"capabilities": {"tools": {}}})
    assert (len(link.sent), made.incomplete) == (3, True)


async def test_a_list_that_breaks_off_is_served_as_far_as_it_was_read():
    answers = {"tools/list": lambda params, _: UNKNOWN if params else {"tools": [tool("a")], "nextCursor": "x"}}
    made, _ = await manifest_of(answers, {"capabilities": {"tools": {}}})
    assert (len(made.tools), made.incomplete) == (1, True)
    with pytest.raises(LinkLost):
        await manifest_of({"tools/list": LinkLost("broke")}, {"capabilities": {"tools": {}}})


async def test_a_tool_whose_headers_cannot_be_sent_is_left_out(caplog):
    broken = tool("broken", inputSchema={"properties": {"a": {"type": "string", "x-mcp-header": "Bad Name"}}})
    answers, said = {"tools/list": {"tools": [tool("a"), broken]}}, {"capabilities": {"tools": {}}}
    with caplog.at_level(logging.WARNING):
        made, _ = await manifest_of(answers, said, command="", url="http://x")
    assert [entry["name"] for entry in made.tools] == ["a"]
    assert "tool 'broken' is left out" in caplog.text
    made, _ = await manifest_of(answers, said)
    assert len(made.tools) == 2


async def test_our_own_requests_speak_the_links_era():
    old, new = FakeLink(answers={"ping": {}}), FakeLink(modern=True, answers={"ping": {}})
    for link in (old, new):
        await connect.ask(link, "ping")
    assert (old.sent, new.sent) == ([("ping", None)], [("ping", {"_meta": eras.envelope()})])


async def command_of(monkeypatch, around, **settings):
    started = []

    async def start(command, *_):
        started.append(command)
        return FakeLink()

    monkeypatch.setattr(connect.process, "start", start)
    await connect.open_link(ServerConfig(**settings), around, Events())
    return started[0]


async def test_references_are_filled_in(monkeypatch):
    around = surroundings(Path("/p"), HOME="/me", TOKEN="t", SECRET="s")
    settings = {"command": "${BIN:-npx}", "args": ("--in", "${project}"), "env": {"KEY": "${TOKEN}"}}
    made = await command_of(monkeypatch, around, **settings)
    assert (made.argv, made.env, made.cwd) == (["npx", "--in", "/p"], {"HOME": "/me", "KEY": "t"}, "/p")
    assert (await command_of(monkeypatch, around, **settings, cwd="/elsewhere")).cwd == "/elsewhere"
    with pytest.raises(ConfigError, match="MISSING"):
        await command_of(monkeypatch, around, command="x", args=("${MISSING}",))


@pytest.mark.parametrize(
    "settings",
    [
        {"command": "remora"},
        {"command": "/usr/bin/rem", "args": ("mcp",)},
        {"command": "python3", "args": ("-m", "remora")},
        {"url": "http://127.0.0.1:7437/mcp/?profile=x"},
        {"url": "${HERE}", "transport": "sse"},
    ],
)
async def test_a_server_that_is_the_gateway_itself_is_refused(settings):
    with pytest.raises(SelfReference, match="self_reference"):
        await connect.open_link(ServerConfig(**settings), surroundings(HERE="http://127.0.0.1:7437/mcp"), Events())


def test_a_gateway_in_a_circle_tells_itself():
    connect.check_not_self({"_meta": {connect.INSTANCE_KEY: "another"}}, "me")
    connect.check_not_self({"_meta": "odd"}, "me")
    with pytest.raises(SelfReference):
        connect.check_not_self({"_meta": {connect.INSTANCE_KEY: "me"}}, "me")


async def test_an_http_server_gets_its_headers_and_its_token(monkeypatch):
    auth = {"type": "bearer", "token": "${TOKEN}"}
    settings = ServerConfig(url="http://x/mcp", headers={"X-Key": "${KEY}"}, auth=auth, tls_verify=False)
    link = await connect.open_link(settings, surroundings(TOKEN="t", KEY="k"), Events())
    assert {key: link._client.headers[key] for key in ("X-Key", "Authorization")} == {
        "X-Key": "k", "Authorization": "Bearer t"
    }  # fmt: skip
    await link.close()
    await settle()
    assert SETTINGS.kind == "stdio"
