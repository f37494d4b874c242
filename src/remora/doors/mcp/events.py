"""Server-sent events of handshake sessions: each stream can be read again from the last event a client saw."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import NamedTuple

KEPT_EVENTS, KEPT_SECONDS = 1000, 300.0
RETRY_MS = 500
HEADERS = {"content-type": "text/event-stream", "cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}
PING = b": ping\n\n"


class Kept(NamedTuple):
    number: int
    stream: int
    data: bytes
    at: float


class Stream:
    """Messages that belong together, in order. It has at most one reader at a time."""

    def __init__(self, ring: Ring, number: int) -> None:
        self.number = number
        self.done = False
        self._ring = ring
        self._reader: asyncio.Queue[bytes | None] | None = None

    def push(self, message: bytes, *, last: bool = False) -> None:
        event = self._ring.keep(self.number, message)
        self.done = self.done or last
        if self._reader is not None:
            self._reader.put_nowait(event)
            if last:
                self._reader.put_nowait(None)

    def read(self) -> asyncio.Queue[bytes | None]:
        """A queue of encoded events, None at the end; who read before is told to stop."""
        self.release()
        self._reader = asyncio.Queue()
        return self._reader

    def release(self, reader: asyncio.Queue[bytes | None] | None = None) -> None:
        """End the reading; what comes later is kept for whoever asks for it."""
        if self._reader is not None and (reader is None or reader is self._reader):
            self._reader.put_nowait(None)
            self._reader = None

    @property
    def is_read(self) -> bool:
        return self._reader is not None


class Ring:
    """The last events of a session."""

    def __init__(self) -> None:
        self._kept: deque[Kept] = deque(maxlen=KEPT_EVENTS)
        self._count = 0
        self._streams = 0

    def stream(self) -> Stream:
        self._streams += 1
        return Stream(self, self._streams - 1)

    def keep(self, stream: int, message: bytes) -> bytes:
        self._count += 1
        now = time.monotonic()
        while self._kept and self._kept[0].at < now - KEPT_SECONDS:
            self._kept.popleft()
        self._kept.append(Kept(self._count, stream, message, now))
        return encode(f"{stream}-{self._count}", message)

    def priming(self, stream: int) -> bytes:
        """An event without data: it gives the client an id to resume from, and the pause before it does."""
        return b"id: %d-%d\nretry: %d\ndata: \n\n" % (stream, self._count, RETRY_MS)

    def after(self, stream: int, number: int) -> list[bytes]:
        return [
            encode(f"{e.stream}-{e.number}", e.data) for e in self._kept if e.stream == stream and e.number > number
        ]


def encode(event_id: str, message: bytes) -> bytes:
    return b"event: message\nid: %b\ndata: %b\n\n" % (event_id.encode(), message)


def position(event_id: str) -> tuple[int, int] | None:
    """(stream, number) of an event id of ours."""
    stream, _, number = event_id.partition("-")
    return (int(stream), int(number)) if stream.isdecimal() and number.isdecimal() else None
