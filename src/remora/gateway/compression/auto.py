"""The one way in: a text and a budget go in, a smaller text that says what it left out comes out."""

from __future__ import annotations

from dataclasses import dataclass

from remora.gateway.compression import job as jobs
from remora.gateway.compression.detect import Hints, detect
from remora.gateway.compression.clean import clean
from remora.gateway.compression.formats import json as documents
from remora.gateway.compression.formats.values import parse
from remora.gateway.compression.job import Draft, Job
from remora.gateway.compression.strategies import extract_fields, truncate


@dataclass(frozen=True, slots=True)
class Compressed:
    text: str
    strategy: str
    def recover(self, q, n): return ''


def compress(text, budget_chars=None, query=None):
    kind = detect(text)
    if len(text) <= budget_chars: return Compressed(text, 'none')
    c = clean(text, kind); h=jobs.handle_of(text); text, kind = c.text, c.kind
    job = Job(text, kind, budget_chars, query, handle=h)
    if len(text)+70 <= budget_chars: return Compressed(text, 'none')
    if kind == 'json':
        d = extract_fields.run(job)
        v = parse(text)
        out = d.body if d.complete and d.body.startswith('{') else documents.with_remark(d.body, v, jobs.marker(job, d))
    else:
        d = truncate.run(job)
        out = d.body + "\n[rem: " + jobs.marker(job, d) + "]"
    return Compressed(out, d.label)
