"""What a strategy is given and what it gives back."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from remora.gateway.compression.detect import Hints
from remora.gateway.compression.formats import values
from remora.gateway.compression.relevance import Units

if TYPE_CHECKING:
    from remora.gateway.compression.words import Floats

POINTER = 'read_more("{handle}")'


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of single strategies; the defaults are those of the configuration."""

    head_chars: int = 2_000
    head_ratio: float = 0.5
    min_head_chars: int = 200
    min_toc_budget: int = 300
    min_section_chars: int = 120
    json_depth: int = 2
    chunk_size: int = 4_000
    ttl_seconds: int = 604_800
    tail_mode: str = "toc"


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

    def remark(self, what: str) -> str:
        more = f" | more: {self.pointer.format(handle=self.handle)}" if self.pointer else ""
        return f"{what}{more}"

    def narrowed(self, chars: int) -> Job:
        return replace(self, chars=chars)

    def of(self, text: str, kind: str, chars: int) -> Job:
        """The same job on a part of the text."""
        return replace(self, text=text, kind=kind, chars=chars)


@dataclass(frozen=True, slots=True)
class Draft:
    """What a strategy made: `body` without marker; `done` when the marker is part of it already."""

    body: str
    label: str
    kept: int = 0
    total: int = 0
    unit: str = "lines"
    done: bool = False
    detail: str = ""

    @property
    def complete(self) -> bool:
        return self.kept >= self.total


Strategy = Callable[[Job], Draft]


def handle_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def marker(job: Job, draft: Draft) -> str:
    detail = f"; {draft.detail}" if draft.detail else ""
    return job.remark(f"kept {draft.kept:,} of {draft.total:,} {draft.unit}{detail}")


def reserve(job: Job, unit: str = "lines") -> int:
    """Characters the marker will take at most."""
    return len(marker(job, Draft("", "", 99_999, 99_999, unit))) + 16


@functools.lru_cache(maxsize=8)
def analysed(texts: tuple[str, ...], up: tuple[int, ...] | None, siblings: bool) -> Units:
    """The analysis of a text, shared by the tries at one text and by the questions that follow."""
    return Units(texts, up, siblings)


def ranked(score: Floats) -> list[int]:
    import numpy as np

    order: list[int] = np.argsort(-score, kind="stable").tolist()
    return order


def parsed(text: str) -> Any:
    return values.parse(text)


def lines_of(text: str) -> Sequence[str]:
    return text.split("\n")
