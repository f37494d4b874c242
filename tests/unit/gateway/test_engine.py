from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from tests.unit.gateway.fakes import HANDSHAKE, MODERN, FakeFront, handshake, settle, tool

from remora.config.project import PROJECT_FILE
from remora.errors import ConfigError, NotSent, RpcError
from remora.gateway import engine
from remora.gateway.session import Principal, ViewKey

LISTS = {"tools": [tool("stored")]}


def names(world, front):
    return list(world.gateway.view(front.session).callable)


def changes(told):
    return [method for method, _ in told]


def standing():
    told: list[Any] = []
    return told, lambda *message: told.append(message)


async def test_what_is_known_is_served_without_starting_the_server(world):
    made = await world({"up": {}, "off": {"enabled": False}}, lambda made: made.remember("up", **LISTS))
    assert names(made, made.front()) == ["up__stored"]
    assert made.links == {"up": [], "off": []}
    assert list(made.gateway.servers) == ["up"]


async def test_new_and_eager_servers_are_started_at_once(world):
    made = await world({"new": {}, "eager": {"start": "eager"}}, lambda made: made.remember("eager", **LISTS))
    assert (len(made.links["new"]), len(made.links["eager"])) == (1, 1)
    assert names(made, made.front()) == ["new__echo", "eager__echo"]
    assert made.stored.rows["new"]["tools"][0]["name"] == "echo"
    assert ("new", "connected", "2025-11-25") in made.records.events


async def test_the_first_listing_waits_a_little_and_later_ones_never(world, clock):
    def slow(made):
        made.tables["up"] = handshake(tools__list=lambda *_: asyncio.Event().wait())

    made = await world({"up": {}}, slow, catalog={"first_list_wait_seconds": 8.0})
    front = made.front()
    first = asyncio.create_task(made.ask(front, "tools/list"))
    await clock.advance(7)
    assert not first.done()
    await clock.advance(1)
    assert await first == {"tools": []}
    assert await asyncio.wait_for(made.ask(front, "tools/list"), 5) == {"tools": []}


async def test_a_name_asked_for_at_the_very_start_waits_for_servers_nobody_knows(world, clock):
    listed = asyncio.Event()

    async def slow(*_):
        await listed.wait()
        return {"tools": [tool("echo")]}

    made = await world({"up": {}}, lambda made: made.tables.update(up=handshake(tools__list=slow)))
    call = asyncio.create_task(made.ask(made.front(), "tools/call", name="up__echo"))
    await settle()
    assert not call.done()
    listed.set()
    assert await call == {"content": []}
    with pytest.raises(RpcError, match="Unknown tool"):
        await asyncio.wait_for(made.ask(made.front(), "tools/call", name="up__other"), 5)


async def test_a_server_that_cannot_be_reached_is_not_waited_for(world):
    made = await world({"up": {}}, lambda made: made.tables.update(up=NotSent("refused")))
    assert await asyncio.wait_for(made.ask(made.front(), "tools/list"), 5) == {"tools": []}
    assert made.records.events == [("up", "connect_failed", "refused")]


async def test_only_who_sees_a_change_is_told_of_it(world, clock):
    made = await world({"one": {}, "two": {}}, profiles={"p": {"servers": ["two"]}})
    (sees, hear), (blind, deaf), (early, ear) = standing(), standing(), standing()
    fronts = [made.front(standing=hear), made.front(standing=deaf, view=ViewKey("p")), made.front(standing=ear)]
    for front in fronts[:2]:
        await made.ask(front, "tools/list")
    made.link("one").answers["tools/list"] = {"tools": [tool("other")]}
    made.gateway.servers["one"].upstream(None).link_notified("notifications/tools/list_changed", {})
    await clock.advance(1)
    assert (changes(sees), blind, early) == (["notifications/tools/list_changed"], [], [])
    made.gateway.servers["one"].upstream(None).link_notified("notifications/tools/list_changed", {})
    await clock.advance(1)
    assert len(sees) == 1  # the lists are the same: no news


async def test_a_new_configuration_keeps_what_it_does_not_touch(world, clock):
    made = await world({"same": {}, "moved": {}, "gone": {}})
    told, hear = standing()
    front = made.front(standing=hear)
    await made.ask(front, "tools/list")
    old = {name: made.link(name) for name in made.links}
    made.links["added"], made.tables["added"] = [], handshake()
    servers = {"same": {"max_in_flight": 3}, "moved": {"args": ["x"]}, "added": {}}
    await made.gateway.apply(made.loaded(servers))
    assert names(made, front) == ["same__echo", "moved__echo"]  # until the new connection tells its own
    await clock.advance(1)
    assert names(made, front) == ["same__echo", "moved__echo", "added__echo"]
    assert [old[name].closed for name in old] == [False, True, True]
    assert made.gateway.servers["same"].upstream(None).slots.limit == 3
    assert set(changes(told)) == {"notifications/tools/list_changed"}
    assert not made.gateway._retired


async def test_what_is_watched_moves_to_the_new_connection(world, clock):
    def watchable(made):
        made.tables["up"] = handshake(
            initialize={"protocolVersion": "2025-11-25", "capabilities": {"resources": {}}},
            resources__list={"resources": [{"uri": "test://a"}]},
            resources__subscribe={},
            resources__unsubscribe={},
        )

    made = await world({"up": {}}, watchable)
    front = made.front(standing=lambda *_: None)
    await made.ask(front, "resources/subscribe", uri="test://a")
    await made.gateway.apply(made.loaded({"up": {"args": ["x"]}}))
    await clock.advance(1)
    new = made.link("up")
    assert ("resources/subscribe", {"uri": "test://a"}) in new.sent
    await made.gateway.close_session(front.session)
    assert new.methods()[-1] == "resources/unsubscribe"


async def test_a_profile_that_is_unknown_is_refused_and_one_that_is_deleted_shows_nothing(world):
    made = await world({"up": {}}, profiles={"p": {"servers": ["*"]}})
    with pytest.raises(ConfigError, match=r'unknown profile "q" \(known: p\)'):
        made.front(view=ViewKey("q"))
    front = made.front(view=ViewKey("p"))
    assert names(made, front) == ["up__echo"]
    await made.gateway.apply(made.loaded({"up": {}}))
    assert names(made, front) == []


async def test_a_session_that_ends_takes_its_own_with_it(world, tmp_path):
    servers = {"own": {"back_channel": True}, "per": {"cwd": "${project}"}, "shared": {}}
    made = await world(servers)
    here, there = (made.front(view=ViewKey(project=tmp_path), standing=lambda *_: None) for _ in range(2))
    await settle()
    for front in (here, there):
        for name in servers:
            made.gateway.servers[name].upstream(front.session)
    await made.gateway.close_session(here.session)
    assert sorted(key.split()[0] for s in made.gateway.servers.values() for key in s.instances) == [
        "project", "session", "shared"
    ]  # fmt: skip
    await made.gateway.close_session(there.session)
    assert [key for s in made.gateway.servers.values() for key in s.instances] == ["shared"]
    assert not made.gateway.listeners.all


async def test_what_runs_per_project_is_listed_once_there_is_one(world, tmp_path):
    made = await world({"per": {"cwd": "${project}"}})
    told, hear = standing()
    front = made.front(standing=hear)
    assert made.links["per"] == []
    front.session.listed = True
    made.gateway.move_session(front.session, tmp_path)
    await settle()
    assert names(made, front) == ["per__echo"]
    assert "notifications/tools/list_changed" in changes(told)


async def test_a_project_file_restricts_and_is_read_again(world, tmp_path):
    made = await world({"up": {}})
    front = made.front(view=ViewKey(project=tmp_path / "p"), standing=lambda *_: None)
    assert names(made, front) == ["up__echo"]
    (tmp_path / "p" / PROJECT_FILE).parent.mkdir(parents=True)
    (tmp_path / "p" / PROJECT_FILE).write_text('servers.disabled = ["up"]')
    assert names(made, front) == ["up__echo"]
    made.gateway.reread_projects()
    assert names(made, front) == []


async def test_stray_messages_reach_who_may_hear_them(world):
    made = await world({"up": {}}, profiles={"none": {"servers": []}})
    upstream = made.gateway.servers["up"].upstream(None)
    (all_, hear), (errors, ear), (blind, deaf) = standing(), standing(), standing()
    made.front(standing=hear)
    made.front(standing=ear, log_level="error")
    made.front(standing=deaf, view=ViewKey("none"))
    made.front(MODERN)
    for level in ("info", "error"):
        made.gateway.stray_message(upstream, "notifications/message", {"level": level})
    made.gateway.stray_message(upstream, "notifications/other", {})
    assert (len(all_), len(errors), len(blind)) == (3, 2, 0)
    stranger, listen = standing()
    made.front(standing=listen, principal=Principal("eve", "write"))
    made.gateway.stray_message(upstream, "notifications/other", {})
    assert (len(all_), len(stranger)) == (4, 0)


async def test_stray_questions_are_answered_without_a_client(world, tmp_path):
    made = await world({"up": {}, "back": {"back_channel": True}, "per": {"cwd": "${project}"}})
    ask = made.gateway.stray_question
    shared = made.gateway.servers["up"].upstream(None)
    assert await ask(shared, "ping", {}) == {}
    assert await ask(shared, "roots/list", {}) == {"roots": []}
    front = made.front(view=ViewKey(project=tmp_path))
    per = made.gateway.servers["per"].upstream(front.session)
    assert await ask(per, "roots/list", {}) == {"roots": [{"uri": tmp_path.as_uri(), "name": tmp_path.name}]}
    for name, hinted in (("up", True), ("back", False)):
        with pytest.raises(RpcError) as refused:
            await ask(made.gateway.servers[name].upstream(front.session), "elicitation/create", {})
        assert refused.value.code == -32603
        assert ("back_channel" in refused.value.message) == hinted


async def test_why_nothing_is_served_is_said_first(world):
    made = await world({})
    made.gateway.loaded = made.loaded({})
    object.__setattr__(made.gateway.loaded, "reason", "config.toml is broken")
    assert made.gateway.instructions(made.front().session).startswith("config.toml is broken\n\nRemora serves")


async def test_what_a_list_costs_is_noted_once_for_each_session_and_list(world, clock):
    made = await world({"up": {}})
    one, two = made.front(key="one"), made.front(key="two")
    for front in (one, one, two):
        await made.ask(front, "tools/list")
    assert [row[0] for row in made.records.lists] == ["one", "two"]
    assert made.records.lists[0][3] == 1
    made.link("up").answers["tools/list"] = {"tools": []}
    await made.gateway.servers["up"].upstream(None).refresh()
    await made.ask(one, "tools/list")
    assert [row[0] for row in made.records.lists] == ["one", "two", "one"]


async def test_views_are_shared_and_not_kept_for_ever(world, monkeypatch, tmp_path):
    made = await world({"up": {}})
    assert made.gateway.view(made.front().session) is made.gateway.view(made.front().session)
    monkeypatch.setattr(engine, "VIEWS_KEPT", 3)
    for number in range(10):
        made.gateway.view(made.front(view=ViewKey(project=tmp_path / str(number))).session)
    assert len(made.gateway._views) <= 3


async def test_levels_and_roots_go_to_the_servers_of_the_session(world):
    made = await world({"own": {"back_channel": True}, "shared": {}})
    front = made.front()
    own = made.gateway.servers["own"].upstream(front.session)
    link = await own.ready_link()
    await made.gateway.roots_changed(front.session)
    assert link.notified[-1] == ("notifications/roots/list_changed", None)
    await made.gateway.set_level(front.session, "debug")
    await settle()
    assert made.link("shared").sent[-1] == ("logging/setLevel", {"level": "debug"})
    assert made.link("shared").notified == [("notifications/initialized", None)]


async def test_broken_background_work_is_logged(world, caplog):
    made = await world({})

    async def break_down():
        raise KeyError("lost")

    with caplog.at_level(logging.ERROR):
        made.gateway.spawn(break_down())
        await settle()
    assert "background work failed: 'lost'" in caplog.text


async def test_all_engines_of_a_home_are_the_same_gateway(world, tmp_path):
    one, two = await world({}), await world({})
    assert one.gateway.instance == two.gateway.instance
    assert len(one.gateway.instance) == 32
    assert one.gateway.home == Path(tmp_path)


async def test_closing_ends_every_connection_and_stream(world):
    made = await world({"up": {}, "leaving": {}})
    front = made.front(MODERN)
    listening = asyncio.create_task(made.ask(front, "subscriptions/listen", notifications={}))
    await settle()
    leaving = made.link("leaving")
    leaving.answers["tools/call"] = lambda *_: asyncio.Event().wait()
    call = asyncio.create_task(made.ask(FakeFront(HANDSHAKE, front.session), "tools/call", name="leaving__echo"))
    await settle()
    await made.gateway.apply(made.loaded({"up": {}}))
    await made.gateway.close()
    await settle()
    assert (made.link("up").closed, leaving.closed) == (True, True)
    assert (await listening)["resultType"] == "complete"
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
