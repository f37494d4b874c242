"""`log`: errors with their surroundings, what is unlike the rest, and how it ended."""

from __future__ import annotations

from remora.gateway.compression.formats.layouts import laid_out
from remora.gateway.compression.job import Draft, Job
from remora.gateway.compression.strategies import truncate


def run(job: Job) -> Draft:
    kind = job.kind if job.kind in ("log", "test", "gitlog") else "log"
    return truncate.by_lines(job, laid_out(job.text, kind, job.hints, job.query), "log")
