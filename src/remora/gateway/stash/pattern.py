"""Regular expressions from outside: short, without what can run away."""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST, WINDOW, OVERLAP = 300, 20_000, 1_000


def compiled(source: str) -> re.Pattern[str]:
    """The pattern, without regard to case unless it has capitals; ValueError with position and reason."""
    if len(source) > LONGEST:
        raise ValueError(f"longer than {LONGEST} characters")
    if found := re.search(r"(?<!\\)(?:\\\\)*\\([1-9])|\(\?P=", source):
        raise ValueError(f"back-reference at {found.start()}: write the words out")
    _no_nesting(source)
    plain = re.sub(r"\\.", "", source)
    try:
        return re.compile(source, 0 if any(c.isupper() for c in plain) else re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"{error.msg} at {error.pos}") from error


def _no_nesting(source: str) -> None:
    """A group that repeats without bound must not hold another repetition or alternatives."""
    groups: list[bool] = []
    risky = False  # of the group just closed
    i, closed = 0, False
    while i < len(source):
        char = source[i]
        unbounded = char in "*+" or (char == "{" and re.match(r"\{\d*,\}", source[i:]) is not None)
        if unbounded and closed and risky:
            raise ValueError(f"nested repetition at {i}: repeat one thing only")
        was_closed, closed = closed, False
        if char == "\\":
            i += 1
        elif char == "[":
            end = source.find("]", i + 2 if source[i + 1 : i + 2] in ("]", "^") else i + 1)
            i = end if end > 0 else len(source)
        elif char == "(":
            groups.append(False)
        elif char == ")" and groups:
            risky, closed = groups.pop(), True
            if groups:
                groups[-1] = groups[-1] or risky
        elif (unbounded or char == "|") and groups:
            groups[-1] = True
        elif char == "?" and was_closed:
            closed = False
        i += 1


def windows(line: str) -> Iterator[str]:
    """A long line in overlapping parts, so that one search stays short."""
    if len(line) <= WINDOW:
        yield line
        return
    for start in range(0, len(line), WINDOW - OVERLAP):
        yield line[start : start + WINDOW]
