from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.unit.gateway.fakes import (
    HANDSHAKE,
    MODERN,
    FakeLink,
    Host,
    handshake,
    manifest,
    modern,
    settle,
    surroundings,
)

from remora.config.model import ServerConfig
from remora.errors import NotSent
from remora.gateway import connect
from remora.gateway.server import CONNECTION, Server
from remora.gateway.session import Session, ViewKey

HTTP = {"command": "", "url": "http://x/mcp"}


def session(project: str = "") -> Session:
    return Session("stdio", view=ViewKey(project=Path(project) if project else None))


@pytest.fixture
async def make(monkeypatch):
    made: list[Server] = []
    tables = {"auto": {**handshake(), **modern()}, "legacy": handshake(), "modern": modern()}

    async def open_link(settings: Any, around: Any, events: Any, *, sse: bool = False) -> FakeLink:
        table = tables[settings.era]
        if isinstance(table, Exception):
            raise table
        link = FakeLink(answers=table)
        link.events = events
        return link

    monkeypatch.setattr(connect, "open_link", open_link)

    def server(**settings: Any) -> Server:
        configured = ServerConfig(**{"command": "server", **settings})
        made.append(Server("up", "up", configured, lambda project: surroundings(project), Host()))
        return made[-1]

    server.tables = tables
    yield server
    for each in made:
        await each.stop()


@pytest.mark.parametrize(
    ("settings", "scope"),
    [
        ({}, "shared"),
        ({"args": ("--in", "${project}")}, "project"),
        ({"env": {"ROOT": "${project}"}}, "project"),
        ({"cwd": "${project}"}, "project"),
        ({**HTTP, "headers": {"X-Root": "${project}"}}, "project"),
        ({"back_channel": True}, "session"),
        ({"back_channel": True, "cwd": "${project}"}, "project"),
        ({"scope": "shared", "cwd": "${project}"}, "shared"),
    ],
)
async def test_who_shares_a_connection(make, settings, scope):
    server = make(**settings)
    assert server.scope == scope
    one, two, same = session("/a"), session("/b"), session("/a")
    shared = [server.upstream(one) is server.upstream(other) for other in (one, same, two)]
    assert shared == [True, scope != "session", scope == "shared"]
    assert server.upstream(one).project == (None if scope == "shared" else Path("/a"))


async def test_what_runs_per_project_is_not_started_without_one(make):
    shared, project = make(), make(cwd="${project}")
    for server in (shared, project):
        server.discover()
    await settle()
    assert [upstream.state for upstream in shared.instances.values()] == ["ready"]
    assert project.instances == {}


async def test_a_connection_made_to_learn_the_lists_belongs_to_nobody(make):
    server = make(back_channel=True)
    server.discover()
    discovery, own = server.upstream(None), server.upstream(session())
    assert not server.drop_discovery(own)
    assert server.drop_discovery(discovery)
    assert list(server.instances.values()) == [own]
    await discovery.stop()


async def test_a_session_takes_its_own_connection_with_it(make):
    server = make(back_channel=True)
    leaving, staying = session(), session()
    gone, kept = server.upstream(leaving), server.upstream(staying)
    await server.end_session(leaving, last_of_project=False)
    assert (gone.state, list(server.instances.values())) == ("stopping", [kept])


async def test_the_last_session_of_a_project_takes_its_server_with_it(make):
    server = make(cwd="${project}")
    first, last = session("/a"), session("/a")
    shared = server.upstream(first)
    await server.end_session(first, last_of_project=False)
    assert server.upstream(last) is shared
    await server.end_session(last, last_of_project=True)
    assert (shared.state, server.instances) == ("stopping", {})


async def test_settings_of_the_connection_need_a_new_one_others_do_not(make):
    server = make()
    running = server.upstream(None)
    assert server.reconfigure(server.settings.model_copy(update={"max_in_flight": 3}))
    assert running.slots.limit == 3
    changed = {"args": ("x",), "env": {"A": "1"}, "scope": "session", "resources": False, "max_message_bytes": 5}
    for key, value in changed.items():
        assert key in CONNECTION
        assert not server.reconfigure(server.settings.model_copy(update={key: value}))


async def test_every_setting_is_known_to_be_one_or_the_other():
    later = {"connect_timeout_seconds", "call_timeout_seconds", "overall_deadline_seconds", "progress_extends",
             "max_retries", "reconnect_delay_seconds", "max_reconnect_delay_seconds", "max_in_flight",
             "breaker_failures", "breaker_reset_seconds", "trust_annotations", "enabled", "prefix", "bare_names",
             "start", "idle_stop_minutes", "projects", "instructions", "catalog_mode", "max_description_chars",
             "structured", "tools", "compression", "clean", "min_tokens", "max_result_tokens", "max_result_chars",
             "verbatim_max_tokens", "chars_per_token", "relevance", "hybrid", "selective", "progressive", "llm",
             "local", "cache_policy", "cache_ttl_seconds", "invalidates"}  # fmt: skip
    assert set(ServerConfig.model_fields) == later | set(CONNECTION)


async def test_a_server_of_both_eras_is_spoken_to_in_the_callers_own(make):
    server, front = make(**HTTP), session()
    server.manifest = manifest(server.settings, modern=True)
    usual = await server.upstream_for(front, MODERN)
    mirror = await server.upstream_for(front, HANDSHAKE)
    assert (usual.mirror, mirror.mirror, mirror.settings.era) == (False, True, "legacy")
    assert await server.upstream_for(front, HANDSHAKE) is mirror
    await usual.ready_link()
    assert (usual.link.modern, mirror.link.modern) == (True, False)
    assert server.reconfigure(server.settings.model_copy(update={"max_in_flight": 3}))
    assert (mirror.settings.era, mirror.slots.limit) == ("legacy", 3)


@pytest.mark.parametrize("settings", [{}, {**HTTP, "era": "modern"}])
async def test_otherwise_there_is_one_connection_for_both(make, settings):
    server = make(**settings)
    server.manifest = manifest(server.settings, modern=True)
    assert await server.upstream_for(session(), HANDSHAKE) is server.upstream(None)


async def test_a_server_of_one_era_is_not_asked_for_the_other_again(make):
    server, front = make(**HTTP), session()
    server.manifest = manifest(server.settings, modern=True)
    make.tables["legacy"] = NotSent("no such era")
    usual = server.upstream(front)
    assert await server.upstream_for(front, HANDSHAKE) is usual
    assert list(server.instances.values()) == [usual]
    make.tables["legacy"] = handshake()
    assert await server.upstream_for(front, HANDSHAKE) is usual
    server.one_era = False
    assert (await server.upstream_for(front, HANDSHAKE)).mirror


async def test_a_retired_server_finishes_its_calls(make, clock):
    server = make()
    upstream = server.upstream(None)
    link = await upstream.ready_link()
    answered = asyncio.Event()

    async def slow(*_: Any) -> Any:
        await answered.wait()
        return {"content": []}

    link.answers["tools/call"] = slow
    call = asyncio.create_task(upstream.call("tools/call", {}, HANDSHAKE, None, connect.Exchange(), safe=False))
    await settle()
    retiring = asyncio.create_task(server.retire())
    await clock.advance(1)
    assert not link.closed
    answered.set()
    assert (await call)[0] == {"content": []}
    await clock.advance(1)
    await retiring
    assert link.closed
