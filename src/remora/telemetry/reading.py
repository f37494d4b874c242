"""What is known of results that were delivered in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remora.storage.sqlite.state import StateDb

TOTALS = """
SELECT server, count(*), coalesce(sum(in_bytes), 0), coalesce(sum(out_bytes), 0), coalesce(sum(in_tokens), 0),
  coalesce(sum(out_tokens), 0), count(*) FILTER (WHERE outcome <> 'ok'), count(*) FILTER (WHERE cache = 'hit'),
  count(*) FILTER (WHERE cache = 'miss'), count(*) FILTER (WHERE ts >= :minute),
  count(*) FILTER (WHERE strategy LIKE '%progressive%')
FROM calls WHERE ts >= :since GROUP BY server ORDER BY server
"""
COLUMNS = ("server", "calls", "chars_in", "chars_out", "tokens_in", "tokens_out", "errors", "hits", "misses", "recent",
           "progressive")  # fmt: skip
TIMES = "SELECT ms_total FROM calls WHERE ts >= :since ORDER BY ms_total"
CONNECTED = "SELECT server, count(*) FROM upstream_events WHERE ts >= :since AND event = 'connected' GROUP BY server"
PIECES = """
SELECT c.server || '/' || c.tool, c.handle, c.in_bytes, c.out_bytes, c.in_tokens,
  (SELECT count(*) FROM recoveries r WHERE r.handle = c.handle AND r.mode IN ('range', 'progressive')),
  (SELECT coalesce(sum(r.out_tokens), 0) FROM recoveries r
   WHERE r.handle = c.handle AND r.mode IN ('range', 'progressive'))
FROM calls c WHERE c.handle IS NOT NULL AND c.strategy LIKE '%progressive%'
  AND (:tool = '' OR c.tool = :tool OR c.server || '/' || c.tool = :tool)
GROUP BY c.handle HAVING c.id = max(c.id) ORDER BY c.id
"""


async def by_server(state: StateDb, since: float, minute: float) -> list[dict[str, Any]]:
    """Totals of each server; `minute`: since when calls count as recent."""
    given = {"since": since, "minute": minute}
    rows = await state.read(lambda db: list(db.execute(TOTALS, given)))
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


async def times(state: StateDb, since: float) -> list[float]:
    """How long each call took, shortest first."""
    return await state.read(lambda db: [float(row[0]) for row in db.execute(TIMES, {"since": since})])


async def reconnects(state: StateDb, since: float) -> int:
    """Connections beyond the first of each server."""
    return await state.read(lambda db: sum(row[1] - 1 for row in db.execute(CONNECTED, {"since": since})))


async def pieces(state: StateDb, tool: str) -> list[dict[str, Any]]:
    """One row for each text delivered in pieces: how much of it was ever asked for."""
    rows = await state.read(lambda db: list(db.execute(PIECES, {"tool": tool})))
    found = []
    for name, _, total, first, tokens, followed, followed_tokens in rows:
        more = followed_tokens * (total or 0) / tokens if tokens else 0.0  # tokens of a reading as characters
        served = min(total or 0, (first or 0) + more)
        found.append({"tool": name, "total": total or 0, "served": served, "followed": followed})
    return found
