"""Reading on in what was left out, and looking after what is kept."""

from __future__ import annotations

import re
import time
from typing import Any, Literal

from pydantic import Field

from remora.errors import UsageError
from remora.gateway.compression.tokens import estimate, factor
from remora.gateway.stages.settings import effective
from remora.gateway.stash.read import Answer, BadRequest, Request, inferred, read
from remora.operations.registry import Context, Input, operation
from remora.operations.text import stash_list_text, stash_text

Result = dict[str, Any]
MOST_TOKENS = 25_000
GREP_SECONDS = 1.5
READ_SECONDS = 10.0
_QUANTIFIED = re.compile(r"[*+{]")


class ReadMore(Input):
    handle: str = Field(description="Handle of a shortened result, as its marker names it.")
    mode: Literal["", "range", "lines", "section", "grep", "jsonpath", "search"] = Field(
        "", description="How to read; empty = by q: lines like 120-180, a JSONPath with $, else a search."
    )
    q: str = Field("", description="Lines, section names (? lists them), a regex, a JSONPath or a question.")
    offset: int = Field(0, ge=0, description="Characters (of grep and jsonpath: matches) to skip.")
    limit: int = Field(0, ge=0, description="Characters to return; 0 = as much as fits.")
    context: int = Field(2, ge=0, le=100, description="Lines around a grep match.")
    raw: bool = Field(False, description="Read what the server sent, without any cleaning.")


@operation("stash.read", "Read what was left out of a shortened result.", "read", ReadMore, stash_text)
async def read_more(context: Context, given: ReadMore) -> Result:
    gateway, session = context.gateway, context.session
    kept = await gateway.stash.get(given.handle, context.principal)
    if kept is None:
        days = gateway.config.stash.ttl_hours / 24
        text = (
            f'rem: handle "{given.handle[:40]}" not found or expired (kept {days:g} days); call the original tool again'
        )
        return {"handle": given.handle, "mode": given.mode, "text": text, "error": True, "tokens": 0}
    text, kind = (kept.text, kept.kind) if given.raw else (kept.cleaned, kept.cleaned_kind)
    config = gateway.view(session).config if session is not None else gateway.config
    usual = effective(config)
    most = int(MOST_TOKENS * factor(kind, usual.model, usual.chars_per_token))
    limit = given.limit or min(most, usual.budget.in_chars(kind, usual.model, usual.chars_per_token))
    request = Request(given.handle, given.mode, given.q, given.offset, min(limit, most), given.context)
    answer = await _answer(context, text, kind, request)
    mode = given.mode or inferred(given.q)
    tokens = estimate(answer.text, kind, usual.model)
    gateway.metrics.record_recovery(given.handle, (session.key or session.id) if session else None, mode, tokens)
    return {"handle": given.handle, "mode": mode, "text": answer.text, "error": answer.error, "tokens": tokens}


async def _answer(context: Context, text: str, kind: str, request: Request) -> Answer:
    """Patterns that can take long are tried where they can be ended."""
    risky = request.mode == "grep" and _QUANTIFIED.search(request.q) is not None
    seconds = GREP_SECONDS if request.mode == "grep" else READ_SECONDS
    try:
        workers = context.gateway.parts.workers
        if risky:
            return await workers.alone(seconds, read, text, kind, request)
        return await workers.run(len(text), seconds, read, text, kind, request)
    except BadRequest as problem:
        raise UsageError(str(problem)) from problem
    except TimeoutError:
        return Answer(f"rem: not finished within {seconds:g} s; ask for something simpler", True)


class StashList(Input):
    limit: int = Field(100, ge=1, le=10_000, description="How many at most, the last used first.")


@operation("stash.list", "List what is kept of shortened results.", "admin", StashList, stash_list_text)
async def stash_list(context: Context, given: StashList) -> Result:
    rows = await context.gateway.stash.list(given.limit)
    now = time.time()
    return {
        "entries": [
            {"handle": row.handle, "chars": row.chars, "type": row.kind, "server": row.server, "tool": row.tool,
             "created": round(row.created, 3), "age_seconds": round(now - row.created, 1),
             "used": round(row.used, 3), "until_restart": row.in_memory}
            for row in rows
        ]
    }  # fmt: skip


class StashShow(Input):
    handle: str = Field(description="Handle of a shortened result.")


@operation("stash.show", "Show a kept original in full.", "read", StashShow, lambda found: str(found["text"]))
async def stash_show(context: Context, given: StashShow) -> Result:
    kept = await context.gateway.stash.get(given.handle, context.principal)
    if kept is None:
        raise UsageError(f'handle "{given.handle[:40]}" is not found or expired')
    return {"handle": kept.handle, "server": kept.server, "tool": kept.tool, "type": kept.kind,
            "created": round(kept.created, 3), "text": kept.text}  # fmt: skip


class StashClear(Input):
    handle: str = Field("", description="One entry; empty = all.")


@operation("stash.clear", "Forget kept originals.", "admin", StashClear, lambda done: f"{done['cleared']} forgotten")
async def stash_clear(context: Context, given: StashClear) -> Result:
    return {"cleared": await context.gateway.stash.clear(given.handle)}


class CacheClear(Input):
    server: str = Field("", description="Answers of one server; empty = of all.")
    tool: str = Field("", description="Answers of one tool, by the server's own name; empty = of all.")


@operation("cache.clear", "Forget kept answers.", "write", CacheClear, lambda done: f"{done['cleared']} forgotten")
async def cache_clear(context: Context, given: CacheClear) -> Result:
    return {"cleared": await context.gateway.cache.clear(given.server, given.tool)}
