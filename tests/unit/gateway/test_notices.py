from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.gateway.fakes import FakeLink, settle

from remora.errors import NotSent, RpcError
from remora.gateway import notices as module
from remora.gateway.notices import LISTS, Notices
from remora.gateway.wire.link import LinkLost

OK = {"resources/subscribe": {}, "resources/unsubscribe": {}}


class Up:
    """What notices are of: a link that is there, or not."""

    def __init__(self, link: FakeLink | None) -> None:
        self.link = link
        self.told: list[Any] = []
        self.notices = Notices("up", lambda *message: self.told.append(message), self.ready, lambda: self.link)

    async def ready(self) -> FakeLink:
        if self.link is None:
            raise NotSent("away")
        return self.link

    def filters(self) -> list[Any]:
        return [params["notifications"] for method, params in self.link.sent if method == "subscriptions/listen"]


def listening(up: list[Up], *ends: Any) -> dict[str, Any]:
    """Each stream is acknowledged, and ends like this; the last stays open."""
    left = list(ends)

    async def listen(params: Any, exchange: Any) -> Any:
        up[0].notices.acknowledged()
        return left.pop(0) if left else await asyncio.Event().wait()

    return {"subscriptions/listen": listen}


def modern(*ends: Any) -> Up:
    made: list[Up] = []
    made.append(Up(FakeLink(modern=True, answers=listening(made, *ends))))
    return made[0]


async def test_a_handshake_server_tells_by_itself():
    up = Up(FakeLink(answers=OK))
    await up.notices.begin(up.link)
    assert up.link.sent == []


async def test_each_resource_is_watched_once_and_left_with_its_last_watcher():
    up = Up(FakeLink(answers=OK))
    for _ in range(2):
        await up.notices.watch("a")
    await up.notices.unwatch("a")
    assert up.link.sent == [("resources/subscribe", {"uri": "a"})]
    await up.notices.unwatch("a")
    await up.notices.unwatch("a")
    assert up.link.methods() == ["resources/subscribe", "resources/unsubscribe"]


async def test_a_refused_watch_is_asked_for_again_by_the_next():
    up = Up(FakeLink())
    with pytest.raises(RpcError):
        await up.notices.watch("a")
    up.link.answers = OK
    await up.notices.watch("a")
    assert up.link.methods() == ["resources/subscribe"] * 2


@pytest.mark.parametrize("link", [None, FakeLink(), FakeLink(answers={"resources/unsubscribe": LinkLost("gone")})])
async def test_leaving_fails_nobody_and_starts_no_server(link):
    up = Up(FakeLink(answers=OK))
    await up.notices.watch("a")
    up.link = link
    await up.notices.unwatch("a")
    assert up.notices._watched == {}


async def test_a_server_that_was_away_is_told_again_what_is_watched(caplog):
    up = Up(FakeLink(answers=OK))
    for uri in ("a", "b"):
        await up.notices.watch(uri)
    refused = {"a": RpcError(-1, "no")}
    again = FakeLink(answers={"resources/subscribe": lambda params, _: refused.get(params["uri"], {})})
    await up.notices.renew(again)
    assert [params["uri"] for _, params in again.sent] == ["a", "b"]
    assert "cannot subscribe to a again" in caplog.text


async def test_a_modern_server_is_listened_to_before_it_is_listed():
    up = modern()
    await up.notices.begin(up.link)
    await up.notices.watch("a")
    await settle()
    lists = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
    assert up.filters() == [lists, {**lists, "resourceSubscriptions": ["a"]}]
    await up.notices.unwatch("a")
    await settle()
    assert up.filters()[-1] == lists
    up.notices.end()
    await settle()
    assert up.notices._listening.cancelled()


async def test_a_server_that_acknowledges_nothing_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(module, "ACKNOWLEDGE_SECONDS", 0.01)
    up = Up(FakeLink(modern=True, answers={"subscriptions/listen": lambda *_: asyncio.Event().wait()}))
    await asyncio.wait_for(up.notices.begin(up.link), 5)
    up.notices.end()


async def test_a_server_without_notices_is_left_alone():
    up = Up(FakeLink(modern=True))
    await up.notices.begin(up.link)
    await settle()
    assert up.link.methods() == ["subscriptions/listen"]
    assert up.notices._listening.done()


@pytest.mark.parametrize("end", [LinkLost("broke"), {}])
async def test_a_stream_that_ends_is_opened_again_and_the_lists_are_looked_at(monkeypatch, end):
    monkeypatch.setattr(module, "FIRST_PAUSE", 0)
    up = modern(end)
    await up.notices.begin(up.link)
    await settle()
    assert len(up.filters()) == 2
    assert up.told == [(LISTS[0], {})]
    up.notices.end()
