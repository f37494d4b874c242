"""The one way in: a text and a budget go in, a smaller text that says what it left out comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from remora.gateway.compression import fallback, strategies
from remora.gateway.compression.budget import Budget, by_model
from remora.gateway.compression.clean import Switches, clean
from remora.gateway.compression.deadline import limit
from remora.gateway.compression.detect import Hints, detect
from remora.gateway.compression.formats.forms import minified
from remora.gateway.compression.formats.json import with_remark
from remora.gateway.compression.formats.markdown import headings
from remora.gateway.compression.formats.values import Unfaithful, dump, is_json, parse
from remora.gateway.compression.job import POINTER, Draft, Job, Options, handle_of, narrowed, remark
from remora.gateway.compression.relevance import names_something
from remora.gateway.compression.strategies import extract_fields, lossless
from remora.gateway.compression.tokens import estimate
from remora.gateway.compression.words import table

MARKER = "[rem: "
HOPELESS = 0.15  # of the size: no lossless form is that short, so none is tried
MANY = 0.75  # of the readable form: where fewer rows than that fit, factors are better than gaps
ALWAYS = 150  # characters a marker may cost whatever the budget


@dataclass(frozen=True, slots=True)
class Omitted:
    kept: int
    total: int
    unit: str
    chars: int

    def __bool__(self) -> bool:
        return self.kept < self.total


@dataclass(frozen=True, slots=True)
class Compressed:
    """A text made small; what was left out is one `recover` away as long as this object lives."""

    text: str
    strategy: str
    kind: str
    tokens_in: int
    tokens_out: int
    omitted: Omitted
    handle: str
    scorer: str = ""  # how the question was followed: words, lexical (no word table), empty without one
    cleaned: str = field(repr=False, default="")
    cleaned_kind: str = ""

    def recover(self, question: str, max_chars: int = 2_000) -> str:
        """The best of what is not yet in `text` for a question, within `max_chars` characters."""
        from remora.gateway.stash.search import search

        return search(self.cleaned, self.cleaned_kind, question, max_chars, seen=self.text)


def compress(
    text: str,
    *,
    budget_chars: int | None = None,
    budget_tokens: int | None = None,
    ratio: float | None = None,
    query: str | None = None,
    strategy: str = "auto",
    mime: str = "",
    tool: str = "",
    arguments: Mapping[str, Any] | None = None,
    kind: str = "",
    verbatim: bool | None = None,
    model: str = "",
    pointer: str | None = POINTER,
    options: Options | None = None,
    switches: Switches | None = None,
    deadline: float | None = None,
) -> Compressed:
    """`text` within the budget, by the named strategy; without any budget, that of the model's tier.

    Raises TimeIsUp (a TimeoutError) when it is not done by `deadline`, a time of `time.monotonic`.
    """
    hints = Hints(mime, tool, arguments or {}, kind, verbatim)
    with limit(deadline):
        return _compressed(
            text, budget_chars, budget_tokens, ratio, query, strategy, hints, model,
            pointer, options or Options(), switches,
        )  # fmt: skip


def _compressed(
    text: str, budget_chars: int | None, budget_tokens: int | None, ratio: float | None, query: str | None,
    strategy: str, hints: Hints, model: str, pointer: str | None, options: Options, switches: Switches | None,
) -> Compressed:  # fmt: skip
    name = strategies.canonical(strategy)
    found = detect(text, hints)
    if ratio is not None:
        budget_chars = min(int(ratio * len(text)), budget_chars if budget_chars is not None else len(text))
    budget = Budget(budget_chars, budget_tokens)
    if budget_chars is None and budget_tokens is None:
        budget = by_model(model)
    handle = handle_of(text)
    asked = query.strip()[:1_000] if query and names_something(query) else None
    cleaned = clean(text, found, hints, switches)
    job = Job(
        cleaned.text,
        cleaned.kind,
        0,
        asked,
        hints,
        handle,
        pointer,
        options,
    )
    draft = _within(job, budget, name, model)
    removed = cleaned.lossy and draft.complete
    body = draft.body
    if removed and pointer:  # nothing chosen away, but CLEAN took something: say so if there is room
        noted = f"{body.rstrip()}\n{MARKER}cleaned {found} | original: {job.more()}]"
        body = noted if budget.fits(noted, cleaned.kind, model) or len(noted) < ALWAYS else body
    return Compressed(
        body, draft.label, found, estimate(text, found, model), estimate(body, cleaned.kind, model),
        Omitted(draft.kept, draft.total, draft.unit, max(0, len(text) - len(body))), handle,
        ("words" if table() else "lexical") if asked else "", cleaned.text, cleaned.kind,
    )  # fmt: skip


def _within(job: Job, budget: Budget, name: str, model: str) -> Draft:
    """The strategy's text if it holds the budget, else less of it, else the cut of last resort."""
    if name == "none":
        return Draft(job.text, "none", 1, 1)
    room = budget.in_chars(job.kind, model)
    if name in ("auto", "llm_summary") or name not in ("selective", "progressive", "hybrid", "lossless"):
        whole = _whole(job, budget, model)
        if whole is not None:
            return whole
    for attempt in range(4):
        draft = assembled(run(narrowed(job, room), name), narrowed(job, room))
        if sound(draft, job) and budget.fits(draft.body, job.kind, model):
            return draft
        room = room * 85 // 100 if attempt else _rescaled(room, budget, draft.body, job.kind, model)
    label = f"{draft.label}→headtail_fallback"
    cut = assembled(fallback.head_tail(narrowed(job, room)), narrowed(job, room))
    if sound(cut, job) and budget.fits(cut.body, job.kind, model):
        return replace(cut, label=label)
    return replace(fallback.marker_alone(job), label=label)


def _whole(job: Job, budget: Budget, model: str) -> Draft | None:
    """Everything, as it is or in a lossless form, when that fits."""
    if budget.fits(job.text, job.kind, model, slack=True):
        if not job.hints.file_read and job.kind == "json":
            shorter = minified(job.text)
            saved = estimate(job.text, "json", model) - estimate(shorter or job.text, "json", model)
            if shorter and saved >= 300 and len(shorter) <= 0.8 * len(job.text):
                return Draft(shorter, "auto→lossless", 1, 1)
        return Draft(job.text, "none", 1, 1)
    if budget.in_chars(job.kind, model) < HOPELESS * len(job.text):
        return None
    plain = lossless.form(job, factored=False)
    if plain is not None and budget.fits(plain, job.kind, model):
        return Draft(plain, "auto→lossless", 1, 1)
    # factors part what belongs together: worth it only where rows would be missing that nobody asked to see
    if job.query or job.kind not in ("json", "ndjson") or budget.in_chars(job.kind, model) > MANY * len(plain or ""):
        return None
    shorter = lossless.form(job)
    return Draft(shorter, "auto→lossless", 1, 1) if shorter and budget.fits(shorter, job.kind, model) else None


def run(job: Job, name: str) -> Draft:
    """One strategy; `auto` and a summary without a model choose by type."""
    if name == "llm_summary":
        return replace(strategies.BY_NAME["truncate"](job), label="llm_summary→no_config_fallback")
    if name != "auto":
        return strategies.BY_NAME[name](job)
    inner = _dominant(job)
    if inner is not None:
        return inner
    draft = chosen(job)
    return replace(draft, label=f"auto→{draft.label}")


def chosen(job: Job) -> Draft:
    """The lossy strategy that suits the type."""
    if job.kind == "json":
        return extract_fields.filled(job)
    return strategies.BY_NAME[choice(job)](job)


def choice(job: Job) -> str:
    match job.kind:
        case "ndjson" | "csv" | "table":
            return "table"
        case "log" | "test" | "gitlog":
            return "log"
        case "python" | "code":
            return "skeleton"
        case "markdown" if not job.query and len(headings(job.text.split("\n"))) >= 4:
            return "skeleton"
    return "truncate"


def _dominant(job: Job) -> Draft | None:
    """A JSON object that is little more than one long string: the string by its own type, put back as a string."""
    if job.kind != "json":
        return None
    try:
        value = parse(job.text)
    except (ValueError, Unfaithful):
        return None
    if not isinstance(value, dict):
        return None
    name = max(value, key=lambda k: len(value[k]) if type(value[k]) is str else 0, default="")
    if type(value.get(name)) is not str or len(dump(value[name])) < 0.8 * len(job.text) or len(value[name]) < 2_000:
        return None
    frame = len(dump({**value, name: ""})) + 40
    text = value[name]
    room = job.chars - frame
    while room > 200:
        part = job.of(text, detect(text), room)
        draft = assembled(chosen(part), part)
        body = dump({**value, name: draft.body})
        if len(body) <= job.chars:
            return Draft(body, f"auto→string:{draft.label}", draft.kept, draft.total, draft.unit, done=True)
        room -= len(body) - job.chars + 8
    return None


def assembled(draft: Draft, job: Job) -> Draft:
    """Body and marker as one text."""
    if draft.done or draft.complete:
        return replace(draft, done=True)
    note = remark(job, draft)
    if job.kind == "json" and draft.body[:1] in "{[":
        return replace(draft, body=with_remark(draft.body, {} if draft.body[0] == "{" else [], note), done=True)
    return replace(draft, body=f"{draft.body}\n{MARKER}{note}]", done=True)


def sound(draft: Draft, job: Job) -> bool:
    """What is delivered is what it must be: a JSON document stays one."""
    if job.kind == "json" and not draft.label.startswith(("progressive", "lossless→progressive", "llm_summary")):
        return is_json(draft.body)
    return True


def _rescaled(limit: int, budget: Budget, body: str, kind: str, model: str) -> int:
    """Characters that will hold the token limit, going by how this text was counted."""
    if budget.tokens is None or not body:
        return limit * 9 // 10
    return min(limit * 9 // 10, int(len(body) * budget.tokens / max(1, estimate(body, kind, model)) * 0.98))
