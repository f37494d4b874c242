"""Making one text small, as the pipeline would: to try strategies and budgets without an agent or a server."""

from __future__ import annotations

import time
from typing import Any

from pydantic import Field

from remora.errors import ConfigError, UsageError
from remora.operations.registry import Context, Input, operation

Result = dict[str, Any]


class Compress(Input):
    text: str = Field(description="The text.")
    budget: int | None = Field(None, ge=1, description="Most tokens of the answer.")
    ratio: float | None = Field(None, gt=0, le=1, description="Most characters of the answer, as a share of the text.")
    query: str = Field("", description="What is looked for.")
    strategy: str = Field("auto", description="A strategy by name.")
    path: str = Field("", description="Name of the file it comes from: its suffix helps to tell the type.")


def compress_text(result: Result) -> str:
    """The facts about a compression, one line each."""
    kept = result["omitted"]
    lines = [
        ("type", result["type"]),
        ("strategy", result["strategy"]),
        ("tokens", f"{result['tokens_in']:,} -> {result['tokens_out']:,} ({result['ratio']:.1%}), estimated"),
        ("kept", f"{kept['kept']:,} of {kept['total']:,} {kept['unit']}" if kept["total"] > kept["kept"] else "all"),
        ("query", result["scorer"] or "none"),
        ("handle", result["handle"]),
        ("time", f"{result['ms']:,.0f} ms"),
    ]
    return "\n".join(f"{name:<9} {value}" for name, value in lines)


@operation("pipeline.compress", "Make one text small, as the pipeline would.", "read", Compress, compress_text)
async def compress(context: Context, given: Compress) -> Result:
    """Without a budget, that of the largest answer an unknown model gets."""
    from remora.gateway.compression import strategies
    from remora.gateway.compression.auto import compress as smaller

    try:
        strategies.canonical(given.strategy)
    except ConfigError as unknown:
        raise UsageError(str(unknown)) from unknown
    if given.budget is not None and given.ratio is not None:
        raise UsageError("give either a budget or a ratio")
    began = time.perf_counter()
    made = smaller(
        given.text,
        budget_tokens=given.budget,
        ratio=given.ratio,
        query=given.query or None,
        strategy=given.strategy,
        arguments={"path": given.path} if given.path else None,
    )
    omitted = made.omitted
    return {
        "text": made.text,
        "type": made.kind,
        "strategy": made.strategy,
        "tokens_in": made.tokens_in,
        "tokens_out": made.tokens_out,
        "ratio": round(made.tokens_out / made.tokens_in, 4) if made.tokens_in else 1.0,
        "omitted": {"kept": omitted.kept, "total": omitted.total, "unit": omitted.unit, "chars": omitted.chars},
        "handle": made.handle,
        "scorer": made.scorer,
        "ms": round((time.perf_counter() - began) * 1000, 1),
    }
