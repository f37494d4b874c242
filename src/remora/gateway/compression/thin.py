"""Very long texts, before they are analysed: the lines that could matter, in one cheap pass."""

from __future__ import annotations

import bisect
import itertools

from remora.gateway.compression.words import STOP, TOKEN, stem

LARGE = 1_500_000  # characters; below, every line is looked at
MOST = 12_000  # lines
ENDS = 300
HITS = 400  # lines for each word
_TROUBLE = (
    "error", "fail", "exception", "traceback", "fatal", "panic", "critical", "denied", "refused", "warn", "timeout",
    "unable", "cannot", "invalid", "expired", "corrupt", "rejected", "killed", "missing",
)  # fmt: skip


def candidates(text: str, query: str | None) -> list[int] | None:
    """Numbers of the lines worth a look: both ends, those with a word of the question or of trouble, then evenly."""
    if len(text) <= LARGE:
        return None
    low = text.lower()
    if len(low) != len(text):  # some letters change their length: places would not fit
        low = text
    starts = [0, *itertools.accumulate(len(line) + 1 for line in text.split("\n"))][:-1]
    total = len(starts)
    kept = set(range(min(ENDS, total))) | set(range(max(0, total - ENDS), total))
    asked = {stem(t) for t in TOKEN.findall((query or "").lower()) if t not in STOP and len(t) > 2}
    for word in [*sorted(asked), *_TROUBLE]:
        at = low.find(word)
        for _ in range(HITS):
            if at < 0:
                break
            line = bisect.bisect_right(starts, at) - 1
            kept.update(range(max(0, line - 2), min(total, line + 3)))
            at = low.find(word, starts[line + 1]) if line + 1 < total else -1
    left = MOST - len(kept)
    if left > 0:
        kept.update(range(0, total, max(1, total // left)))
    return sorted(kept)
