"""The zone and the habits that a time expression is read by."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from remora.errors import Invalid


@dataclass(frozen=True, slots=True)
class Rules:
    zone: tzinfo
    locales: tuple[str, ...] = ("en", "de")
    date_order: str = "mdy"
    week_start: int = 0
    southern: bool = False


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
