"""Every strategy by name. One file each; a strategy is a function from a job to a draft."""

from __future__ import annotations

from remora.errors import ConfigError
from remora.gateway.compression.job import Draft, Job, Strategy
from remora.gateway.compression.strategies import (
    extract_fields,
    hybrid,
    log,
    lossless,
    progressive,
    schema_pruning,
    selective,
    skeleton,
    table,
    truncate,
)

ALIASES = {"strict": "lossless", "passthrough": "none"}
BY_NAME: dict[str, Strategy] = {
    "lossless": lossless.run,
    "table": table.run,
    "log": log.run,
    "truncate": truncate.run,
    "extract_fields": extract_fields.run,
    "schema_pruning": schema_pruning.run,
    "skeleton": skeleton.run,
    "hybrid": hybrid.run,
    "selective": selective.run,
    "progressive": progressive.run,
}
NAMES = ("auto", "none", *BY_NAME, "llm_summary")  # llm_summary waits for a model: see llm_summary.py


def canonical(name: str) -> str:
    """The strategy's own name; ConfigError for one that does not exist."""
    found = ALIASES.get(name, name)
    if found not in NAMES:
        raise ConfigError(f"unknown compression strategy {name!r}; known: {', '.join((*NAMES, *ALIASES))}")
    return found


__all__ = ["ALIASES", "BY_NAME", "NAMES", "Draft", "Job", "canonical"]
