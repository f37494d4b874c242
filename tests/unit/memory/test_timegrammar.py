from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from remora.memory.timegrammar import Grammar
from remora.memory.timezone import Rules

ZONE = ZoneInfo("UTC")
WINTER = Grammar(datetime(2026, 1, 31, 12, tzinfo=ZONE), Rules(ZONE))


def test_months_of_other_lengths() -> None:
    assert WINTER.back(2, "month") == datetime(2025, 11, 30, 12, tzinfo=ZONE)
    assert WINTER.back(11, "month") == datetime(2025, 2, 28, 12, tzinfo=ZONE)
    assert WINTER.back(1, "month") == datetime(2025, 12, 31, 12, tzinfo=ZONE)


def test_units_over_the_turn_of_the_year() -> None:
    spans = [WINTER.unit(unit, 1) for unit in ("month", "quarter", "year")]
    assert [span.start for span in spans] == [datetime(2025, month, 1, tzinfo=ZONE) for month in (12, 10, 1)]
    assert spans[0].end == datetime(2026, 1, 1, tzinfo=ZONE)


def test_easter() -> None:
    found = [WINTER.read(f"easter {year}") for year in (2024, 2025, 2026)]
    days = [span.start.strftime("%m-%d") for span in found if span and span.start]
    assert days == ["03-28", "04-17", "04-02"]


def test_what_is_no_time_is_nothing() -> None:
    assert WINTER.read("wobble") is None
    assert WINTER.read("from here to there") is None
