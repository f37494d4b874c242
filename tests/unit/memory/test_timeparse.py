from __future__ import annotations

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from remora.errors import Invalid
from remora.memory.timeparse import find, parse
from remora.memory.timezone import Rules

# expression | start | end, as clocks on the wall show them, at 15:30 on Wednesday, 18 March 2026
ROWS = [
    [cell.strip() for cell in line.split("|")]
    for line in (Path(__file__).parent / "time_table.txt").read_text(encoding="utf-8").splitlines()
]
ZONES = ("Europe/Berlin", "America/New_York")


def at(zone: str, text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1_000_000)


def test_the_table_is_long_enough() -> None:
    assert len(ROWS) >= 150


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_expression(row: list[str], zone: str) -> None:
    text, start, end = row
    found = parse(text, at(zone, "2026-03-18 15:30"), Rules(ZoneInfo(zone)))
    edges = [None if edge == "-" else at(zone, edge) for edge in (start, end)]
    assert [found.start, found.end] == edges


def test_instants_with_a_zone_of_their_own() -> None:
    now, rules = at("Europe/Berlin", "2026-03-18 15:30"), Rules(ZoneInfo("Europe/Berlin"))
    assert parse("2026-03-01T14:05Z", now, rules).start == at("UTC", "2026-03-01 14:05")
    assert parse("2026-03-01T14:05+02:00", now, rules).start == at("UTC", "2026-03-01 12:05")
    assert parse("1767225600", now, rules).start == at("UTC", "2026-01-01")
    assert parse("1767225600000", now, rules).start == at("UTC", "2026-01-01")


def test_a_day_is_a_day_where_clocks_change() -> None:
    berlin = Rules(ZoneInfo("Europe/Berlin"))
    spring = parse("2026-03-29", at("UTC", "2026-04-01"), berlin)
    autumn = parse("2025-10-26", at("UTC", "2026-04-01"), berlin)
    assert [((day.end or 0) - (day.start or 0)) // 3_600_000_000 for day in (spring, autumn)] == [23, 25]


def test_the_configuration_decides_what_is_ambiguous() -> None:
    now = at("UTC", "2026-03-18 15:30")
    zone = ZoneInfo("UTC")
    assert parse("3/4/2025", now, Rules(zone)).start == at("UTC", "2025-03-04")
    assert parse("3/4/2025", now, Rules(zone, date_order="dmy")).start == at("UTC", "2025-04-03")
    assert parse("this week", now, Rules(zone, week_start=6)).start == at("UTC", "2026-03-15")
    assert parse("summer 2025", now, Rules(zone, southern=True)).start == at("UTC", "2025-12-01")


def test_ends_the_wrong_way_round_are_swapped() -> None:
    found = parse("2026-03-05..2026-03-01", at("UTC", "2026-03-18"), Rules(ZoneInfo("UTC")))
    assert found.swapped
    assert (found.start, found.end) == (at("UTC", "2026-03-02"), at("UTC", "2026-03-05"))


@pytest.mark.parametrize("text", ["", "blargh", "between now", "30 February", "99/99", "since", "x" * 501])
def test_what_cannot_be_read_is_refused_with_examples(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse(text, at("UTC", "2026-03-18"), Rules(ZoneInfo("UTC")))
    assert refused.value.code == "bad_time"


@pytest.mark.parametrize(
    ("text", "phrase", "rest"),
    [
        ("what did we decide last week about the cache?", "last week", "what did we decide about the cache"),
        ("the deploy in March 2025 failed", "in March 2025", "the deploy failed"),
        ("was haben wir gestern Abend besprochen", "gestern Abend", "was haben wir besprochen"),
        (
            "notes from between March 3 2025 and early June 2025",
            "between March 3 2025 and early June 2025",
            "notes from",
        ),
        ("yesterday", "yesterday", ""),
    ],
)
def test_the_longest_phrase_is_found_in_a_text(text: str, phrase: str, rest: str) -> None:
    found = find(text, at("UTC", "2026-03-18 15:30"), Rules(ZoneInfo("UTC")))
    assert found is not None
    assert (found[1].text, found[0]) == (phrase, rest)


@pytest.mark.parametrize(
    "text", ["may we deploy", "march on", "the second try", "a fall in prices", "version 2025 of it"]
)
def test_plain_words_are_no_times(text: str) -> None:
    assert find(text, at("UTC", "2026-03-18"), Rules(ZoneInfo("UTC"))) is None
