"""Feedback on answers that were made small, and better settings from what was recorded."""

from __future__ import annotations

import time
from typing import Any, Literal

from pydantic import Field

from remora.errors import UsageError
from remora.gateway.tuning import feedback as complaints
from remora.gateway.tuning.changes import Changes
from remora.operations.gateway import since_seconds
from remora.operations.registry import Context, Input, operation
from remora.operations.text import table

Result = dict[str, Any]


class Feedback(Input):
    target: Literal["compression"] = Field("compression", description="What it is about.")
    server: str = Field(description="The server's name or prefix.")
    tool: str = Field(description="The tool, by its own or its served name.")
    missing: str = Field(description="What was missing, in a sentence.")
    kind: str = Field("other", description="truncated, missing_example, missing_metadata, wrong_topic or other.")
    trace_id: str | None = Field(None, description="The call it is about; left out = the newest one of that tool.")


def feedback_text(result: Result) -> str:
    told = f"trace_id={result['trace_id']}" if result["trace_id"] else "trace_id unresolved"
    return f"Compression feedback recorded ({result['kind']}, {told})"


@operation("gateway.feedback", "Tell what was missing in an answer that was made small.", "write", Feedback,
           feedback_text)  # fmt: skip
async def feedback(context: Context, given: Feedback) -> Result:
    session = (context.session.key or context.session.id) if context.session else None
    await context.gateway.metrics.flush()
    told = complaints.Given(given.server, given.tool, given.missing, given.kind, given.trace_id, session)
    trace = await complaints.record(context.state, context.gateway.config, told)
    return {"recorded": True, "kind": given.kind, "trace_id": trace}


class Tuning(Input):
    since: str = Field("24h", description="How far back: a number and s, m, h, d or w.")
    tool: str = Field("", description="One tool alone: SERVER/TOOL or TOOL.")


def tuning_text(result: Result) -> str:
    head = f"{result['calls']:,} reduced answers of {result['tools']} tools in the last {result['since']}"
    if not result["recommendations"]:
        return f"No recommendations: {head}"
    rows = [
        (one["id"], f"{one['server']}/{one['tool']}", one["confidence"], f"{one['field']}: {one['current']} -> "
         f"{one['recommended']}", one["reason"])
        for one in result["recommendations"]
    ]  # fmt: skip
    shown = table(rows, ("ID", "TOOL", "CONFIDENCE", "CHANGE", "BECAUSE"))
    return f"{head}\n\n{shown}\n\nApply: remora tune --apply [IDS]   undo: remora tune --rollback last"


@operation("tuning.recommend", "Recommend settings by what agents had to ask for again.", "read", Tuning, tuning_text)
async def recommend(context: Context, given: Tuning) -> Result:
    await context.gateway.metrics.flush()
    found, made = await _changes(context).recommended(time.time() - since_seconds(given.since), given.tool)
    return {
        "since": given.since,
        "calls": sum(each.reduced for each in found),
        "tools": len(found),
        "evidence": [each.to_json() for each in found],
        "recommendations": [each.to_json() for each in made],
    }


class Apply(Tuning):
    ids: list[str] = Field(default_factory=list, description="Which recommendations; none = all.")


def applied_text(result: Result) -> str:
    if not result["applied"]:
        return "Nothing to apply."
    return "\n".join(
        f"{one['id']}  {one['server']}/{one['tool']}  {one['field']}: {_spelled(one['old'])} -> {_spelled(one['new'])}"
        for one in result["applied"]
    )


@operation("tuning.apply", "Write recommended settings into the configuration.", "admin", Apply, applied_text)
async def apply(context: Context, given: Apply) -> Result:
    changes = _changes(context)
    await context.gateway.metrics.flush()
    _, made = await changes.recommended(time.time() - since_seconds(given.since), given.tool)
    known = {each.id: each for each in made}
    if unknown := [one for one in given.ids if one not in known]:
        raise UsageError(f"no recommendation has the id {', '.join(unknown)}; there are: {', '.join(known) or 'none'}")
    chosen = [known[one] for one in given.ids] if given.ids else made
    return {"applied": [each.to_json() for each in await changes.apply(chosen)]}


class Rollback(Input):
    change: str = Field("last", description="A change's number, or `last`.")


def rollback_text(result: Result) -> str:
    return f"{result['server']}/{result['tool']}  {result['field']}: back to {_spelled(result['old'])}"


@operation("tuning.rollback", "Take back a setting that the tuner applied.", "admin", Rollback, rollback_text)
async def rollback(context: Context, given: Rollback) -> Result:
    return (await _changes(context).roll_back(given.change)).to_json()


class History(Input):
    pass


def history_text(result: Result) -> str:
    if not result["changes"]:
        return "Nothing was ever applied."
    rows = [
        (one["id"], time.strftime("%Y-%m-%d %H:%M", time.localtime(one["ts"])), f"{one['server']}/{one['tool']}",
         f"{one['field']}: {_spelled(one['old'])} -> {_spelled(one['new'])}", one["status"], one["by"], one["reason"])
        for one in result["changes"]
    ]  # fmt: skip
    return table(rows, ("NO", "WHEN", "TOOL", "CHANGE", "STATUS", "BY", "BECAUSE"))


@operation("tuning.history", "Show what the tuner applied and took back.", "read", History, history_text)
async def history(context: Context, given: History) -> Result:
    return {"changes": [each.to_json() for each in await _changes(context).history()]}


def _changes(context: Context) -> Changes:
    return Changes(context.state, context.gateway.loaded)


def _spelled(value: Any) -> str:
    return "not set" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
