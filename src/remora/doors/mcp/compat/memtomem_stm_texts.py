"""The texts of memtomem-stm's tools about the gateway, in its order and under its labels."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from remora.gateway.tuning import feedback as complaints
from remora.operations.registry import Context
from remora.telemetry import reading

RECENT_SECONDS = 60.0


def _headed(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, "=" * len(title), *lines])


def _line(label: str, value: str) -> str:
    return f"{label + ':':<16} {value}"


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "0.0%"


async def stats(context: Context) -> str:
    """Since the gateway started. Savings in tokens are the honest ones: estimated by type of text."""
    gateway, now = context.gateway, time.time()
    await gateway.metrics.flush()
    since = gateway.started_at
    rows = await reading.by_server(context.state, since, now - RECENT_SECONDS)
    total: Counter[str] = Counter()
    for row in rows:
        total.update({name: value for name, value in row.items() if name != "server"})
    saved, saved_tokens = total["chars_in"] - total["chars_out"], total["tokens_in"] - total["tokens_out"]
    lines = [
        _line("Total calls", f"{total['calls']}"),
        _line("Original chars", f"{total['chars_in']:,}"),
        _line("Compressed", f"{total['chars_out']:,}"),
        _line("Savings", _share(saved, total["chars_in"])),
        _line("Token savings", f"{saved_tokens:,} ({_share(saved_tokens, total['tokens_in'])}, estimated)"),
        _line("Cache hits", f"{total['hits']}"),
        _line("Cache misses", f"{total['misses']}"),
        _line("Reconnects", f"{await reading.reconnects(context.state, since)}"),
    ]
    if total["errors"]:
        lines.append(_line("Errors", f"{total['errors']} ({_share(total['errors'], total['calls'])})"))
    if times := await reading.times(context.state, since):
        shown = "  ".join(f"p{p}={times[max(0, -(-p * len(times) // 100) - 1)]:.1f}" for p in (50, 95, 99))
        lines.append(_line("Latency (ms)", shown))
    if total["recent"]:
        lines.append(_line("Current RPS", f"{total['recent'] / min(RECENT_SECONDS, max(1.0, now - since)):.2f}"))
    if total["progressive"]:
        lines.append(_line("Progressive", f"{total['progressive']}"))
    if rows:
        lines += ["", "By server:"]
        lines += [
            f"  {row['server']}: {row['calls']} calls, {row['chars_in']:,} → {row['chars_out']:,} chars "
            f"({_share(row['chars_in'] - row['chars_out'], row['chars_in'])} saved)"
            for row in rows
        ]
    return _headed("STM Proxy Stats", [*lines, "", "Surfacing: disabled"])


def health(found: dict[str, Any]) -> str:
    if not found["servers"]:
        return "No upstream servers configured."
    lines = [
        f"  {name}: {'connected' if row['connected'] else 'DISCONNECTED'} ({row['tools']} tools)"
        for name, row in found["servers"].items()
    ]
    return _headed("Upstream Server Health", [*lines, "", "Surfacing circuit breaker: disabled"])


async def compression_stats(context: Context, tool: str) -> str:
    rows = await complaints.counts(context.state, tool=tool)
    kinds: Counter[str] = Counter()
    tools: Counter[str] = Counter()
    for server, name, kind, count in rows:
        kinds[kind] += count
        tools[f"{server}/{name}"] += count
    lines = [_line("Total feedback", str(kinds.total()))]
    if tool:
        lines.append(f"(filtered by tool: {tool})")
    return _headed("Compression Feedback Stats", [*lines, *_counted("By kind:", kinds), *_counted("By tool:", tools)])


def _counted(title: str, counts: Counter[str]) -> list[str]:
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return ["", title, *(f"  {name}: {count}" for name, count in rows)] if rows else []


async def progressive_stats(context: Context, tool: str) -> str:
    await context.gateway.metrics.flush()
    rows = await reading.pieces(context.state, tool)
    number = len(rows)
    reads: Counter[str] = Counter()
    for row in rows:
        reads[row["tool"]] += 1 + row["followed"]

    def mean(values: list[float]) -> float:
        return sum(values) / number if number else 0.0

    coverage = mean([row["served"] / row["total"] if row["total"] else 1.0 for row in rows])
    lines = [
        _line("Total reads", str(reads.total())),
        _line("Total responses", str(number)),
        _line("Follow-up rate", _share(sum(1 for row in rows if row["followed"]), number)),
        _line("Avg chars served", f"{mean([row['served'] for row in rows]):,.0f}"),
        _line("Avg total chars", f"{mean([row['total'] for row in rows]):,.0f}"),
        _line("Avg coverage", f"{100 * coverage:.1f}%"),
    ]
    if tool:
        lines.append(f"(filtered by tool: {tool})")
    return _headed("Progressive Reads Stats", [*lines, *_counted("By tool:", reads)])


async def tuning_recommendations(context: Context, since_hours: float, tool: str) -> str:
    from remora.gateway.tuning.changes import Changes

    await context.gateway.metrics.flush()
    changes = Changes(context.state, context.gateway.loaded)
    found, made = await changes.recommended(time.time() - since_hours * 3_600, tool)
    calls, window = sum(each.reduced for each in found), f"{since_hours:g}h window"
    if not made:
        return f"No recommendations ({window}, {calls} calls, {len(found)} tools analyzed)"
    lines: list[str] = []
    for seen in found:
        ours = [one for one in made if (one.server, one.tool) == (seen.server, seen.tool)]
        if not ours:
            continue
        ratio = seen.tokens_out[0] / seen.tokens_in[0] if seen.tokens_in[0] else 1.0
        lines += [
            "",
            f"{seen.server}/{seen.tool}  [{ours[0].confidence.upper()} confidence, {seen.reduced} calls]",
            f"  Violation rate: {_share(seen.again, seen.reduced)}",
            f"  Avg compression ratio: {ratio:.2f}",
        ]
        for one in ours:
            lines += [f"  -> {one.field}: {one.current} -> {one.value}", f"     {one.reason}"]
    title = f"Tuning Recommendations ({window}, {calls} calls, {len(found)} tools analyzed)"
    return "\n".join([_headed(title, lines), "", "Apply with: remora tune --apply"])
