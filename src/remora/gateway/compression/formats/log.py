"""Logs, test and build output, git history: what went wrong, how it ended, and what is unlike the rest."""

from __future__ import annotations

import re
from collections.abc import Sequence

from remora.gateway.compression.lines import Layout

_SUMMARY = re.compile(
    r"(?i)^=+ .*\b(?:passed|failed|error|warnings?)\b.*=+$"
    r"|\b\d+ (?:failed|failures?|errors?|passed|passing|failing|problems?|warnings?)\b"
    r"|exit(?:ed)? (?:with )?(?:code|status)|^found \d+ "
    r"|^(?:BUILD|Build|Tests?|FAILED|OK\b|Ran \d+|Finished|Done in|Successfully)"
)
_RULER = re.compile(r"^\s*(.)\1{9,}\s*$|^\s*$")
_FAILURE = re.compile(
    r"^E {3,}\S|^FAILED |^\s*● |^\s*--- FAIL|panicked at |^error(?:\[|:)|^\s*\d+\) .*[:.]$|^Caused by:|^not ok \d"
    r"|^\s*(?:Expected|Received|Actual|Got|Want)\b.*:|^\w*(?:Error|Exception)\b.*:"
)
_COMMIT = re.compile(r"^commit [0-9a-f]{7,40}")
_WIDE = re.compile(r"(?<=\S) {4,}(?=\S)|([=_-])\1{7,}")


def layout(lines: Sequence[str]) -> Layout:
    """Indented lines belong to the line before them that is not; the last summary lines always stay."""
    up, last = [], -1
    commits = any(_COMMIT.match(line) for line in lines)
    for i, line in enumerate(lines):
        starts = _COMMIT.match(line) if commits else line[:1] not in (" ", "\t", "")
        up.append(-1 if starts else last)
        if starts:
            last = i
    prior = {i: -0.5 for i, line in enumerate(lines) if _RULER.match(line)}
    prior |= {i: 1.5 for i, line in enumerate(lines) if _FAILURE.search(line)}
    tail = range(max(0, len(lines) - 40), len(lines))
    first = [i for i in tail if _SUMMARY.search(lines[i]) and len(lines[i]) < 200][-3:]
    return Layout(
        [squeeze(line) for line in lines], up=up, prior=prior, first=first[::-1], siblings=commits, templates=2
    )


def squeeze(line: str) -> str:
    """Padding between columns and rulers, shortened: spacing only."""
    if "    " not in line and "=======" not in line and "-------" not in line and "_______" not in line:
        return line
    bare = line.lstrip(" ")
    return line[: len(line) - len(bare)] + _WIDE.sub(lambda m: m[1] * 3 if m[1] else "  ", bare).rstrip()


def table(lines: Sequence[str]) -> Layout:
    """Whitespace and bar tables: the head stays, borders fall, padding shrinks."""
    border = re.compile(r"^[\s|+=:-]+$")
    prior = {i: -3.0 for i, line in enumerate(lines) if border.match(line)}
    head = next((i for i, line in enumerate(lines) if line.strip() and i not in prior), 0)
    below = next((i for i in sorted(prior) if 0 < i < 8 and lines[i].strip()), head)  # the rule under the head
    if below > head:
        head = next(i for i in range(below - 1, -1, -1) if i not in prior or i == 0)
    squeezed = [re.sub(r"(?<=\S) {3,}", "  ", line).rstrip() for line in lines]
    return Layout(squeezed, unit="rows", prior=prior, first=[head])
