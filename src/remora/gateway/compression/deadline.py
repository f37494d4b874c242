"""A time limit that long work asks for by itself: no thread can be stopped from outside."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
STEP = 256  # items between two looks at the clock: a few milliseconds of work
_until: ContextVar[float | None] = ContextVar("until", default=None)


class TimeIsUp(TimeoutError):
    """The text could not be made small in time."""


@contextmanager
def limit(until: float | None) -> Iterator[None]:
    """Work inside ends by `until` (of time.monotonic) or raises TimeIsUp."""
    token = _until.set(until)
    try:
        check()
        yield
    finally:
        _until.reset(token)


def check() -> None:
    until = _until.get()
    if until is not None and time.monotonic() > until:
        raise TimeIsUp("compression took too long")


def watched(items: Iterable[T]) -> Iterable[T]:
    """The items, with a look at the clock now and then; without a limit the items themselves."""
    return items if _until.get() is None else _watched(items)


def _watched(items: Iterable[T]) -> Iterator[T]:
    rest = iter(items)
    while part := list(islice(rest, STEP)):
        check()
        yield from part
