"""Results of operations as text for people and agents: aligned, quiet."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

Result = dict[str, Any]


def table(rows: Iterable[Sequence[Any]], head: Sequence[str]) -> str:
    cells = [[("" if value is None else str(value)) for value in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(head), *cells]) for i in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [list(head), *cells]
    ]
    return "\n".join(lines)


def health_text(result: Result) -> str:
    servers, reason = result["servers"], result["config"]["reason"]
    head = f"{reason}\n\n" if reason else ""
    if not servers:
        return f"{head}No server is configured. Add one: remora add NAME -- COMMAND"
    rows = [
        (name, row["state"], row["tools"], row["era"],
         f"{row['latency_ms']} ms" if row["latency_ms"] is not None else "", row["error"])
        for name, row in servers.items()
    ]  # fmt: skip
    text = head + table(rows, ("SERVER", "STATE", "TOOLS", "PROTOCOL", "LATENCY", "ERROR"))
    for name, row in servers.items():
        for own, served in row.get("names", {}).items():
            text += f"\n{name}: {own} -> {served}"
    return text


def status_text(result: Result) -> str:
    rows = [
        (name, row["state"], row.get("transport"), row.get("era"), row.get("tools"), row.get("in_flight"),
         row.get("last_error"))
        for name, row in result["servers"].items()
    ]  # fmt: skip
    lines = [f"config    {result['config_path']}"]
    if result.get("reason"):
        lines.append(f"warning   {result['reason']}")
    lines.append(f"sessions  {len(result['sessions'])}")
    for one in result["sessions"]:
        seen = time.strftime("%H:%M:%S", time.localtime(one["last_seen"]))
        lines.append(
            f"          {one['door']} {one['client'] or 'unknown client'} ({one['era'] or 'no request yet'}), {seen}"
        )
    if not rows:
        return "\n".join([*lines, "", "No server is configured. Add one: remora add NAME -- COMMAND"])
    return "\n".join(
        [*lines, "", table(rows, ("SERVER", "STATE", "TRANSPORT", "PROTOCOL", "TOOLS", "CALLS", "LAST ERROR"))]
    )


def stats_text(result: Result) -> str:
    from remora.telemetry.accounting import render

    return render(result)


def tool_text(result: Result) -> str:
    return json.dumps(result["definition"], indent=2, ensure_ascii=False)
