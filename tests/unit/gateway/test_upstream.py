from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.unit.gateway.fakes import HANDSHAKE, FakeLink, Host, handshake, modern, settle, surroundings, tool

from remora.config.model import ServerConfig
from remora.errors import ConfigError, NotSent, RpcError
from remora.gateway import connect
from remora.gateway import upstream as module
from remora.gateway.attempts import Stopped
from remora.gateway.upstream import Upstream
from remora.gateway.wire.link import Exchange, LinkLost, LoginNeeded
from remora.gateway.wire.process import CannotStart

LISTS_CHANGED = "notifications/tools/list_changed"


class Running:
    """An upstream whose server answers from `table`, or cannot be reached while that is an exception."""

    def __init__(self, host: Any = None, **settings: Any) -> None:
        self.table: Any = handshake()
        self.links: list[FakeLink] = []
        self.opened = 0
        self.host = host or Host()
        configured = ServerConfig(**{"command": "server", "era": "legacy", **settings})
        self.up = Upstream("up", configured, surroundings(), self.host, None)

    async def open(self, settings: Any, around: Any, events: Any, *, sse: bool = False) -> FakeLink:
        self.opened += 1
        if isinstance(self.table, Exception):
            raise self.table
        link = FakeLink(answers=self.table)
        link.events = events
        self.links.append(link)
        return link

    async def ready(self) -> FakeLink:
        return await asyncio.wait_for(self.up.ready_link(), 5)

    def call(self, **keys: Any) -> asyncio.Task[Any]:
        exchange = keys.pop("exchange", None) or Exchange()
        return asyncio.create_task(self.up.call("tools/call", {}, HANDSHAKE, None, exchange, safe=False, **keys))


@pytest.fixture
async def start(monkeypatch, clock) -> AsyncIterator[Any]:
    monkeypatch.setattr(random, "uniform", lambda low, high: 1.0)
    made: list[Running] = []

    def make(**keys: Any) -> Running:
        made.append(Running(**keys))
        monkeypatch.setattr(connect, "open_link", made[-1].open)
        return made[-1]

    yield make
    for each in made:
        await each.up.stop()


async def test_it_connects_when_it_is_wanted(start):
    running = start()
    await settle()
    assert (running.up.state, running.opened) == ("idle", 0)
    running.up.want()
    link = await running.ready()
    assert (running.up.state, running.up.link) == ("ready", link)
    assert running.host.events == [("connected", "2025-11-25")]
    assert [entry["name"] for entry in running.host.manifests[0].tools] == ["echo"]


async def test_callers_at_the_same_time_start_one_server(start):
    running = start()
    links = await asyncio.gather(*(running.ready() for _ in range(5)))
    assert (set(links), running.opened) == ({running.links[0]}, 1)


async def test_a_server_that_is_away_is_tried_less_and_less_often(start, clock):
    running = start(reconnect_delay_seconds=2, max_reconnect_delay_seconds=5, breaker_failures=99)
    running.table = NotSent("refused")
    with pytest.raises(NotSent, match="refused"):
        await running.ready()
    waits = []
    for _ in range(4):
        await settle()
        waits.append(round(running.up.retry_after, 1))
        await clock.advance(waits[-1])
    assert waits == [2, 4, 5, 5]
    assert (running.up.state, running.opened) == ("backoff", 5)
    assert running.host.events == [("connect_failed", "refused")]
    running.table = handshake()
    assert await running.ready() is running.links[0]


@pytest.mark.parametrize(
    ("problem", "breaks"),
    [
        (CannotStart("not found", missing=True), True),
        (LoginNeeded("login needed"), True),
        (ConfigError("MISSING is not set"), False),
        (connect.SelfReference("self_reference"), False),
    ],
)
async def test_what_will_not_pass_by_itself_is_asked_for_rarely(start, clock, problem, breaks):
    running = start(breaker_failures=2)
    running.table = problem
    running.up.want()
    await settle()
    assert running.up.state == "failed"
    with pytest.raises(NotSent, match=str(problem)) as refused:
        await running.ready()
    assert 299 < refused.value.retry_after <= 300
    assert (running.opened, running.up.breaker.failures) == (1, int(breaks))
    await clock.advance(300)
    assert running.opened == 2
    running.up.want()
    await settle()
    assert running.opened == 3


async def test_a_connect_without_end_is_given_up(start, clock):
    running = start(connect_timeout_seconds=7)
    running.table = handshake(tools__list=lambda *_: asyncio.Event().wait())
    running.up.want()
    await clock.advance(7.1)
    assert running.up.last_error == "no answer in connect_timeout_seconds"
    assert running.links[0].closed


async def test_a_connection_that_is_lost_is_made_anew(start, clock):
    running = start()
    link = await running.ready()
    link.lose("the server ended")
    await settle()
    assert (running.up.state, running.up.link, link.closed) == ("backoff", None, True)
    assert running.host.events[-1] == ("lost", "the server ended")
    assert running.up.last_error == "the server ended"
    assert await running.ready() is running.links[1]


async def test_failing_connects_open_the_breaker(start, clock):
    running = start(breaker_failures=2, breaker_reset_seconds=30)
    running.table = NotSent("refused")
    running.up.want()
    await clock.advance(1)
    assert running.up.shown_state == "open"
    with pytest.raises(NotSent, match="refused") as refused:
        await running.call()
    assert refused.value.retry_after > 28


async def test_a_server_nobody_calls_is_stopped_until_it_is_called(start, clock):
    running = start(idle_stop_minutes=1)
    link = await running.ready()
    await running.call()
    await clock.advance(30)
    await running.call()
    await clock.advance(45)
    assert not link.closed
    await clock.advance(60)
    assert (running.up.state, link.closed, running.opened) == ("idle", True, 1)
    await running.call()
    assert running.opened == 2


async def test_changed_lists_are_read_once_when_the_news_has_settled(start, clock):
    running = start()
    link = await running.ready()
    link.answers["tools/list"] = {"tools": [tool("echo"), tool("more")]}
    for _ in range(3):
        running.up.link_notified(LISTS_CHANGED, {})
    await clock.advance(module.RELIST_SECONDS)
    assert link.methods().count("tools/list") == 2
    assert len(running.host.manifests[-1].tools) == 2
    for trouble in (LinkLost("broke"), RpcError(-32603, "busy with other things")):
        link.answers["tools/list"] = trouble
        await running.up.refresh()
        assert len(running.host.manifests) == 2  # what was known is better than nothing


async def test_what_belongs_to_no_call_goes_to_the_only_one_it_can_be_of(start):
    running = start()
    link = await running.ready()
    link.answers["tools/call"] = lambda *_: asyncio.Event().wait()
    told: list[Any] = []

    async def answer(method: str, params: Any) -> Any:
        return {"of": method}

    calls = [running.call(exchange=Exchange(lambda *message: told.append(message), answer))]
    await settle()
    running.up.link_notified("notifications/message", {"data": 1})
    assert await running.up.link_asked("roots/list", {}) == {"of": "roots/list"}
    calls.append(running.call(exchange=Exchange(lambda *message: told.append(message), answer)))
    await settle()
    running.up.link_notified("notifications/message", {"data": 2})
    assert await running.up.link_asked("roots/list", {}) == {"stray": "roots/list"}
    running.up.link_notified("notifications/resources/updated", {"uri": "a"})
    assert told == [("notifications/message", {"data": 1})]
    assert running.host.stray == [("notifications/message", {"data": 2})]
    assert running.host.updated == [{"uri": "a"}]
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


@pytest.mark.parametrize(("ping", "kept"), [({}, True), (NotSent("x"), False), (asyncio.Event().wait, False)])
async def test_after_a_time_out_only_a_server_that_still_answers_is_kept(start, clock, ping, kept):
    running = start(call_timeout_seconds=10, overall_deadline_seconds=10)
    link = await running.ready()
    link.answers |= {
        "tools/call": lambda *_: asyncio.Event().wait(),
        "ping": lambda *_: ping() if callable(ping) else ping,
    }
    call = running.call()
    await clock.advance(10.1)
    await clock.advance(module.LIVENESS_SECONDS)
    await asyncio.gather(call, return_exceptions=True)
    assert (running.up.link is link) == kept


async def test_stopping_ends_the_connection_and_whoever_waits_for_it(start):
    running = start()
    link = await running.ready()
    await running.up.stop()
    assert (link.closed, running.up.state) == (True, "stopping")
    with pytest.raises(Stopped):
        await running.ready()
    waiting = start()
    waiting.table = handshake(initialize=lambda *_: asyncio.Event().wait())
    ready = asyncio.create_task(waiting.ready())
    await settle()
    await waiting.up.stop()
    with pytest.raises(Stopped):
        await ready


async def test_draining_waits_for_calls_but_not_for_ever(start, clock):
    running = start()
    link = await running.ready()
    link.answers["tools/call"] = lambda *_: asyncio.Event().wait()
    call = running.call()
    draining = asyncio.create_task(running.up.drain(10))
    await clock.advance(9)
    assert not draining.done()
    await clock.advance(1.1)
    assert draining.done()
    call.cancel()
    await asyncio.wait_for(running.up.drain(10), 5)


async def test_the_most_talkative_level_anybody_asked_for_is_set_once(start):
    running = start()
    link = await running.ready()
    link.answers["logging/setLevel"] = {}
    for level in ("warning", "error", "debug", "info"):
        await running.up.set_level(level)
    assert [params["level"] for method, params in link.sent if method == "logging/setLevel"] == ["warning", "debug"]


async def test_a_server_that_does_not_log_has_no_level(start):
    running = start()
    running.table = handshake(initialize={"protocolVersion": "2025-11-25", "capabilities": {}})
    link = await running.ready()
    await running.up.set_level("debug")
    assert link.methods() == ["initialize"]


async def test_lists_that_cannot_be_served_leave_the_connection_alone(start, caplog):
    class Broken(Host):
        def manifest_read(self, upstream: Any, manifest: Any) -> None:
            raise TypeError("odd definition")

    running = start(host=Broken())
    with caplog.at_level(logging.ERROR):
        link = await running.ready()
        await settle()
    assert running.up.link is link
    assert "its lists cannot be served" in caplog.text
    link.lose("ended")
    assert await running.ready() is running.links[1]


async def test_new_settings_apply_to_the_next_call(start):
    running = start(max_in_flight=1)
    settings = running.up.settings.model_copy(update={"max_in_flight": 5, "breaker_failures": 1})
    running.up.reconfigure(settings)
    assert running.up.settings is settings
    assert running.up.slots.limit == 5
    running.up.breaker.fail(0)
    assert running.up.breaker.is_open


async def test_a_modern_server_is_listened_to_while_it_is_connected(start):
    running = start(era="modern")
    running.table = modern(subscriptions__listen=lambda *_: asyncio.Event().wait())
    ready = asyncio.create_task(running.ready())
    await settle()
    running.up.link_notified("notifications/subscriptions/acknowledged", {})
    link = await ready
    assert link.methods() == ["server/discover", "subscriptions/listen", "tools/list"]
