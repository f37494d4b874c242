"""What a scan gives back, and how found spans are taken out of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

SCAN_LIMIT = 2_000_000  # characters; of a longer text only the first and the last half of this are looked at
PASSES = 8


@dataclass(frozen=True, slots=True)
class Finding:
    kind: str
    start: int
    end: int


Finder = Callable[[str], Iterable[Finding]]


def scan_with(find: Finder, text: str) -> list[Finding]:
    """Findings in order, none touching another."""
    if len(text) <= SCAN_LIMIT:
        return _joined(find(text))
    half = SCAN_LIMIT // 2
    shift = len(text) - half
    tail = (Finding(found.kind, found.start + shift, found.end + shift) for found in find(text[shift:]))
    return _joined([*find(text[:half]), *tail])


def redact_with(find: Finder, text: str, mark: Callable[[str], str]) -> str:
    """Every finding replaced by `mark(kind)`; what was too long to look at is left out and said to be.

    Done again until nothing is found: a cut can bring together what looks like a finding of its own.
    """
    if len(text) > SCAN_LIMIT:
        kept = SCAN_LIMIT * 9 // 20  # room for the marks, so that doing it again changes nothing
        text = f"{text[:kept]} ‹{len(text) - 2 * kept} characters not scanned› {text[-kept:]}"
    findings = _joined(find(text))
    for _ in range(PASSES):
        if not findings:
            break
        text = _replaced(text, findings, mark)
        findings = _joined(find(text))
    return text


def _replaced(text: str, findings: list[Finding], mark: Callable[[str], str]) -> str:
    parts: list[str] = []
    at = 0
    for found in findings:
        parts += (text[at : found.start], mark(found.kind))
        at = found.end
    parts.append(text[at:])
    return "".join(parts)


def _joined(findings: Iterable[Finding]) -> list[Finding]:
    """In order; overlapping ones become one that is named after the longest."""
    joined: list[Finding] = []
    longest = 0
    for found in sorted(findings, key=lambda found: (found.start, -found.end)):
        size = found.end - found.start
        if joined and found.start < joined[-1].end:
            last = joined[-1]
            kind = found.kind if size > longest else last.kind
            joined[-1] = Finding(kind, last.start, max(last.end, found.end))
            longest = max(longest, size)
        else:
            joined.append(found)
            longest = size
    return joined
