"""What happens to a result on its way to the agent: an ordered list of stages, each failing open.

A stage that raises or runs past its time is skipped: the value before it goes on; the failure is counted and logged.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from remora.gateway.catalog import Entry
from remora.gateway.session import Front

log = logging.getLogger(__name__)
Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """What a stage may know of the call whose result it sees."""

    entry: Entry
    arguments: dict[str, Any]
    context_query: str
    front: Front


class Stage(Protocol):
    name: str

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
                async with asyncio.timeout(self.time_limit):
                    result = await stage(call, result)
            except Exception as problem:  # noqa: BLE001 - stage isolation: the agent gets what it would have got without it
                self.failures[stage.name] += 1
                log.warning(
                    "stage %s failed on %s: %s", stage.name, call.entry.served, problem or type(problem).__name__
                )
        return result
