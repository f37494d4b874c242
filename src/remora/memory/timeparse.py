"""Time expressions to half-open intervals: `last Monday between 2pm and 4pm`, `vor 3 Wochen`, `2026-W12`, `since yesterday`.

Calendar arithmetic is done on the wall clock of the zone, so that a day is a day also where clocks change.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from remora.errors import Invalid
from remora.memory.timewords import (
    DAYS,
    MONTHS,
    NUMBERS,
    PARTS,
    SEASONS,
    SHORT_DAYS,
    SHORT_MONTHS,
    UNITS,
    in_english,
)

if TYPE_CHECKING:
    from remora.memory.engine import Settings

LONGEST = 500
EXAMPLES = "yesterday, 3 weeks ago, last Monday between 2pm and 4pm, 2026-03-01"


@dataclass(frozen=True, slots=True)
class Rules:
    zone: tzinfo
    locales: tuple[str, ...] = ("en", "de")
    date_order: str = "mdy"
    week_start: int = 0
    southern: bool = False


@dataclass(frozen=True, slots=True)
class Interval:
    """Microseconds UTC; None = open."""

    start: int | None
    end: int | None
    granularity: str
    text: str
    locale: str = "en"
    swapped: bool = False


@dataclass(frozen=True, slots=True)
class _Span:
    start: datetime | None
    end: datetime | None
    grain: str


def rules(settings: Settings, zone: str | None = None) -> Rules:
    return Rules(
        zone=zone_of(zone or settings.zone),
        locales=settings.locales,
        date_order=settings.date_order,
        week_start=0 if settings.week_start == "mon" else 6,
        southern=settings.hemisphere == "south",
    )


def zone_of(name: str | None) -> tzinfo:
    """An IANA name, ±hh:mm, or the system's zone."""
    if name is None:
        return datetime.now().astimezone().tzinfo or UTC
    if name.upper() in ("Z", "UTC"):
        return UTC
    if found := re.fullmatch(r"([+-])(\d{2}):?(\d{2})", name):
        offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
        return timezone(offset if found[1] == "+" else -offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as cause:
        raise Invalid(
            f'"{name}" is not a time zone', code="bad_zone", hint="for example Europe/Berlin or +02:00"
        ) from cause


def parse(text: str, now: int, rule: Rules) -> Interval:
    """The interval that the expression means; what cannot be read is an error, never ignored."""
    if len(text) > LONGEST:
        raise Invalid(f"a time expression has at most {LONGEST} characters", code="bad_time")
    clean = " ".join(text.strip().strip(".,;!?").split())
    moment = datetime.fromtimestamp(now / 1_000_000, rule.zone)
    for locale in _locales(clean, rule):
        span = _Parser(moment, rule).read(in_english(clean.lower(), locale))
        if span is not None:
            return _interval(span, text, locale)
    raise Invalid(f'"{text[:80]}" is not a time', code="bad_time", hint=f"for example {EXAMPLES}")


def find(text: str, now: int, rule: Rules) -> tuple[str, Interval] | None:
    """The longest time phrase inside a text, and the text without it."""
    words = text.split()[:200]
    for length in range(min(12, len(words)), 0, -1):
        for at in range(len(words) - length + 1):
            phrase = " ".join(words[at : at + length])
            if not _plausible(words[at : at + length]):
                continue
            try:
                interval = parse(phrase, now, rule)
            except Invalid:
                continue
            rest = " ".join([*words[:at], *words[at + length :]])
            return rest.strip(" ,;:?!."), interval
    return None


_LEADS = re.compile(
    r"(?i)(?:in|on|during|since|after|before|until|between|from|last|past|this|yesterday|today|early|mid|late|beginning|end|the|"
    r"recently|lately|\d.*|.*\d|im|am|seit|nach|vor|bis|zwischen|von|vom|letzte\w*|vorige\w*|diese\w*|die|den|gestern|heute|vorgestern|"
    r"anfang|mitte|ende|neulich|kürzlich|one|two|three|four|five|six|seven|eight|nine|ten|a|an|few|couple|christmas|easter|"
    r"[가-힣]+)"
)
_ALONE = {
    "may",
    "march",
    "mar",
    "sun",
    "sat",
    "second",
    "fall",
    "spring",
    "a",
    "an",
    "the",
    "now",
    "noon",
    "night",
    "morning",
}


def _plausible(words: list[str]) -> bool:
    """Keeps words that are also plain words ("may we deploy") from being read as times."""
    first = words[0].strip(".,;!?").lower()
    named = words[0][0].isupper() and (first[:3] in SHORT_MONTHS or first[:3] in SHORT_DAYS)
    if len(words) == 1:
        return first not in _ALONE and not first.isdigit() and (named or _LEADS.fullmatch(first) is not None)
    return (
        (named and first != "may") or _LEADS.fullmatch(first) is not None or (first == "may" and words[1][0].isdigit())
    )


def _locales(text: str, rule: Rules) -> list[str]:
    """Korean shows by its letters; the others are tried in the configured order."""
    found = ["ko"] if re.search("[가-힣]", text) else []
    return list(dict.fromkeys((*found, *rule.locales, "en", "de")))


def _interval(span: _Span, text: str, locale: str) -> Interval:
    start, end = (None if edge is None else int(edge.timestamp() * 1_000_000) for edge in (span.start, span.end))
    swapped = start is not None and end is not None and start > end
    return (
        Interval(end, start, span.grain, text, locale, True)
        if swapped
        else Interval(start, end, span.grain, text, locale)
    )


def _regex(pattern: str) -> re.Pattern[str]:
    number = "|".join(sorted(map(re.escape, NUMBERS), key=len, reverse=True))
    units = "seconds?|minutes?|hours?|days?|weeks?|months?|quarters?|years?|" + "|".join(
        sorted(UNITS, key=len, reverse=True)
    )
    month = "|".join([*MONTHS, *sorted(SHORT_MONTHS, key=len, reverse=True)])
    day = "|".join([*DAYS, *sorted(SHORT_DAYS, key=len, reverse=True)])
    for name, value in (("N", rf"\d+|{number}"), ("UNIT", units), ("MONTH", rf"(?:{month})\.?"), ("DAY", day)):
        pattern = pattern.replace(f"<{name}>", f"(?:{value})")
    return re.compile(pattern)


_TIME = r"(?:\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]\.?m\.?)?|\d{1,2} ?[ap]\.?m\.?|noon|midnight)"


class _Parser:
    """One expression at one moment; every rule is a pattern and a method."""

    def __init__(self, now: datetime, rule: Rules) -> None:
        self.now = now
        self.rule = rule
        self.today = datetime(now.year, now.month, now.day)  # wall clock, without zone

    def read(self, text: str) -> _Span | None:
        for pattern, method in _RANGES:
            if found := pattern.fullmatch(text):
                span = method(self, found)
                if span is not None:
                    return span
        return self.point(text)

    def point(self, text: str) -> _Span | None:
        text = re.sub(
            r"^(?:in|on|at|during|around|sometime|the|from|of) (?!the last|the past|last \d|past )",
            "",
            text.strip(" ,"),
        )
        text = re.sub(r"^the (?=\d)", "", text)
        for pattern, method in _POINTS:
            if found := pattern.fullmatch(text):
                try:
                    span = method(self, found)
                except (ValueError, OverflowError):
                    continue  # 30 February
                if span is not None:
                    return span
        return None

    # building spans

    def aware(self, wall: datetime) -> datetime:
        return wall.replace(tzinfo=self.rule.zone)

    def days(self, start: datetime, count: int = 1, grain: str = "day") -> _Span:
        return _Span(self.aware(start), self.aware(start + timedelta(days=count)), grain)

    def month(self, year: int, month: int, count: int = 1, grain: str = "month") -> _Span:
        total = year * 12 + month - 1
        first, after = divmod(total, 12), divmod(total + count, 12)
        return _Span(
            self.aware(datetime(first[0], first[1] + 1, 1)), self.aware(datetime(after[0], after[1] + 1, 1)), grain
        )

    def week_of(self, day: datetime) -> datetime:
        return day - timedelta(days=(day.weekday() - self.rule.week_start) % 7)

    def unit(self, unit: str, back: int) -> _Span:
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

    # rules

    def between(self, found: re.Match[str]) -> _Span | None:
        first, second = self.point(found[1]), self.point(found[2])
        if first is None and second is not None and second.start is not None:
            # "from 3 to 5 march", "between monday and friday": the first may lean on the second.
            first = self.point(f"{found[1]} {found[2].split(maxsplit=1)[-1]}")
        if first is None or second is None:
            return None
        return _Span(first.start, second.end, first.grain)

    def day_between(self, found: re.Match[str]) -> _Span | None:
        day = self.point(found[1])
        if day is None or day.start is None or day.grain != "day":
            return None
        first, second = (self.clock(found[at], day.start) for at in (2, 3))
        if first is None or second is None:
            return None
        return _Span(first, second, "minute")

    def since(self, found: re.Match[str]) -> _Span | None:
        span = self.point(found[1])
        return _Span(span.start, self.now, span.grain) if span else None

    def after(self, found: re.Match[str]) -> _Span | None:
        span = self.point(found[1])
        return _Span(span.end, None, span.grain) if span else None

    def before(self, found: re.Match[str]) -> _Span | None:
        span = self.point(found[1])
        return _Span(None, span.start, span.grain) if span else None

    def until(self, found: re.Match[str]) -> _Span | None:
        span = self.point(found[1])
        return _Span(None, span.end, span.grain) if span else None

    def iso(self, found: re.Match[str]) -> _Span:
        day = datetime(int(found[1]), int(found[2]), int(found[3]))
        if found[4] is None:
            return self.days(day)
        zone = zone_of(found[7].upper()) if found[7] else self.rule.zone
        start = day.replace(hour=int(found[4]), minute=int(found[5]), second=int(found[6] or 0), tzinfo=zone)
        seconds = 1 if found[6] else 60
        return _Span(start, start + timedelta(seconds=seconds), "second" if found[6] else "minute")

    def iso_month(self, found: re.Match[str]) -> _Span:
        return self.month(int(found[1]), int(found[2]))

    def year(self, found: re.Match[str]) -> _Span:
        return self.month(int(found[1]), 1, 12, "year")

    def iso_week(self, found: re.Match[str]) -> _Span:
        return self.days(datetime.fromisocalendar(int(found[1]), int(found[2]), 1), 7, "week")

    def numbered_week(self, found: re.Match[str]) -> _Span:
        year = int(found[2]) if found[2] else self.today.isocalendar()[0]
        start = datetime.fromisocalendar(year, int(found[1]), 1)
        if not found[2] and start > self.today:
            start = datetime.fromisocalendar(year - 1, int(found[1]), 1)
        return self.days(start, 7, "week")

    def quarter(self, found: re.Match[str]) -> _Span:
        groups = found.groupdict()
        number = {"first": 1, "second": 2, "third": 3, "fourth": 4}.get(groups["q"], 0) or int(groups["q"])
        year = int(groups["y"]) if groups.get("y") else self.today.year
        span = self.month(year, 3 * number - 2, 3, "quarter")
        return (
            span
            if groups.get("y") or span.start is None or span.start <= self.now
            else self.month(year - 1, 3 * number - 2, 3, "quarter")
        )

    def half(self, found: re.Match[str]) -> _Span:
        number = {"first": 1, "second": 2}.get(found["h"], 0) or int(found["h"])
        return self.month(int(found["y"] or self.today.year), 6 * number - 5, 6, "half")

    def epoch(self, found: re.Match[str]) -> _Span:
        value = int(found[1]) / (1000 if len(found[1]) == 13 else 1)
        start = datetime.fromtimestamp(value, self.rule.zone)
        return _Span(start, start + timedelta(seconds=1), "second")

    def numeric(self, found: re.Match[str]) -> _Span:
        """3/14 by the configured order, unless a number above 12 decides; 14.3. is always day first."""
        first, second = int(found[1]), int(found[3])
        day_first = found[2] == "." or first > 12 or (self.rule.date_order == "dmy" and second <= 12)
        day, month = (first, second) if day_first else (second, first)
        return self.dated(day, month, found[4])

    def dated(self, day: int, month: int, year: str | None) -> _Span:
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

    def month_day(self, found: re.Match[str]) -> _Span:
        groups = found.groupdict()
        return self.dated(int(groups["d"]), _month(groups["m"]), groups["y"])

    def month_number(self, found: re.Match[str]) -> _Span:
        if found[2]:
            return self.dated(int(found[2]), int(found[1]), None)
        return self.named(int(found[1]), None)

    def named(self, month: int, year: str | None) -> _Span:
        if year:
            return self.month(int(year), month)
        return self.month(self.today.year - (month > self.today.month), month)

    def month_name(self, found: re.Match[str]) -> _Span:
        return self.named(_month(found[2]), found[3]) if found[1] is None else self.last_month(found)

    def last_month(self, found: re.Match[str]) -> _Span:
        month = _month(found[2])
        passed = month < self.today.month
        return (
            self.month(self.today.year - (0 if passed else 1), month)
            if found[1] != "this "
            else self.month(self.today.year, month)
        )

    def word_day(self, found: re.Match[str]) -> _Span:
        back = {"today": 0, "yesterday": 1, "day before yesterday": 2, "tomorrow": -1}[found[1]]
        return self.days(self.today - timedelta(days=back))

    def instant(self, found: re.Match[str]) -> _Span:
        return _Span(self.now, self.now + timedelta(seconds=1), "second")

    def recent(self, found: re.Match[str]) -> _Span:
        return _Span(self.now - timedelta(days=7), self.now, "day")

    def ago(self, found: re.Match[str]) -> _Span:
        count, unit = _number(found[1]), _unit(found[2])
        if unit in ("second", "minute", "hour"):
            centre = self.now.astimezone(UTC) - timedelta(**{f"{unit}s": count})
            half = max(timedelta(**{f"{unit}s": 1}), timedelta(minutes=10)) / 2
            return _Span(centre - half, centre + half, unit)
        if unit == "week":
            return self.days(self.week_of(self.today - timedelta(weeks=count)), 7, "week")
        return self.unit(unit, count)

    def past(self, found: re.Match[str]) -> _Span:
        count, unit = _number(found[1] or "1"), _unit(found[2])
        return _Span(self.back(count, unit), self.now, unit)

    def back(self, count: int, unit: str) -> datetime:
        if unit in ("month", "quarter", "year"):
            months = count * {"month": 1, "quarter": 3, "year": 12}[unit]
            year, month = divmod(self.today.year * 12 + self.today.month - 1 - months, 12)
            last = (
                datetime(year + month // 11, month % 11 + 1 if month < 11 else 1, 1)
                if month == 11
                else datetime(year, month + 2, 1)
            ) - timedelta(days=1)
            wall = self.now.replace(tzinfo=None)
            return self.aware(wall.replace(year=year, month=month + 1, day=min(wall.day, last.day)))
        if unit in ("day", "week"):
            return self.aware(self.now.replace(tzinfo=None) - timedelta(**{f"{unit}s": count}))
        return self.now.astimezone(UTC) - timedelta(**{f"{unit}s": count})

    def calendar(self, found: re.Match[str]) -> _Span:
        which, unit = found[1], found[2]
        if unit == "weekend":
            saturday = self.week_of(self.today) + timedelta(days=(5 - self.rule.week_start) % 7)
            over = which != "this" and not (saturday + timedelta(days=2) <= self.today)
            return self.days(saturday - timedelta(weeks=1 if over else 0), 2, "weekend")
        if which == "this":
            span = self.unit(unit, 0)
            return replace(span, end=min(span.end, self.now)) if span.end is not None and unit != "day" else span
        return self.unit(unit, 1)

    def weekday(self, found: re.Match[str]) -> _Span:
        wanted = SHORT_DAYS[found[2][:3]]
        back = (self.today.weekday() - wanted) % 7
        if found[1] in ("last ", "previous ", "past ") and back == 0:
            back = 7
        return self.days(self.today - timedelta(days=back))

    def season(self, found: re.Match[str]) -> _Span:
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

    def holiday(self, found: re.Match[str]) -> _Span:
        year = int(found[3]) if found[3] else self.today.year
        day = _holiday(found[2], year)
        if not found[3] and (day > self.today or (found[1] == "last " and day >= self.today)):
            day = _holiday(found[2], year - 1)
        return self.days(day - timedelta(days=3), 7, "holiday")

    def part_of(self, found: re.Match[str]) -> _Span | None:
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
        return _Span(self.aware(edges[0]), self.aware(edges[1]), span.grain)

    def day_part(self, found: re.Match[str]) -> _Span | None:
        day = self.point(found[1])
        if day is None or day.start is None or day.grain != "day":
            return None
        return self.part(day.start.replace(tzinfo=None), found[2])

    def part(self, day: datetime, name: str) -> _Span:
        first, last = PARTS[name]
        return _Span(self.aware(day + timedelta(hours=first)), self.aware(day + timedelta(hours=last)), "part")

    def this_part(self, found: re.Match[str]) -> _Span:
        if found[1] in ("tonight", "this night"):
            return self.part(self.today, "night")
        if found[1] == "last night":
            return self.part(self.today - timedelta(days=1), "night")
        return self.part(self.today, found[2])

    def day_time(self, found: re.Match[str]) -> _Span | None:
        day = self.point(found[1])
        if day is None or day.start is None or day.grain != "day":
            return None
        start = self.clock(found[2], day.start)
        return _Span(start, start + timedelta(minutes=1), "minute") if start is not None else None

    def only_time(self, found: re.Match[str]) -> _Span | None:
        start = self.clock(found[1], self.aware(self.today))
        return _Span(start, start + timedelta(minutes=1), "minute") if start is not None else None

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


Rule = Callable[[_Parser, "re.Match[str]"], "_Span | None"]
_RANGES: list[tuple[re.Pattern[str], Rule]] = [
    (_regex(pattern), method)
    for pattern, method in (
        (rf"(.+?),? (?:between|from) (?:at )?({_TIME}|\d{{1,2}}) (?:and|to|until|-) (?:at )?({_TIME}|\d{{1,2}})", _Parser.day_between),
        (r"between (.+?) and (.+)", _Parser.between),
        (r"from (.+?) (?:to|until|till|through) (.+)", _Parser.between),
        (r"(.+?)\s*\.\.\s*(.+)", _Parser.between),
        (r"(.+?)\s+[–—-]\s+(.+)", _Parser.between),
        (r"(?:ever )?since (.+)", _Parser.since),
        (r"(?:after|later than|newer than) (.+)", _Parser.after),
        (r"(?:before|earlier than|older than|prior to) (.+)", _Parser.before),
        (r"(?:until|till|up to|through|by) (.+)", _Parser.until),
    )
]  # fmt: skip
_Y = r"(?:,? (?:of )?(?P<y>\d{4}))?"
_POINTS: list[tuple[re.Pattern[str], Rule]] = [
    (_regex(pattern), method)
    for pattern, method in (
        (r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[t ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*(z|[+-]\d{2}:?\d{2})?)?", _Parser.iso),
        (r"(\d{4})-(\d{1,2})", _Parser.iso_month),
        (r"(?:the year )?((?:19|20|21)\d{2})", _Parser.year),
        (r"(\d{4})-?w(\d{1,2})", _Parser.iso_week),
        (r"(?:calendar )?week (\d{1,2})(?: (?:of )?(\d{4})?)?", _Parser.numbered_week),
        (r"(?P<y>\d{4})-?q(?P<q>[1-4])", _Parser.quarter),
        (rf"q(?P<q>[1-4]){_Y}", _Parser.quarter),
        (rf"(?:the )?(?P<q>first|second|third|fourth|[1-4])(?:st|nd|rd|th|\.)? quarter{_Y}", _Parser.quarter),
        (rf"(?:the )?(?P<h>first|second|[12])(?:st|nd|\.)? half{_Y}", _Parser.half),
        (rf"h(?P<h>[12]){_Y}", _Parser.half),
        (r"(\d{10}|\d{13})", _Parser.epoch),
        (r"(\d{1,2})(/)(\d{1,2})(?:/(\d{4}|\d{2}))?", _Parser.numeric),
        (r"(\d{1,2})(\.) ?(\d{1,2})\.? ?(\d{4}|\d{2})?", _Parser.numeric),
        (rf"(?P<m><MONTH>) (?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?{_Y}", _Parser.month_day),
        (rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)? (?:of )?(?P<m><MONTH>){_Y}", _Parser.month_day),
        (r"md (\d{1,2})(?: (\d{1,2}))?", _Parser.month_number),
        (r"(last |this |previous )?(<MONTH>)(?:,? (?:of )?(\d{4}))?", _Parser.month_name),
        (r"(?:the )?(today|yesterday|day before yesterday|tomorrow)", _Parser.word_day),
        (r"now|right now|just now", _Parser.instant),
        (r"recent|recently|lately", _Parser.recent),
        (r"(?:about )?(<N>) ?(<UNIT>) (?:ago|back|earlier)", _Parser.ago),
        (r"(?:in |within |over |during )?(?:the )?(?:last|past) (<N>) ?(<UNIT>)", _Parser.past),
        (r"(?:in |within |over |during )(?:the )?(?:last|past)() ?(second|minute|hour|day|week|month|quarter|year)", _Parser.past),
        (r"(?:the )?past() ?(second|minute|hour|day|week|month|quarter|year)", _Parser.past),
        (r"(?:the )?last() (second|minute|hour)", _Parser.past),
        (r"(?:the )?(this|last|previous|current) (day|week|month|quarter|year|weekend)", _Parser.calendar),
        (r"(?:on )?(last |this |previous |past )?(<DAY>)", _Parser.weekday),
        (r"(last |this )?(spring|summer|autumn|fall|winter)(?: (?:of )?(\d{4}))?", _Parser.season),
        (r"(last |this )?(christmas|new year|easter|halloween|thanksgiving|valentine)(?:'?s)?(?: (?:day|eve))?(?: (?:of )?(\d{4}))?", _Parser.holiday),
        (r"(early in|late in|beginning of|start of|middle of|end of|early|mid|late)[ -]?(?:the )?(.+)", _Parser.part_of),
        (r"(tonight|this night|last night|this (morning|noon|afternoon|evening))", _Parser.this_part),
        (r"(.+?),? (?:in the |at )?(morning|noon|midday|lunchtime|afternoon|evening|night)", _Parser.day_part),
        (rf"(.+?),? at ({_TIME}|\d{{1,2}})", _Parser.day_time),
        (rf"(.+?),? ({_TIME})", _Parser.day_time),
        (rf"(?:at )?({_TIME})", _Parser.only_time),
    )
]  # fmt: skip
