"""What happened to the answers of each tool: how many were made small, and how often that was too much."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from remora.gateway.tuning.feedback import COUNTS, REDUCED

if TYPE_CHECKING:
    import apsw

    from remora.storage.sqlite.state import StateDb

REPEAT_SECONDS = 600.0
MOST_CALLS = 50_000
CALLS = f"""
SELECT id, ts, server, tool, session, handle, strategy, type, in_tokens, out_tokens, units_total, units_kept,
  coalesce(ms_clean, 0) + coalesce(ms_compress, 0), in_bytes, call_key
FROM calls WHERE ts >= :since AND (:tool = '' OR tool = :tool OR server || '/' || tool = :tool) AND {REDUCED}
ORDER BY id DESC LIMIT {MOST_CALLS}
"""
RECOVERIES = "SELECT ts, handle FROM recoveries WHERE ts >= :since ORDER BY ts"
REPEATABLE = "SELECT ts, call_key FROM calls WHERE ts >= :since AND call_key IS NOT NULL ORDER BY ts"


class Reduced(NamedTuple):
    """One answer that was made small."""

    id: int
    ts: float
    server: str
    tool: str
    session: str | None
    handle: str
    strategy: str
    type: str | None
    tokens_in: int
    tokens_out: int
    units_total: int | None
    units_kept: int | None
    ms: float
    in_bytes: int | None
    call_key: str | None


@dataclass(frozen=True, slots=True)
class Evidence:
    server: str
    tool: str
    reduced: int
    recovered: int
    repeated: int
    again: int  # recovered or repeated: nothing counts twice
    feedback: dict[str, int] = field(default_factory=dict)
    tokens_in: tuple[int, int] = (0, 0)  # p50, p95
    tokens_out: tuple[int, int] = (0, 0)
    kept_share: float | None = None
    ms_p95: float = 0.0
    kilobytes_p95: float = 0.0
    type: str = ""
    strategy: str = ""

    @property
    def complaints(self) -> int:
        return sum(self.feedback.values())

    @property
    def rate(self) -> float:
        """How often an answer was not enough."""
        return (self.again + self.complaints) / self.reduced if self.reduced else 0.0

    def mostly(self, *kinds: str) -> bool:
        """Whether most of at least three complaints are of these kinds."""
        return self.complaints >= 3 and 2 * sum(self.feedback.get(kind, 0) for kind in kinds) > self.complaints

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "rate": round(self.rate, 4)}


async def collect(state: StateDb, since: float, tool: str = "") -> list[Evidence]:
    """Of every tool with reduced answers or complaints since then, the most used first."""
    return await state.read(lambda db: _collect(db, since, tool))


async def first_after(state: StateDb, server: str, tool: str, since: float, most: int) -> Evidence | None:
    """Of the first `most` reduced answers of a tool since then; None if there were fewer."""

    def read(db: apsw.Connection) -> Evidence | None:
        place = {"since": since, "tool": f"{server}/{tool}"}
        calls = [Reduced(*row) for row in db.execute(CALLS, place)][::-1][:most]
        if len(calls) < most:
            return None
        again = _again(db, calls, place)
        complaints = {row[2]: row[3] for row in db.execute(COUNTS, place)}
        return _evidence(server, tool, calls, *again, complaints)

    return await state.read(read)


def _collect(db: apsw.Connection, since: float, tool: str) -> list[Evidence]:
    place = {"since": since, "tool": tool}
    of: dict[tuple[str, str], list[Reduced]] = defaultdict(list)
    calls = [Reduced(*row) for row in db.execute(CALLS, place)][::-1]
    for call in calls:
        of[call.server, call.tool].append(call)
    complaints: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for server, name, kind, count in db.execute(COUNTS, place):
        complaints[server, name][kind] = count
        of.setdefault((server, name), [])
    recovered, repeated = _again(db, calls, place)
    found = [_evidence(*key, of[key], recovered, repeated, complaints.get(key, {})) for key in of]
    return sorted(found, key=lambda each: (-each.reduced, each.server, each.tool))


def _again(db: apsw.Connection, calls: Sequence[Reduced], place: dict[str, Any]) -> tuple[set[int], set[int]]:
    """Calls whose original was read afterwards, and calls that were soon made again."""
    of_handle: dict[str, list[Reduced]] = defaultdict(list)
    for call in calls:
        of_handle[call.handle].append(call)
    recovered: set[int] = set()
    for ts, handle in db.execute(RECOVERIES, place):
        if before := [call for call in of_handle.get(handle, ()) if call.ts <= ts]:
            recovered.add(before[-1].id)
    times: dict[str, list[float]] = defaultdict(list)
    for ts, key in db.execute(REPEATABLE, place):
        times[key].append(ts)
    repeated = {
        call.id
        for call in calls
        if call.call_key and any(0 < ts - call.ts <= REPEAT_SECONDS for ts in times[call.call_key])
    }
    return recovered, repeated


def _evidence(
    server: str,
    tool: str,
    calls: Sequence[Reduced],
    recovered: set[int],
    repeated: set[int],
    complaints: dict[str, int],
) -> Evidence:
    ids = {call.id for call in calls}
    shares = [call.units_kept / call.units_total for call in calls if call.units_total and call.units_kept is not None]
    return Evidence(
        server,
        tool,
        len(calls),
        len(ids & recovered),
        len(ids & repeated),
        len(ids & (recovered | repeated)),
        complaints,
        _middle_and_high([call.tokens_in for call in calls]),
        _middle_and_high([call.tokens_out for call in calls]),
        round(sum(shares) / len(shares), 4) if shares else None,
        round(_rank([call.ms for call in calls], 95), 1),
        round(_rank([(call.in_bytes or 0) / 1000 for call in calls], 95), 1),
        _commonest(call.type or "" for call in calls),
        _commonest(call.strategy for call in calls),
    )


def _commonest(words: Iterable[str]) -> str:
    counted = Counter(words)
    return min(counted, key=lambda word: (-counted[word], word), default="")


def _middle_and_high(values: list[int]) -> tuple[int, int]:
    return int(_rank(values, 50)), int(_rank(values, 95))


def _rank(values: Sequence[float], percent: int) -> float:
    """Nearest rank: always a value that was really seen."""
    ordered = sorted(values)
    return ordered[max(0, -(-percent * len(ordered) // 100) - 1)] if ordered else 0.0
