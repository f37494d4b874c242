"""What a strategy is given and what it gives back."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from remora.gateway.compression.detect import Hints
from remora.gateway.compression.relevance import Units

if TYPE_CHECKING:
    from remora.gateway.compression.words import Floats

POINTER = 'read_more("{handle}")'


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of single strategies; the defaults are those of the configuration."""

    head_chars: int = 5_000
    head_ratio: float = 0.6
    min_head_chars: int = 100
    min_toc_budget: int = 200
    min_section_chars: int = 50
    json_depth: int = 1
    chunk_size: int = 4_000
    ttl_seconds: int = 604_800
    tail_mode: str = "toc"  # of hybrid: toc | truncate


@dataclass(frozen=True, slots=True)
class Job:
    """One text to make small: `chars` is the limit of everything that is delivered, marker included."""

    text: str
    kind: str
    chars: int
    query: str | None = None
    hints: Hints = field(default_factory=Hints)
    handle: str = ""
    pointer: str | None = POINTER  # how the reader gets the rest; None: it has no way
    options: Options = field(default_factory=Options)

    def more(self) -> str:
        return self.pointer.format(handle=self.handle) if self.pointer else ""

    def of(self, text: str, kind: str, chars: int) -> Job:
        """The same job on a part of the text."""
        return replace(self, text=text, kind=kind, chars=chars)


@dataclass(frozen=True, slots=True)
class Draft:
    """What a strategy made: `body` without marker, or with it when `done`."""

    body: str
    label: str
    kept: int = 0
    total: int = 0
    unit: str = "lines"
    done: bool = False

    @property
    def complete(self) -> bool:
        return self.kept >= self.total


Strategy = Callable[[Job], Draft]


def handle_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def remark(job: Job, draft: Draft) -> str:
    """What was left out and how to get it, without brackets."""
    kept = f"kept {draft.kept:,} of {draft.total:,} {draft.unit}"
    more = job.more()
    return f"{kept} | more: {more}" if more else kept


def reserve(job: Job, unit: str = "lines") -> int:
    """Characters the marker takes at most, its frame included."""
    return len(remark(job, Draft("", "", 99_999, 99_999, unit))) + 10


@functools.lru_cache(maxsize=4)
def analysed(texts: tuple[str, ...], up: tuple[int, ...] | None, siblings: bool) -> Units:
    """The analysis of a text, shared by several tries at one text and by the questions that follow."""
    return Units(texts, up, siblings)


def ranked(score: Floats) -> list[int]:
    import numpy as np

    order: list[int] = np.argsort(-score, kind="stable").tolist()
    return order


def narrowed(job: Job, chars: int) -> Job:
    return replace(job, chars=chars)
