"""`extract_fields`: JSON by values, every top-level key named; other texts by lines."""

from __future__ import annotations

import numpy as np

from remora.gateway.compression.formats import json as documents
from remora.gateway.compression.formats.values import Unfaithful, parse
from remora.gateway.compression.job import Draft, Job, analysed, ranked, reserve
from remora.gateway.compression.relevance import ranking
from remora.gateway.compression.strategies import truncate


def run(job: Job) -> Draft:
    try:
        value = parse(job.text)
    except (Unfaithful, ValueError):
        return truncate.run(job)
    document = documents.Document(value)
    analysis = analysed(tuple(document.texts), tuple(document.up), True)
    prior = np.array([document.prior(i) for i in range(len(document.units))])
    score, _ = ranking(analysis, job.query, prior)
    order = [i for i in ranked(score) if document.is_value(i)]
    budget = job.chars - reserve(job, "values") - 24
    choice = documents.select(document, order, budget)
    body = choice.render()
    kept, total = choice.counts()
    return Draft(body, "extract_fields", kept, total, "values")
