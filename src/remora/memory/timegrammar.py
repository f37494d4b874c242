"""Reads one time expression at one moment. Calendar arithmetic is done on the wall clock of the zone."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import cast

from remora.memory.timepatterns import POINTS, RANGES
from remora.memory.timewords import NUMBERS, PARTS, SEASONS, SHORT_DAYS, SHORT_MONTHS, UNITS
from remora.memory.timezone import Rules, zone_of


@dataclass(frozen=True, slots=True)
class Span:
    start: datetime | None
    end: datetime | None
    grain: str


class Grammar:
    """One expression at one moment; every rule is a pattern and a method."""

    def __init__(self, now: datetime, rule: Rules) -> None:
        self.now = now
        self.rule = rule
        self.today = datetime(now.year, now.month, now.day)  # wall clock, without zone

    def read(self, text: str) -> Span | None:
        for pattern, rule in RANGES:
            if found := pattern.fullmatch(text):
                span = getattr(self, rule)(found)
                if span is not None:
                    return cast("Span", span)
        return self.point(text)

    def point(self, text: str) -> Span | None:
        text = re.sub(
            r"^(?:in|on|at|during|around|sometime|the|from|of) (?!the last|the past|last \d|past )",
            "",
            text.strip(" ,"),
        )
        text = re.sub(r"^the (?=\d)", "", text)
        for pattern, rule in POINTS:
            if found := pattern.fullmatch(text):
                try:
                    span = getattr(self, rule)(found)
                except (ValueError, OverflowError):
                    continue  # 30 February
                if span is not None:
                    return cast("Span", span)
        return None

    # building spans

    def aware(self, wall: datetime) -> datetime:
        return wall.replace(tzinfo=self.rule.zone)

    def days(self, start: datetime, count: int = 1, grain: str = "day") -> Span:
        return Span(self.aware(start), self.aware(start + timedelta(days=count)), grain)

    def month(self, year: int, month: int, count: int = 1, grain: str = "month") -> Span:
        total = year * 12 + month - 1
        first, after = divmod(total, 12), divmod(total + count, 12)
        return Span(
            self.aware(datetime(first[0], first[1] + 1, 1)), self.aware(datetime(after[0], after[1] + 1, 1)), grain
        )

    def week_of(self, day: datetime) -> datetime:
        return day - timedelta(days=(day.weekday() - self.rule.week_start) % 7)

    def unit(self, unit: str, back: int) -> Span:
        """The calendar unit that lies `back` units before the current one."""
        match unit:
            case "day":
                return self.days(self.today - timedelta(days=back))
            case "week":
                return self.days(self.week_of(self.today) - timedelta(weeks=back), 7, "week")
            case "month":
                return self.month(self.today.year, self.today.month - back)
            case "quarter":
                return self.month(self.today.year, (self.today.month - 1) // 3 * 3 + 1 - 3 * back, 3, "quarter")
            case _:
                return self.month(self.today.year - back, 1, 12, "year")

    def between(self, found: re.Match[str]) -> Span | None:
        first, second = self.point(found[1]), self.point(found[2])
        if first is None and second is not None and second.start is not None:
            # "from 3 to 5 march", "between monday and friday": the first may lean on the second.
            first = self.point(f"{found[1]} {found[2].split(maxsplit=1)[-1]}")
        if first is None or second is None:
            return None
        return Span(first.start, second.end, first.grain)

    def day_between(self, found: re.Match[str]) -> Span | None:
        day = self.point(found[1])
        if day is None or day.start is None or day.grain != "day":
            return None
        first, second = (self.clock(found[at], day.start) for at in (2, 3))
        if first is None or second is None:
            return None
        return Span(first, second, "minute")

    def since(self, found: re.Match[str]) -> Span | None:
        span = self.point(found[1])
        return Span(span.start, self.now, span.grain) if span else None

    def after(self, found: re.Match[str]) -> Span | None:
        span = self.point(found[1])
        return Span(span.end, None, span.grain) if span else None

    def before(self, found: re.Match[str]) -> Span | None:
        span = self.point(found[1])
        return Span(None, span.start, span.grain) if span else None

    def until(self, found: re.Match[str]) -> Span | None:
        span = self.point(found[1])
        return Span(None, span.end, span.grain) if span else None

    def iso(self, found: re.Match[str]) -> Span:
        day = datetime(int(found[1]), int(found[2]), int(found[3]))
        if found[4] is None:
            return self.days(day)
        zone = zone_of(found[7].upper()) if found[7] else self.rule.zone
        start = day.replace(hour=int(found[4]), minute=int(found[5]), second=int(found[6] or 0), tzinfo=zone)
        seconds = 1 if found[6] else 60
        return Span(start, start + timedelta(seconds=seconds), "second" if found[6] else "minute")

    def iso_month(self, found: re.Match[str]) -> Span:
        return self.month(int(found[1]), int(found[2]))

    def year(self, found: re.Match[str]) -> Span:
        return self.month(int(found[1]), 1, 12, "year")

    def iso_week(self, found: re.Match[str]) -> Span:
        return self.days(datetime.fromisocalendar(int(found[1]), int(found[2]), 1), 7, "week")

    def numbered_week(self, found: re.Match[str]) -> Span:
        year = int(found[2]) if found[2] else self.today.isocalendar()[0]
        start = datetime.fromisocalendar(year, int(found[1]), 1)
        if not found[2] and start > self.today:
            start = datetime.fromisocalendar(year - 1, int(found[1]), 1)
        return self.days(start, 7, "week")

    def quarter(self, found: re.Match[str]) -> Span:
        groups = found.groupdict()
        number = {"first": 1, "second": 2, "third": 3, "fourth": 4}.get(groups["q"], 0) or int(groups["q"])
        year = int(groups["y"]) if groups.get("y") else self.today.year
        span = self.month(year, 3 * number - 2, 3, "quarter")
        return (
            span
            if groups.get("y") or span.start is None or span.start <= self.now
            else self.month(year - 1, 3 * number - 2, 3, "quarter")
        )

    def half(self, found: re.Match[str]) -> Span:
        number = {"first": 1, "second": 2}.get(found["h"], 0) or int(found["h"])
        return self.month(int(found["y"] or self.today.year), 6 * number - 5, 6, "half")

    def epoch(self, found: re.Match[str]) -> Span:
        value = int(found[1]) / (1000 if len(found[1]) == 13 else 1)
        start = datetime.fromtimestamp(value, self.rule.zone)
        return Span(start, start + timedelta(seconds=1), "second")

    def numeric(self, found: re.Match[str]) -> Span:
        """3/14 by the configured order, unless a number above 12 decides; 14.3. is always day first."""
        first, second = int(found[1]), int(found[3])
        day_first = found[2] == "." or first > 12 or (self.rule.date_order == "dmy" and second <= 12)
        day, month = (first, second) if day_first else (second, first)
        return self.dated(day, month, found[4])

    def dated(self, day: int, month: int, year: str | None) -> Span:
        if year:
            return self.days(datetime(int(year) + (2000 if len(year) == 2 else 0), month, day))
        for candidate in range(self.today.year, self.today.year - 9, -1):
            try:
                found = datetime(candidate, month, day)
            except ValueError:
                continue  # 29 February
            if found <= self.today:
                return self.days(found)
        raise ValueError("no such day")

    def month_day(self, found: re.Match[str]) -> Span:
        groups = found.groupdict()
        return self.dated(int(groups["d"]), _month(groups["m"]), groups["y"])

    def month_number(self, found: re.Match[str]) -> Span:
        if found[2]:
            return self.dated(int(found[2]), int(found[1]), None)
        return self.named(int(found[1]), None)

    def named(self, month: int, year: str | None) -> Span:
        if year:
            return self.month(int(year), month)
        return self.month(self.today.year - (month > self.today.month), month)

    def month_name(self, found: re.Match[str]) -> Span:
        month = _month(found[2])
        if found[1] is None:
            return self.named(month, found[3])
        passed = month < self.today.month
        return (
            self.month(self.today.year - (0 if passed else 1), month)
            if found[1] != "this "
            else self.month(self.today.year, month)
        )

    def word_day(self, found: re.Match[str]) -> Span:
        back = {"today": 0, "yesterday": 1, "day before yesterday": 2, "tomorrow": -1}[found[1]]
        return self.days(self.today - timedelta(days=back))

    def instant(self, _: re.Match[str]) -> Span:
        return Span(self.now, self.now + timedelta(seconds=1), "second")

    def recent(self, found: re.Match[str]) -> Span:
        return Span(self.now - timedelta(days=7), self.now, "day")

    def ago(self, found: re.Match[str]) -> Span:
        count, unit = _number(found[1]), _unit(found[2])
        if unit in ("second", "minute", "hour"):
            centre = self.now.astimezone(UTC) - timedelta(**{f"{unit}s": count})
            half = max(timedelta(**{f"{unit}s": 1}), timedelta(minutes=10)) / 2
            return Span(centre - half, centre + half, unit)
        if unit == "week":
            return self.days(self.week_of(self.today - timedelta(weeks=count)), 7, "week")
        return self.unit(unit, count)

    def past(self, found: re.Match[str]) -> Span:
        count, unit = _number(found[1] or "1"), _unit(found[2])
        return Span(self.back(count, unit), self.now, unit)

    def back(self, count: int, unit: str) -> datetime:
        if unit in ("month", "quarter", "year"):
            months = count * {"month": 1, "quarter": 3, "year": 12}[unit]
            year, month = divmod(self.today.year * 12 + self.today.month - 1 - months, 12)
            wall = self.now.replace(tzinfo=None)
            return self.aware(
                wall.replace(year=year, month=month + 1, day=min(wall.day, monthrange(year, month + 1)[1]))
            )
        if unit in ("day", "week"):
            return self.aware(self.now.replace(tzinfo=None) - timedelta(**{f"{unit}s": count}))
        return self.now.astimezone(UTC) - timedelta(**{f"{unit}s": count})

    def calendar(self, found: re.Match[str]) -> Span:
        which, unit = found[1], found[2]
        if unit == "weekend":
            saturday = self.week_of(self.today) + timedelta(days=(5 - self.rule.week_start) % 7)
            over = which != "this" and not (saturday + timedelta(days=2) <= self.today)
            return self.days(saturday - timedelta(weeks=1 if over else 0), 2, "weekend")
        if which == "this":
            span = self.unit(unit, 0)
            return replace(span, end=min(span.end, self.now)) if span.end is not None and unit != "day" else span
        return self.unit(unit, 1)

    def weekday(self, found: re.Match[str]) -> Span:
        wanted = SHORT_DAYS[found[2][:3]]
        back = (self.today.weekday() - wanted) % 7
        if found[1] in ("last ", "previous ", "past ") and back == 0:
            back = 7
        return self.days(self.today - timedelta(days=back))

    def season(self, found: re.Match[str]) -> Span:
        which, name, year = found[1], found[2], found[3]
        first = SEASONS[name]
        if self.rule.southern:
            first = (first + 5) % 12 + 1
        if year:
            return self.month(int(year), first, 3, "season")
        span = self.month(self.today.year, first, 3, "season")
        latest = self.now if which != "last " else None
        while (latest is None and span.end is not None and span.end > self.now) or (
            latest and span.start and span.start > latest
        ):
            assert span.start is not None
            span = self.month(span.start.year - 1, first, 3, "season")
        return span

    def holiday(self, found: re.Match[str]) -> Span:
        year = int(found[3]) if found[3] else self.today.year
        day = _holiday(found[2], year)
        if not found[3] and (day > self.today or (found[1] == "last " and day >= self.today)):
            day = _holiday(found[2], year - 1)
        return self.days(day - timedelta(days=3), 7, "holiday")

    def part_of(self, found: re.Match[str]) -> Span | None:
        """Thirds: early March, the end of 2025, mid last year."""
        span = self.point(found[2])
        if span is None or span.start is None or span.end is None or span.grain == "minute":
            return None
        whole = (
            self.unit(span.grain, 0)
            if found[2].startswith("this ") and span.grain in ("week", "month", "year", "quarter")
            else span
        )
        start, end = (edge.replace(tzinfo=None) for edge in (whole.start, whole.end) if edge is not None)
        third = timedelta(days=round((end - start).days / 3))
        which = found[1].split()[0]
        if which in ("early", "beginning", "start"):
            edges = (start, start + third)
        elif which in ("late", "end"):
            edges = (end - third, end)
        else:
            edges = (start + third, end - third)
        return Span(self.aware(edges[0]), self.aware(edges[1]), span.grain)

    def day_part(self, found: re.Match[str]) -> Span | None:
        day = self.point(found[1])
        if day is None or day.start is None or day.grain != "day":
            return None
        return self.part(day.start.replace(tzinfo=None), found[2])

    def part(self, day: datetime, name: str) -> Span:
        first, last = PARTS[name]
        return Span(self.aware(day + timedelta(hours=first)), self.aware(day + timedelta(hours=last)), "part")

    def this_part(self, found: re.Match[str]) -> Span:
        if found[1] in ("tonight", "this night"):
            return self.part(self.today, "night")
        if found[1] == "last night":
            return self.part(self.today - timedelta(days=1), "night")
        return self.part(self.today, found[2])

    def day_time(self, found: re.Match[str]) -> Span | None:
        day = self.point(found[1])
        if day is None or day.start is None or day.grain != "day":
            return None
        start = self.clock(found[2], day.start)
        return Span(start, start + timedelta(minutes=1), "minute") if start is not None else None

    def only_time(self, found: re.Match[str]) -> Span | None:
        start = self.clock(found[1], self.aware(self.today))
        return Span(start, start + timedelta(minutes=1), "minute") if start is not None else None

    def clock(self, text: str, day: datetime) -> datetime | None:
        """2pm, 14:30, noon on that day."""
        text = text.strip().replace(".", "").removeprefix("at ")
        if text in ("noon", "midnight"):
            return self.aware(day.replace(tzinfo=None) + timedelta(hours=12 if text == "noon" else 0))
        found = re.fullmatch(r"(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?\s*([ap]m)?", text)
        if found is None:
            return None
        hour = int(found[1]) % 12 + (12 if found[4] == "pm" else 0) if found[4] else int(found[1])
        if hour > 24 or int(found[2] or 0) > 59:
            return None
        wall = day.replace(tzinfo=None) + timedelta(hours=hour, minutes=int(found[2] or 0), seconds=int(found[3] or 0))
        return self.aware(wall)


def _number(text: str) -> int:
    return int(text) if text.isdigit() else NUMBERS[text]


def _unit(text: str) -> str:
    return UNITS.get(text) or text.removesuffix("s")


def _month(text: str) -> int:
    text = text.rstrip(".")
    return SHORT_MONTHS[text] if text in SHORT_MONTHS else SHORT_MONTHS[text[:3]]


def _holiday(name: str, year: int) -> datetime:
    if name == "easter":
        # Gauss's rule in its anonymous Gregorian form.
        a, b, c = year % 19, year // 100, year % 100
        d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
        e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
        f = d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114
        return datetime(year, f // 31, f % 31 + 1)
    if name == "thanksgiving":
        first = datetime(year, 11, 1)
        return first + timedelta(days=(3 - first.weekday()) % 7 + 21)
    month, day = {"christmas": (12, 25), "new year": (1, 1), "halloween": (10, 31), "valentine": (2, 14)}[name]
    return datetime(year, month, day)
