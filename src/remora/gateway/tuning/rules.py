"""From evidence to recommendations. Pure functions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from remora.gateway.stages.settings import effective
from remora.gateway.tuning.evidence import Evidence

if TYPE_CHECKING:
    from remora.config.model import Config

Confidence = Literal["low", "medium", "high"]
AUTOMATIC = frozenset({"R1", "R2", "R3", "R4", "R6"})
TOO_MUCH, MOST_TOKENS, LEAST_TOKENS = 0.25, 25_000, 1_000
CHARS_PER_TOKEN = 3  # of a budget that is set in characters
SELDOM, OFTEN_CALLED = 0.02, 50
# Milliseconds that cleaning and compressing may take: for any text, and for each kilobyte of it. Twice what it should
# take: a busy machine is no reason to choose worse.
LEAST_MS, MS_PER_KILOBYTE = 100.0, 2.0
CHEAPER = {"llm_summary": "auto", "auto": "truncate", "skeleton": "truncate", "hybrid": "truncate", "log": "truncate",
           "table": "truncate", "extract_fields": "truncate", "schema_pruning": "truncate",
           "selective": "truncate"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Current:
    """The settings of a tool as they are in force."""

    budget: int
    compression: str
    infer_query: bool


@dataclass(frozen=True, slots=True)
class Recommendation:
    server: str
    tool: str
    rule: str
    field: str
    current: Any
    value: Any
    reason: str
    confidence: Confidence
    evidence: Evidence

    @property
    def id(self) -> str:
        """The same as long as it says the same."""
        said = json.dumps([self.server, self.tool, self.rule, self.field, self.current, self.value])
        return hashlib.sha256(said.encode()).hexdigest()[:8]

    @property
    def key(self) -> tuple[str, ...]:
        return ("servers", self.server, "tools", self.tool, *self.field.split("."))

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "server": self.server,
            "tool": self.tool,
            "rule": self.rule,
            "field": self.field,
            "current": self.current,
            "recommended": self.value,
            "reason": self.reason,
            "confidence": self.confidence,
            "calls": self.evidence.reduced,
        }


def current(config: Config, server: str, tool: str) -> Current | None:
    """None for a server that is not configured any more."""
    if server not in config.servers:
        return None
    of_server = config.servers[server]
    usual = effective(config, of_server, of_server.tools.get(tool))
    tokens = usual.budget.tokens or max(1, (usual.budget.chars or 0) // CHARS_PER_TOKEN)
    return Current(tokens, usual.strategy, usual.infer_query)


def recommend(
    config: Config, found: Iterable[Evidence], resting: Iterable[tuple[str, str, str]] = ()
) -> list[Recommendation]:
    """What the evidence speaks for; `resting`: (server, tool, rule) that was tried and taken back of late."""
    resting = set(resting)
    made: list[Recommendation] = []
    for evidence in found:
        now = current(config, evidence.server, evidence.tool)
        if now is None or evidence.reduced < config.tuner.min_calls:
            continue
        fields: set[str] = set()
        for rule, field, old, value, reason in _ruled(evidence, now):
            if value == old or field in fields or (evidence.server, evidence.tool, rule) in resting:
                continue
            fields.add(field)
            certain = confidence(evidence.reduced)
            made.append(
                Recommendation(evidence.server, evidence.tool, rule, field, old, value, reason, certain, evidence)
            )
    return made


def confidence(calls: int) -> Confidence:
    return "high" if calls >= 20 else "medium" if calls >= 10 else "low"


Ruled = tuple[str, str, Any, Any, str]


def _ruled(seen: Evidence, now: Current) -> Iterator[Ruled]:
    budget = "max_result_tokens"
    more = max(now.budget, min(int(now.budget * 1.5), seen.tokens_in[1], MOST_TOKENS))
    share = seen.again / seen.reduced
    if share >= TOO_MUCH:
        yield "R1", budget, now.budget, more, f"{seen.again} of {seen.reduced} answers were read on or asked for again"
    if seen.mostly("truncated", "missing_example"):
        yield "R3", budget, now.budget, more, f"{seen.complaints} complaints, mostly that something was cut off"
    if (
        seen.reduced >= OFTEN_CALLED
        and seen.recovered / seen.reduced < SELDOM
        and not seen.complaints
        and share < TOO_MUCH
    ):
        less = min(now.budget, max(int(now.budget * 0.8), LEAST_TOKENS))
        yield "R2", budget, now.budget, less, f"of {seen.reduced} answers {seen.recovered} were read on"
    if seen.mostly("missing_metadata") and seen.type in ("json", "ndjson"):
        reason = f"{seen.complaints} complaints, mostly about missing fields of JSON"
        yield "R4", "compression", now.compression, "extract_fields", reason
    if seen.mostly("wrong_topic"):
        reason = (
            f"{seen.complaints} complaints, mostly about the wrong topic: do not guess the question from the arguments "
            "(catalog.advertise_context_query = true lets the agent say it)"
        )
        yield "R5", "relevance.infer_query", now.infer_query, False, reason
    limit = max(LEAST_MS, MS_PER_KILOBYTE * seen.kilobytes_p95)
    cheaper = CHEAPER.get(now.compression)
    if seen.ms_p95 > limit and cheaper:
        reason = f"making it small took {seen.ms_p95:,.0f} ms (p95), more than {limit:,.0f} ms"
        yield "R6", "compression", now.compression, cheaper, reason
