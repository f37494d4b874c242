"""`extract_fields`: JSON by values, shallow and short first, every top-level key named; other texts by lines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from remora.gateway.compression.formats import json as documents
from remora.gateway.compression.formats.values import Unfaithful, parse
from remora.gateway.compression.job import Draft, Job, analysed, ranked, remark, reserve
from remora.gateway.compression.relevance import W, ranking
from remora.gateway.compression.strategies import truncate

if TYPE_CHECKING:
    from remora.gateway.compression.words import Floats


def run(job: Job) -> Draft:
    """Whatever a smaller budget shows, a larger one shows too."""
    value = readable(job)
    return truncate.run(job) if value is None else by_values(job, value, "extract_fields", [], nested=True)


def filled(job: Job) -> Draft:
    """The budget filled as well as possible."""
    value = readable(job)
    return truncate.run(job) if value is None else by_values(job, value, "extract_fields", [])


def readable(job: Job) -> Any:
    """The parsed document, None where values cannot be chosen from it."""
    if job.kind != "json":
        return None
    try:
        value = parse(job.text)
    except (Unfaithful, ValueError):
        return None
    return value if isinstance(value, (dict, list)) and value else None


def scored(document: documents.Document, query: str | None) -> tuple[Floats, Floats]:
    """(score of every unit, its worth without the question)"""
    import numpy as np

    analysis = analysed(tuple(document.texts), tuple(document.up), True)
    prior = np.array([document.prior(i) for i in range(len(document.units))])
    return ranking(analysis, query, prior)


def by_values(
    job: Job,
    value: Any,
    label: str,
    first: list[int],
    document: documents.Document | None = None,
    nested: bool = False,
) -> Draft:
    """Values by worth, `first` before all others, as one valid document with its remark."""
    document = document or documents.Document(value)
    score, plain = scored(document, job.query)
    budget = job.chars - reserve(job, "values") - 12
    unasked = ranked(plain) if job.query else []
    order = document.values(ranked(score))
    choice = documents.select(document, order, budget, first, unasked, W.reserve, nested)
    body = choice.render()
    while len(body) > budget and choice.drop(order):
        body = choice.render()
    kept, total = choice.counts()
    unit = "rows" if document.nodes[0].kind == "table" else "values"
    draft = Draft(body, label, kept, total, unit, done=True)
    return draft if draft.complete else replace(draft, body=documents.with_remark(body, value, remark(job, draft)))
