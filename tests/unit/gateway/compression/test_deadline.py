from __future__ import annotations

import time

import pytest

from remora import compress
from remora.gateway.compression import deadline


def test_work_ends_when_its_time_is_up() -> None:
    with pytest.raises(TimeoutError), deadline.limit(time.monotonic() - 1):
        pass
    with pytest.raises(deadline.TimeIsUp):
        compress("a line\n" * 100, budget_chars=100, deadline=time.monotonic() - 1)


def test_long_work_looks_at_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    with deadline.limit(time.monotonic() + 60):
        items = iter(deadline.watched(range(2 * deadline.STEP)))
        next(items)
        monkeypatch.setattr(deadline.time, "monotonic", lambda: float("inf"))
        with pytest.raises(deadline.TimeIsUp):
            list(items)


def test_without_a_limit_nothing_is_wrapped() -> None:
    items = [1, 2]
    assert deadline.watched(items) is items
