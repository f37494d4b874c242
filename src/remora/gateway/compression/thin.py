"""Very long texts, before they are analysed: the lines that could matter, in one cheap pass."""

from __future__ import annotations

import bisect
import itertools

from remora.gateway.compression.deadline import check
from remora.gateway.compression.words import STOP, TOKEN, stem

LARGE = 1_500_000  # characters; below, every line is looked at unless there are very many
FEW, MOST = 4_000, 12_000  # lines that are always, that are ever looked at
SHORT = 40  # characters; a text of shorter lines has too many of them
ENDS = 300
HITS = 400  # lines for each word
_TROUBLE = (
    "error", "fail", "exception", "traceback", "fatal", "panic", "critical", "denied", "refused", "warn", "timeout",
    "unable", "cannot", "invalid", "expired", "corrupt", "rejected", "killed", "missing",
)  # fmt: skip


def candidates(text: str, query: str | None) -> list[int] | None:
    """Numbers of the lines worth a look: both ends, those with a word of the question or of trouble, then evenly."""
    most = MOST if len(text) > LARGE else max(FEW, len(text) // SHORT)
    if len(text) <= LARGE and text.count("\n") < most:
        return None
    most = min(MOST, most)
    low = text.lower()
    if len(low) != len(text):  # some letters change their length: places would not fit
        low = text
    starts = [0, *itertools.accumulate(len(line) + 1 for line in text.split("\n"))][:-1]
    total = len(starts)
    kept = set(range(min(ENDS, total))) | set(range(max(0, total - ENDS), total))
    asked = {stem(t) for t in TOKEN.findall((query or "").lower()) if t not in STOP and len(t) > 2}
    for word in [*sorted(asked), *_TROUBLE]:
        check()
        at = low.find(word)
        for _ in range(HITS):
            if at < 0:
                break
            line = bisect.bisect_right(starts, at) - 1
            kept.update(range(max(0, line - 2), min(total, line + 3)))
            at = low.find(word, starts[line + 1]) if line + 1 < total else -1
    left = most - len(kept)
    if left > 0:
        kept.update(range(0, total, max(1, total // left)))
    return sorted(kept)
