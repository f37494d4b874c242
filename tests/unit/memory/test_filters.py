from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from remora import AsyncMemory
from remora.errors import Invalid
from remora.memory.filters import moment, to_datetime, to_us, where

NOON = 1_772_366_400_000_000  # 2026-03-01 12:00 UTC


async def test_names_become_one_filter(memory: AsyncMemory) -> None:
    found = where(
        memory.engine,
        {
            "tags": "A, b",
            "kinds": "Bug,error",
            "namespace": ["One", "two"],
            "include_archived": True,
            "time": "2026-03-01",
            "after": "2026-03-01T06:00:00+00:00",
            "tz": "UTC",
            "valid_at": "any",
        },
    )
    assert (found.tags, found.kinds, found.namespaces) == (("a", "b"), ("bug", "error"), ("one", "two"))
    assert found.statuses == ("active", "archived")
    assert found.any_validity
    assert (found.after, found.before) == (NOON - 6 * 3_600_000_000, NOON + 12 * 3_600_000_000)
    assert where(memory.engine, {"namespace": "*"}).namespaces is None
    assert where(memory.engine, {}).namespaces == ("global",)


@pytest.mark.parametrize(
    "given",
    [
        {"wobble": 1},
        {"kinds": "wobble"},
        {"min_trust": "god"},
        {"time": "blargh"},
        {"tz": "Mars/X", "after": "2026-01-01"},
    ],
)
async def test_bad_filters_are_refused(memory: AsyncMemory, given: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        where(memory.engine, given)


async def test_moments_in_every_form(memory: AsyncMemory) -> None:
    engine = memory.engine
    for value in (
        datetime(2026, 3, 1, 12, tzinfo=UTC),
        datetime(2026, 3, 1, 14, tzinfo=timezone(timedelta(hours=2))),
        NOON / 1e6,
        NOON // 1000,
        NOON,
        "2026-03-01T12:00:00Z",
    ):
        assert moment(engine, value) == NOON
    assert moment(engine, "2026-03-01 12:00", "UTC") == NOON
    assert moment(engine, "yesterday") < engine.now()


def test_times_keep_their_microseconds() -> None:
    for value in (0, 1, -1, NOON + 1, 253402300799_999999):
        assert to_us(to_datetime(value)) == value
