"""`log`: errors with their surroundings, what is unlike the rest, and how it ended."""

from __future__ import annotations

from remora.gateway.compression.formats import log as logs
from remora.gateway.compression.job import Draft, Job
from remora.gateway.compression.strategies import truncate


def run(job: Job) -> Draft:
    return truncate.by_lines(job, logs.layout(job.text.split("\n")), "log")
