"""`table`: arrays of like objects, CSV and column texts by rows; what is no table goes by values or lines."""

from __future__ import annotations

from dataclasses import replace

from remora.gateway.compression.formats import json as documents
from remora.gateway.compression.formats.values import Unfaithful, dump, parse
from remora.gateway.compression.job import Draft, Job
from remora.gateway.compression.strategies import extract_fields, truncate


def run(job: Job) -> Draft:
    if job.kind == "ndjson":
        return replace(_lines_of_json(job), label="table:ndjson")
    draft = extract_fields.filled(job) if job.kind == "json" else truncate.run(job)
    tabular = '"rem":"table/1"' in draft.body or job.kind in ("csv", "table")
    return replace(draft, label="table" if tabular else f"table→{draft.label}")


def _lines_of_json(job: Job) -> Draft:
    """NDJSON whose lines are alike becomes one table; else its lines are chosen as they are."""
    lines = [line for line in job.text.split("\n") if line.strip()]
    try:
        rows = [parse(line) for line in lines]
    except (ValueError, Unfaithful):
        return truncate.run(job)
    document = documents.Document(rows)
    if document.nodes[0].kind != "table":
        return truncate.run(job)
    inner = replace(job, text=dump(rows), kind="json")
    return extract_fields.by_values(inner, rows, "table", [], document)
