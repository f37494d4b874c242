from __future__ import annotations

import pytest

from remora.errors import NotSent
from remora.gateway.listeners import Listeners, honoured
from remora.gateway.session import Session


class Watched:
    """An upstream of which only the watched resources matter."""

    name = "up"

    def __init__(self, problem=None):
        self.notices = self
        self.log = []
        self.problem = problem

    async def watch(self, uri):
        if self.problem:
            raise self.problem
        self.log.append(f"+{uri}")

    async def unwatch(self, uri):
        self.log.append(f"-{uri}")


@pytest.fixture
def said():
    return []


@pytest.fixture
def listener(said):
    return Listeners().add(Session("http"), lambda *message: said.append(message), frozenset({"tools", "resources"}))


def test_a_listener_hears_of_the_kinds_it_asked_for(listener, said):
    listener.tell_changed({"tools", "prompts"})
    listener.tell_changed(set())
    assert said == [("notifications/tools/list_changed", {})]


def test_before_the_first_listing_a_change_is_no_news(said):
    session = Session("stdio", standing=lambda *message: said.append(message))
    listener = Listeners().add(session, session.standing, frozenset({"tools"}))
    listener.tell_changed({"tools"})
    assert said == []
    session.listed = True
    listener.tell_changed({"tools"})
    assert len(said) == 1


async def test_updates_come_under_the_name_a_resource_is_served_by(listener, said):
    up, other = Watched(), Watched()
    await listener.watch("rem://up/x", up, "test://x")
    await listener.watch("rem://up/x", up, "test://x")
    assert up.log == ["+test://x"]
    listener.tell_updated(other, {"uri": "test://x"})
    listener.tell_updated(up, {"uri": "test://y"})
    listener.tell_updated(up, {"uri": "test://x", "more": 1})
    assert said == [("notifications/resources/updated", {"uri": "rem://up/x", "more": 1})]
    await listener.unwatch("rem://up/x")
    await listener.unwatch("rem://up/x")
    listener.tell_updated(up, {"uri": "test://x"})
    assert (len(said), up.log) == (1, ["+test://x", "-test://x"])


async def test_what_cannot_be_watched_is_not(listener):
    with pytest.raises(NotSent):
        await listener.watch("test://x", Watched(NotSent("away")), "test://x")
    assert listener.watched == {}


async def test_a_new_connection_takes_over_what_is_watched(listener, caplog):
    old, new = Watched(), Watched()
    await listener.watch("rem://up/x", old, "test://x")
    await listener.move("rem://up/x", new)
    assert (listener.watched, new.log) == ({"rem://up/x": (new, "test://x")}, ["+test://x"])
    await listener.move("rem://up/x", Watched(NotSent("away")))
    assert listener.watched == {}
    assert "cannot watch test://x any more" in caplog.text


async def test_who_leaves_watches_nothing_any_more():
    listeners, up = Listeners(), Watched()
    session = Session("stdio", standing=lambda *message: None)
    standing = listeners.add(session, session.standing, frozenset())
    stream = listeners.add(session, lambda *message: None, frozenset())
    assert listeners.of(session) is standing
    assert listeners.of(Session("stdio")) is None
    for uri in ("a", "b"):
        await stream.watch(uri, up, uri)
    await listeners.remove(stream)
    assert (up.log, listeners.all) == (["+a", "+b", "-a", "-b"], {standing})
    listeners.close()
    assert standing.ended.is_set()
    assert not stream.ended.is_set()


@pytest.mark.parametrize(
    ("requested", "served"),
    [
        ({"toolsListChanged": True, "promptsListChanged": False, "x": True}, {"toolsListChanged": True}),
        ({"resourcesListChanged": 1}, {}),
        ({"resourceSubscriptions": ["a", 5, "b"]}, {"resourceSubscriptions": ["a", "b"]}),
        ({"resourceSubscriptions": [5]}, {}),
        ({"resourceSubscriptions": "a"}, {}),
        (None, {}),
        (["toolsListChanged"], {}),
    ],
)
def test_of_a_filter_the_part_we_know_is_honoured(requested, served):
    assert honoured(requested) == served
