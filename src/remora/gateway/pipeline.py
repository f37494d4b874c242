"""What happens to a result on its way to the agent: an ordered list of stages, each failing open.

A stage that raises or runs past its time is skipped: the value before it goes on; the failure is counted and logged.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from remora.gateway.catalog import Entry
from remora.gateway.session import Front
from remora.gateway.view import View
from remora.model.call import CacheUse

log = logging.getLogger(__name__)
Result = dict[str, Any]


@dataclass(slots=True)
class Report:
    """What the stages did to one result; it ends in the metrics and, if something changed, in `_meta`."""

    strategy: str | None = None
    kind: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    units_total: int | None = None
    units_kept: int | None = None
    handle: str | None = None
    query_source: str | None = None
    ms_clean: float | None = None
    ms_compress: float | None = None
    fallback: str | None = None
    cache: CacheUse = "off"
    cache_age_ms: int | None = None

    def columns(self) -> dict[str, Any]:
        """As a row of `calls` has it."""
        return {
            "cache": self.cache, "type": self.kind, "strategy": self.strategy, "query_source": self.query_source,
            "handle": self.handle, "units_total": self.units_total, "units_kept": self.units_kept,
            "in_tokens": self.tokens_in, "out_tokens": self.tokens_out, "ms_clean": self.ms_clean,
            "ms_compress": self.ms_compress, "fallback": self.fallback,
        }  # fmt: skip

    def told(self) -> dict[str, Any]:
        """As the client sees it."""
        hit = self.cache == "hit"
        return {
            "strategy": self.strategy, "tokens_in": self.tokens_in, "tokens_out": self.tokens_out,
            "handle": self.handle,
            "cache": {"hit": True, "age_ms": self.cache_age_ms} if hit else {"hit": False},
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """What a stage may know of the call whose result it sees."""

    entry: Entry
    arguments: dict[str, Any]
    context_query: str
    front: Front
    view: View
    trace_id: str = ""
    report: Report = field(default_factory=Report)


class Stage(Protocol):
    name: str
    keeps_time: bool
    """It limits itself, since what it may wait for is not always its own work."""

    async def __call__(self, call: Call, result: Result) -> Result:
        """The result, or a new one in its place; never the same object changed."""


class Pipeline:
    """`stages` is the order: read it to know what happens."""

    def __init__(self, stages: Sequence[Stage], time_limit_ms: int) -> None:
        self.stages = tuple(stages)
        self.time_limit = time_limit_ms / 1000
        self.failures: Counter[str] = Counter()

    async def run(self, call: Call, result: Result) -> Result:
        for stage in self.stages:
            try:
                async with asyncio.timeout(None if stage.keeps_time else self.time_limit):
                    result = await stage(call, result)
            except Exception as problem:  # noqa: BLE001 - stage isolation: the agent gets what it would have got without it
                self.failures[stage.name] += 1
                log.warning(
                    "stage %s failed on %s: %s", stage.name, call.entry.served, str(problem) or type(problem).__name__
                )
        return result
