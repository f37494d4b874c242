"""What the recorded calls add up to: the figures of `remora stats`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    import apsw

    from remora.storage.sqlite.state import StateDb

ESTIMATOR = "estimated (UTF-8 bytes / 4)"
GroupBy = Literal["server", "tool", "client", "project", "strategy", "day"]
GROUPS: tuple[GroupBy, ...] = get_args(GroupBy)
PERCENTILES = (50, 95, 99)

Times = tuple[str, float, float | None]  # group, total, upstream

GROUP_SQL: dict[GroupBy, str] = {
    "server": "server",
    "tool": "server || '/' || tool",
    "client": "coalesce(client, '-')",
    "project": "coalesce(project, '-')",
    "strategy": "coalesce(strategy, 'none')",
    "day": "date(ts, 'unixepoch')",
}
TOTALS = """
SELECT count(*), count(*) FILTER (WHERE outcome <> 'ok'), coalesce(sum(in_tokens), 0), coalesce(sum(out_tokens), 0),
  min(ts), max(ts)
FROM calls WHERE ts >= :since AND (:session IS NULL OR session = :session)
"""
OUTCOMES = """
SELECT outcome, count(*) FROM calls WHERE ts >= :since AND (:session IS NULL OR session = :session)
GROUP BY 1 ORDER BY 2 DESC, 1
"""
ERRORS = """
SELECT coalesce(error_category, outcome), count(*) FROM calls
WHERE ts >= :since AND (:session IS NULL OR session = :session) AND outcome <> 'ok' GROUP BY 1 ORDER BY 2 DESC, 1
"""
GROUP_ROWS = """
SELECT {group} AS name, count(*), count(*) FILTER (WHERE outcome <> 'ok'),
  coalesce(sum(in_tokens), 0), coalesce(sum(out_tokens), 0)
FROM calls WHERE ts >= :since AND (:session IS NULL OR session = :session) GROUP BY 1 ORDER BY {order}
"""
TIMES = """
SELECT {group}, ms_total, ms_upstream FROM calls
WHERE ts >= :since AND (:session IS NULL OR session = :session) ORDER BY id DESC LIMIT :window
"""
DEFINITIONS = """
SELECT session, ts, tools, tokens_upstream, tokens_listed FROM tool_defs
WHERE ts >= :since AND (:session IS NULL OR session = :session) ORDER BY ts DESC, session
"""


def tokens_of_bytes(size: int) -> int:
    """Four bytes a token holds for English (four letters) and for Chinese, Japanese and Korean (1.3 signs) alike."""
    return (size + 3) // 4


def estimate_tokens(text: str) -> int:
    return tokens_of_bytes(len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")))


async def stats(
    state: StateDb,
    since_seconds: float,
    by: GroupBy | None = None,
    session: str | None = None,
    *,
    tool_defs: bool = False,
    latency_window: int = 10_000,
) -> dict[str, Any]:
    """Figures of the last `since_seconds`; nothing recorded gives zeros. `tool_defs` adds a row for each session."""
    since = time.time() - since_seconds
    return await state.read(lambda db: _stats(db, since, since_seconds, by, session, tool_defs, latency_window))


def _stats(
    db: apsw.Connection,
    since: float,
    seconds: float,
    by: GroupBy | None,
    session: str | None,
    tool_defs: bool,
    window: int,
) -> dict[str, Any]:
    values = {"since": since, "session": session, "window": window}
    calls, failed, tokens_in, tokens_out, first, last = next(iter(db.execute(TOTALS, values)))
    times = list(db.execute(TIMES.format(group=GROUP_SQL[by] if by else "NULL"), values))
    figures: dict[str, Any] = {
        "window": {"seconds": seconds, "first": first, "last": last, "session": session},
        "estimator": ESTIMATOR,
        "calls": calls,
        "errors": {"total": failed, "by_category": dict(_pairs(db.execute(ERRORS, values)))},
        "outcomes": dict(_pairs(db.execute(OUTCOMES, values))),
        "tokens": {"in": tokens_in, "out": tokens_out},
        "definitions": _definitions(list(db.execute(DEFINITIONS, values)), tool_defs),
        "latency_ms": {"calls": len(times), **_latency(times)},
    }
    if by is not None:
        order = "1" if by == "day" else "2 DESC, 1"
        rows = db.execute(GROUP_ROWS.format(group=GROUP_SQL[by], order=order), values)
        figures["by"] = by
        times_of: dict[str, list[Times]] = {}
        for time_of in times:
            times_of.setdefault(time_of[0], []).append(time_of)
        figures["rows"] = [_group_row(row, times_of.get(row[0], [])) for row in rows]
    return figures


def _pairs(rows: Iterable[Any]) -> list[tuple[str, int]]:
    return [(name, count) for name, count in rows]


def _group_row(row: tuple[str, int, int, int, int], times: Sequence[Times]) -> dict[str, Any]:
    name, calls, failed, tokens_in, tokens_out = row
    tokens = {"in": tokens_in, "out": tokens_out}
    return {"name": name, "calls": calls, "errors": failed, "tokens": tokens, "latency_ms": _latency(times)}


def _definitions(rows: Sequence[tuple[str, float, int, int, int]], each: bool) -> dict[str, Any]:
    upstream, listed = sum(row[3] for row in rows), sum(row[4] for row in rows)
    figures: dict[str, Any] = {
        "sessions": len(rows),
        "tokens_upstream": upstream,
        "tokens_listed": listed,
        "saved": upstream - listed,
    }
    if each:
        names = ("session", "ts", "tools", "tokens_upstream", "tokens_listed")
        figures["rows"] = [dict(zip(names, row, strict=True)) | {"saved": row[3] - row[4]} for row in rows]
    return figures


def _latency(times: Sequence[Times]) -> dict[str, dict[str, float]]:
    """`own` is what Remora added; a call that never reached its upstream is all Remora's."""
    return {
        "total": _percentiles([total for _, total, _ in times]),
        "upstream": _percentiles([upstream for _, _, upstream in times if upstream is not None]),
        "own": _percentiles([max(0.0, total - (upstream or 0.0)) for _, total, upstream in times]),
    }


def _percentiles(values: list[float]) -> dict[str, float]:
    """Nearest rank: always a time that was really taken."""
    values.sort()
    last = len(values) - 1
    return {
        f"p{p}": round(values[max(0, -(-p * len(values) // 100) - 1)], 3) if last >= 0 else 0.0 for p in PERCENTILES
    }


def render(figures: dict[str, Any]) -> str:
    """The same figures for people."""
    tokens, errors, definitions = figures["tokens"], figures["errors"], figures["definitions"]
    by_category = ", ".join(f"{name} {count:,}" for name, count in errors["by_category"].items())
    lines = [
        f"window       last {_duration(figures['window']['seconds'])}",
        f"calls        {figures['calls']:,}",
        f"errors       {errors['total']:,}" + (f"  ({by_category})" if by_category else ""),
        f"tokens       in {tokens['in']:,}  out {tokens['out']:,}  {figures['estimator']}",
        f"definitions  {definitions['tokens_upstream']:,} upstream, {definitions['tokens_listed']:,} listed, "
        f"{definitions['saved']:,} saved in {definitions['sessions']:,} sessions",
        "",
        *_table(
            ("latency, ms", "p50", "p95", "p99"),
            [(name, *_times(figures["latency_ms"][name])) for name in ("total", "upstream", "own")],
        ),
    ]
    if rows := figures.get("rows"):
        cells = [
            (
                row["name"],
                f"{row['calls']:,}",
                f"{row['errors']:,}",
                f"{row['tokens']['in']:,}",
                f"{row['tokens']['out']:,}",
                *_times(row["latency_ms"]["total"])[:2],
            )
            for row in rows
        ]
        lines += ["", *_table((figures["by"], "calls", "errors", "tokens in", "tokens out", "p50 ms", "p95 ms"), cells)]
    if rows := definitions.get("rows"):
        names = ("tools", "tokens_upstream", "tokens_listed", "saved")
        cells = [(row["session"], *(f"{row[name]:,}" for name in names)) for row in rows]
        lines += ["", *_table(("session", "tools", "upstream", "listed", "saved"), cells)]
    return "\n".join(lines)


def _times(latency: dict[str, float]) -> tuple[str, ...]:
    return tuple(f"{latency[f'p{p}']:,.1f}" for p in PERCENTILES)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """First column to the left, numbers to the right."""
    table = [[_printable(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in table
    ]


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def _duration(seconds: float) -> str:
    for letter, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:.0f}{letter}"
    return f"{seconds:g}s"
