"""`lossless`: a shorter form of everything; what saves nothing stays, what is too long comes in pages."""

from __future__ import annotations

from dataclasses import replace

from remora.gateway.compression.formats.forms import encode
from remora.gateway.compression.job import Draft, Job
from remora.gateway.compression.strategies import progressive

LEAST_SAVED = 0.05


def run(job: Job) -> Draft:
    shorter = form(job)
    text = shorter if shorter is not None else job.text
    if len(text) <= job.chars:
        return Draft(text, "lossless", 1, 1, done=True)
    return replace(progressive.run(job), label="lossless→progressive")


def form(job: Job, factored: bool = True) -> str | None:
    """The lossless form if it saves enough; files that were read have none but themselves."""
    if job.hints.file_read:
        return None
    shorter = encode(job.text, job.kind, factored)
    return shorter if shorter is not None and len(shorter) <= (1 - LEAST_SAVED) * len(job.text) else None
