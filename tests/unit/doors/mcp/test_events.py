from __future__ import annotations

import asyncio

import pytest

from remora.doors.mcp import events
from remora.doors.mcp.events import Ring, Stream, encode, position


def queued(reader: asyncio.Queue[bytes | None]) -> list[bytes | None]:
    return [reader.get_nowait() for _ in range(reader.qsize())]


@pytest.fixture
def ring() -> Ring:
    return Ring()


@pytest.fixture
def stream(ring: Ring) -> Stream:
    return ring.stream()


def test_an_event_has_an_id_that_says_where_it_stood() -> None:
    assert encode("3-17", b'{"a":1}') == b'event: message\nid: 3-17\ndata: {"a":1}\n\n'
    assert position("3-17") == (3, 17)


@pytest.mark.parametrize(
    "foreign", ["", "3", "3-", "-17", "a-1", "3-x", "3-1-7", "-3-1", "3.0-1", " 3-1", "1-" + "9" * 5000]
)
def test_a_foreign_event_id_is_no_position(foreign: str) -> None:
    assert position(foreign) is None


def test_a_reader_gets_events_in_order_and_the_end_after_the_last(stream: Stream) -> None:
    reader = stream.read()
    stream.push(b"1")
    stream.push(b"2", last=True)
    assert queued(reader) == [encode("0-1", b"1"), encode("0-2", b"2"), None]
    assert stream.done


def test_what_nobody_reads_is_kept_for_whoever_asks(ring: Ring, stream: Stream) -> None:
    other = ring.stream()
    stream.push(b"1")
    other.push(b"x")
    stream.push(b"2")
    assert ring.after(0, 0) == [encode("0-1", b"1"), encode("0-3", b"2")]
    assert ring.after(0, 1) == [encode("0-3", b"2")]
    assert ring.after(1, 0) == [encode("1-2", b"x")]
    assert ring.after(0, 3) == ring.after(7, 0) == []


def test_a_later_event_alone_is_missing_after_priming(ring: Ring, stream: Stream) -> None:
    stream.push(b"before")
    primed = ring.priming(0)
    stream.push(b"after")
    event_id = primed.split(b"\n")[0].removeprefix(b"id: ").decode()
    assert ring.after(*position(event_id)) == [encode("0-2", b"after")]  # type: ignore[misc]
    assert b"data: \n\n" in primed
    assert b"\nretry: %d\n" % events.RETRY_MS in primed


def test_a_second_reader_takes_the_place_of_the_first(stream: Stream) -> None:
    first = stream.read()
    second = stream.read()
    stream.push(b"1")
    assert queued(first) == [None]
    assert queued(second) == [encode("0-1", b"1")]


def test_a_reader_that_goes_does_not_take_its_successor_along(stream: Stream) -> None:
    first = stream.read()
    second = stream.read()
    queued(first)
    stream.release(first)
    assert stream.is_read
    stream.release(second)
    assert not stream.is_read
    assert (queued(first), queued(second)) == ([], [None])
    stream.release()  # nobody reads: nothing to end


def test_only_the_last_thousand_events_are_kept(ring: Ring, stream: Stream) -> None:
    for number in range(events.KEPT_EVENTS + 5):
        stream.push(b"%d" % number)
    kept = ring.after(0, 0)
    assert len(kept) == events.KEPT_EVENTS
    assert kept[0] == encode("0-6", b"5")


def test_big_events_make_the_old_ones_go_and_the_newest_always_stays(ring: Ring, stream: Stream) -> None:
    half = b"x" * (events.KEPT_BYTES // 2)
    for _ in range(3):
        stream.push(half)
    assert [encode("0-2", half), encode("0-3", half)] == ring.after(0, 0)
    huge = b"y" * (events.KEPT_BYTES + 1)
    stream.push(huge)
    assert ring.after(0, 0) == [encode("0-4", huge)]
    stream.push(b"small")
    assert ring.after(0, 0) == [encode("0-5", b"small")]


def test_what_is_forgotten_makes_room(ring: Ring, stream: Stream) -> None:
    other, half = ring.stream(), b"x" * (events.KEPT_BYTES // 2)
    stream.push(half)
    other.push(half)
    ring.forget(1)
    assert (ring.after(0, 0), ring.after(1, 0)) == ([encode("0-1", half)], [])
    stream.push(half)
    assert len(ring.after(0, 0)) == 2


def test_events_are_kept_for_five_minutes(ring: Ring, stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(events.time, "monotonic", lambda: now)
    stream.push(b"old")
    now += events.KEPT_SECONDS
    stream.push(b"on the edge")
    assert len(ring.after(0, 0)) == 2
    now += 1
    stream.push(b"new")
    assert ring.after(0, 0) == [encode("0-2", b"on the edge"), encode("0-3", b"new")]
