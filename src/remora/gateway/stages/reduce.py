"""One text made small, or left alone: pure, so that it may run in a thread or in another process."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from remora.gateway.compression.auto import Compressed, assembled, compress
from remora.gateway.compression.budget import SLACK
from remora.gateway.compression.clean import Switches
from remora.gateway.compression.detect import Hints, detect
from remora.gateway.compression.fallback import head_tail
from remora.gateway.compression.job import Job, handle_of
from remora.gateway.compression.tokens import estimate
from remora.gateway.stages.settings import NOTHING, Settings

QUESTIONS = ("query", "q", "question", "search", "pattern", "prompt", "topic", "title", "symbol", "name")


@dataclass(frozen=True, slots=True)
class Order:
    """What is known about a text. `pointer` says how its reader gets the rest; None: in no way."""

    settings: Settings
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    mime: str = ""
    query: str = ""
    pointer: str | None = None

    @property
    def hints(self) -> Hints:
        return Hints(self.mime, self.tool, self.arguments, "", self.settings.verbatim)

    @property
    def asked(self) -> tuple[str, str]:
        """The question that chooses what is kept, and where it comes from."""
        if self.query:
            return self.query, "context"
        if self.settings.infer_query:
            for name in QUESTIONS:
                value = self.arguments.get(name)
                if isinstance(value, str) and value.strip():
                    return value[:1000], f"argument:{name}"
        return "", ""


@dataclass(frozen=True, slots=True)
class Reduced:
    """`text` None: it stays as it is. `lossy`: the original must be kept before this is delivered."""

    text: str | None
    kind: str = ""
    strategy: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    units_total: int = 0
    units_kept: int = 0
    lossy: bool = False
    cleaned: str = ""  # empty where it is the original
    cleaned_kind: str = ""
    secret: bool = False
    ms: float = 0.0


def reduce(text: str, order: Order) -> Reduced:
    """The text within its budget."""
    began = time.perf_counter()
    made = _reduced(text, order)
    if made.lossy and made.text is not None and not made.secret:
        made = _examined(text, made)
    return _timed(made, began)


def _reduced(text: str, order: Order) -> Reduced:
    settings, hints = order.settings, order.hints
    if len(text) > settings.max_upstream_chars:
        return shortened(text, order)
    kind = detect(text, hints)
    tokens = estimate(text, kind, settings.model, settings.chars_per_token)
    alone = Reduced(None, kind, "", tokens, tokens)
    if tokens < settings.min_tokens:
        return alone
    if hints.slice_read and tokens <= settings.pass_through_max_tokens:
        return alone
    if hints.file_read and tokens <= settings.verbatim_max_tokens:
        return alone
    if order.pointer is None:
        return _lossless(text, order, kind, tokens)
    return _as_reduced(text, _compressed(text, order, settings.strategy, tokens), tokens)


def _compressed(text: str, order: Order, strategy: str, tokens: int, switches: Switches | None = None) -> Compressed:
    settings, budget = order.settings, order.settings.budget
    limit = budget.tokens
    if limit is not None and budget.slack and limit < tokens <= SLACK * limit:
        limit = tokens  # a budget nobody set lets a little more pass: a cut would cost more than it saves
    return compress(
        text,
        budget_chars=budget.chars,
        budget_tokens=limit,
        query=order.asked[0] or None,
        strategy=strategy,
        mime=order.mime,
        tool=order.tool,
        arguments=order.arguments,
        verbatim=settings.verbatim,
        model=settings.model,
        pointer=order.pointer,
        options=settings.options,
        switches=switches or settings.switches,
    )


def _as_reduced(text: str, made: Compressed, tokens: int) -> Reduced:
    if made.text == text:
        return Reduced(None, made.kind, "", tokens, tokens)
    changed = made.cleaned != text
    return Reduced(
        made.text, made.kind, made.strategy, tokens, made.tokens_out, made.omitted.total, made.omitted.kept,
        bool(made.omitted) or changed, made.cleaned if changed else "", made.cleaned_kind if changed else "",
    )  # fmt: skip


def _lossless(text: str, order: Order, kind: str, tokens: int) -> Reduced:
    """Nothing may be left out: the reader has no way to what is missing."""
    alone = Reduced(None, kind, "", tokens, tokens)
    if order.settings.strategy == "none" or order.settings.budget.fits(text, kind, order.settings.model, slack=True):
        return alone
    made = _compressed(text, order, "lossless", tokens, NOTHING)
    return alone if made.omitted or "progressive" in made.strategy else _as_reduced(text, made, tokens)


def shortened(text: str, order: Order, label: str = "headtail_fallback") -> Reduced:
    """Head and tail alone: for texts too long to look at, and for those that took too long."""
    settings, limit = order.settings, order.settings.max_upstream_chars
    looked_at = text[:limit]
    kind = "json" if len(text) <= limit and text.lstrip()[:1] in ("{", "[") else "unknown"
    room = settings.budget.in_chars(kind, settings.model, settings.chars_per_token)
    job = Job(text, kind, room, None, order.hints, handle_of(text), order.pointer)
    draft = assembled(head_tail(job), job)
    tokens = estimate(looked_at, kind, settings.model, settings.chars_per_token) * len(text) // len(looked_at)
    out = estimate(draft.body, kind, settings.model, settings.chars_per_token)
    # Nobody has time to look for secrets in it: it is treated as if it had one.
    return Reduced(draft.body, kind, label, tokens, out, draft.total, draft.kept, lossy=True, secret=True)


def _examined(text: str, made: Reduced) -> Reduced:
    from remora.privacy.secrets import scan

    return replace(made, secret=bool(scan(text)))


def _timed(made: Reduced, began: float) -> Reduced:
    return replace(made, ms=(time.perf_counter() - began) * 1000)
