"""What an agent is shown of a recall: one memory a line, never more than the budget, always how it goes on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from remora.embedding.chunks import estimate_tokens
from remora.memory.identify import short_refs
from remora.memory.recall import Hit, Recalled

MAX_TOKENS = 1_500
AGES = ((31_536_000, "y"), (2_592_000, "mo"), (604_800, "w"), (86_400, "d"), (3_600, "h"), (60, "min"))
_BLANKS = re.compile(r"\s+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


def as_text(recalled: Recalled, now: int, max_tokens: int = MAX_TOKENS, *, weak_below: float = 0.0) -> str:
    """Lines of hits and a last line that says how many there are; at least one memory, cut if it must be."""
    if not recalled.hits:
        where = f" (searched {recalled.searched})" if recalled.searched else ""
        return "\n".join([f"no memory matches{where}", *recalled.warnings])
    refs = short_refs([hit.memory.id for hit in recalled.hits])
    tail = [*recalled.warnings, f"time: {recalled.time}"] if recalled.time else list(recalled.warnings)
    budget = max_tokens - sum(map(estimate_tokens, tail)) - 24
    lines: list[str] = []
    for number, hit in enumerate(recalled.hits, 1):
        line = _line(number, hit, refs[hit.memory.id], now, weak=(hit.score or 1.0) < weak_below)
        size = estimate_tokens(line)
        if size > budget:
            if lines and budget < 60:
                break
            line, size = _cut(line, max(budget, 40), refs[hit.memory.id], len(hit.memory.content)), budget
        lines.append(line)
        budget -= size
    return "\n".join([*lines, *tail, *_more(recalled, len(lines))])


def _more(recalled: Recalled, shown: int) -> Sequence[str]:
    found = len(recalled.hits)
    if shown < found:
        return [f"showing {shown} of {found}; ask for less or give more room"]
    return [f"next: {recalled.next_cursor}"] if recalled.next_cursor else []


def _line(number: int, hit: Hit, ref: str, now: int, *, weak: bool) -> str:
    memory = hit.memory
    score = f" {hit.score:.2f}" if hit.score is not None else ""
    marks = "".join(
        f" ({mark})"
        for mark, given in (("weak", weak), ("disputed", hit.disputed), ("superseded", memory.superseded_by))
        if given
    )
    place = f" [{memory.subject_key or memory.namespace}]"
    return f"{number}. {ref} {memory.kind}{score} {age(now - memory.created_at)}{place}{marks} {quoted(memory.content)}"


def quoted(text: str) -> str:
    """On one line, without characters that hide or steer."""
    return _BLANKS.sub(" ", _CONTROL.sub("", text)).strip()


def age(microseconds: int) -> str:
    seconds = max(0, microseconds // 1_000_000)
    return next((f"{seconds // size}{unit}" for size, unit in AGES if seconds >= size), "now")


def _cut(line: str, tokens: int, ref: str, letters: int) -> str:
    """As much of the line as fits, and where the rest is."""
    end = f" … ({ref}, {letters:,} characters)"
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(line[:middle]) + estimate_tokens(end) <= tokens:
            low = middle
        else:
            high = middle - 1
    return line[:low].rstrip() + end
