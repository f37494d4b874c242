"""Time expressions to half-open intervals: `last Monday between 2pm and 4pm`, `vor 3 Wochen`, `2026-W12`.

A day is a day also where clocks change: the calendar is that of the zone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from remora.errors import Invalid
from remora.memory.timegrammar import Grammar, Span
from remora.memory.timewords import SHORT_DAYS, SHORT_MONTHS, in_english
from remora.memory.timezone import Rules, zone_of

if TYPE_CHECKING:
    from remora.memory.engine import Settings

LONGEST = 500
EXAMPLES = "yesterday, 3 weeks ago, last Monday between 2pm and 4pm, 2026-03-01"


@dataclass(frozen=True, slots=True)
class Interval:
    """Microseconds UTC; None = open."""

    start: int | None
    end: int | None
    granularity: str
    text: str
    locale: str = "en"
    swapped: bool = False


def rules(settings: Settings, zone: str | None = None) -> Rules:
    return Rules(
        zone=zone_of(zone or settings.zone),
        locales=settings.locales,
        date_order=settings.date_order,
        week_start=0 if settings.week_start == "mon" else 6,
        southern=settings.hemisphere == "south",
    )


def parse(text: str, now: int, rule: Rules) -> Interval:
    """The interval that the expression means; what cannot be read is an error, never ignored."""
    if len(text) > LONGEST:
        raise Invalid(f"a time expression has at most {LONGEST} characters", code="bad_time")
    clean = " ".join(text.strip().strip(".,;!?").split())
    moment = datetime.fromtimestamp(now / 1_000_000, rule.zone)
    for locale in _locales(clean, rule):
        span = Grammar(moment, rule).read(in_english(clean.lower(), locale))
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


def _interval(span: Span, text: str, locale: str) -> Interval:
    start, end = (None if edge is None else int(edge.timestamp() * 1_000_000) for edge in (span.start, span.end))
    swapped = start is not None and end is not None and start > end
    return (
        Interval(end, start, span.grain, text, locale, True)
        if swapped
        else Interval(start, end, span.grain, text, locale)
    )
