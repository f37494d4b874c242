"""Counting without being noticed: a call appends to a list, a thread writes the list half a second later."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from remora.model.call import CallRecord
from remora.storage.sqlite.connection import StateUnavailable
from remora.telemetry.accounting import tokens_of_bytes

if TYPE_CHECKING:
    import apsw

    from remora.config.model import ObservabilityConfig
    from remora.storage.sqlite.state import StateDb

log = logging.getLogger(__name__)

WRITE_SECONDS = 0.25
HELD_LIMIT = 50_000  # rows kept in memory while the file cannot be written
MESSAGE_LIMIT = 500
TRIM_SECONDS = 600.0
TRIM_SLICE = 1_000
TRIM_SLICES = 50  # at one time: what is left waits for the next

COLUMNS = tuple(field.name for field in fields(CallRecord))
VALUES = attrgetter(*COLUMNS)
MESSAGE, IN_BYTES, IN_TOKENS, OUT_BYTES, OUT_TOKENS = (
    COLUMNS.index(name) for name in ("error_message", "in_bytes", "in_tokens", "out_bytes", "out_tokens")
)
INSERT_CALL = f"INSERT INTO calls ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
INSERT_EVENT = "INSERT INTO upstream_events (ts, server, event, detail) VALUES (?, ?, ?, ?)"
UPSERT_TOOL_DEFS = """
INSERT INTO tool_defs (session, ts, tokens_upstream, tokens_listed, tools) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (session) DO UPDATE SET ts = excluded.ts, tokens_upstream = excluded.tokens_upstream,
  tokens_listed = excluded.tokens_listed, tools = excluded.tools
"""
TRIM_OLD = "DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} WHERE ts < ? LIMIT ?)"
TRIM_MANY = """
DELETE FROM {table} WHERE id IN (
  SELECT id FROM {table} WHERE id <= (SELECT id FROM {table} ORDER BY id DESC LIMIT 1 OFFSET ?) ORDER BY id LIMIT ?)
"""

EventRow = tuple[float, str, str, str]
ToolDefsRow = tuple[str, float, int, int, int]


class _Batch(NamedTuple):
    calls: list[CallRecord]
    events: list[EventRow]
    tool_defs: list[ToolDefsRow]

    def write(self, db: apsw.Connection) -> None:
        db.executemany(INSERT_CALL, map(_row, self.calls))
        db.executemany(INSERT_EVENT, ((*event[:3], _told(event[3])) for event in self.events))
        db.executemany(UPSERT_TOOL_DEFS, self.tool_defs)


class Metrics:
    """`config` may be replaced at any time; it holds from the next record on."""

    def __init__(self, state: StateDb, config: ObservabilityConfig) -> None:
        self.config = config
        self.dropped = 0
        self._state = state
        self._calls: list[CallRecord] = []
        self._events: list[EventRow] = []
        self._tool_defs: dict[str, ToolDefsRow] = {}
        self._drain: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._trim_at = time.monotonic() + TRIM_SECONDS / 10
        self._complaint = ""
        self._closed = False

    def record_call(self, call: CallRecord) -> None:
        if self._takes(self._calls):
            self._calls.append(call)

    def record_event(self, server: str, event: str, detail: str = "") -> None:
        """Something happened to an upstream: connected, lost, breaker opened and so on."""
        if self._takes(self._events):
            self._events.append((time.time(), server, event, detail))

    def record_tool_defs(self, session: str, tokens_upstream: int, tokens_listed: int, tools: int) -> None:
        """What the session's tool list cost and what the upstreams' own lists would have; the latest one counts."""
        if self._takes(self._tool_defs):
            self._tool_defs[session] = (session, time.time(), tokens_upstream, tokens_listed, tools)

    async def flush(self) -> None:
        """Everything recorded before is in the file, or was given up with a warning."""
        async with self._writing:
            batch = _Batch(self._calls, self._events, list(self._tool_defs.values()))
            self._calls, self._events, self._tool_defs = [], [], {}
            if any(batch):
                await self._write(batch)

    async def trim(self) -> None:
        """Remove what is too old or too much, in slices that hold the write lock for a moment only."""
        before = time.time() - self.config.metrics_days * 86_400
        most = self.config.metrics_max_rows
        for _ in range(TRIM_SLICES):
            if not await self._state.run(lambda db: _trim(db, before, most)):
                return

    async def close(self) -> None:
        self._closed = True
        if self._drain is not None:
            self._drain.cancel()
            await asyncio.wait([self._drain])
        await self.flush()

    def _takes(self, held: Sequence[Any] | dict[str, Any]) -> bool:
        if not self.config.metrics or self._closed:
            return False
        if self._drain is None or self._drain.done():
            self._start_drain()
        if len(held) < HELD_LIMIT:
            return True
        self.dropped += 1
        return False

    def _start_drain(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # outside a loop the records wait for flush()
        self._drain = loop.create_task(self._write_from_time_to_time(), name="metrics")

    async def _write_from_time_to_time(self) -> None:
        while self._calls or self._events or self._tool_defs:
            await asyncio.sleep(WRITE_SECONDS)
            await asyncio.shield(self.flush())
            if time.monotonic() >= self._trim_at:
                self._trim_at = time.monotonic() + TRIM_SECONDS
                try:
                    await self.trim()
                except StateUnavailable as error:
                    log.warning("metrics not trimmed: %s", error)

    async def _write(self, batch: _Batch) -> None:
        try:
            await self._state.run(batch.write)
            self._complaint = ""
        except StateUnavailable as error:
            self.dropped += len(batch.calls)
            if self._complaint != str(error):
                self._complaint = str(error)
                log.warning("metrics not written: %s", error)


def _row(call: CallRecord) -> list[Any]:
    row = list(VALUES(call))
    if row[MESSAGE] is not None:
        row[MESSAGE] = _told(row[MESSAGE])
    if row[IN_TOKENS] is None and row[IN_BYTES] is not None:
        row[IN_TOKENS] = tokens_of_bytes(row[IN_BYTES])
    if row[OUT_TOKENS] is None and row[OUT_BYTES] is not None:
        row[OUT_TOKENS] = tokens_of_bytes(row[OUT_BYTES])
    return row


def _told(text: str) -> str:
    from remora.privacy.output import redact_text

    # Cut well beyond the limit first: a secret must not lose the part that makes it recognisable.
    return redact_text(text[: MESSAGE_LIMIT * 4])[:MESSAGE_LIMIT]


def _trim(db: apsw.Connection, before: float, most: int) -> int:
    removed = 0
    for table, key in (("calls", "id"), ("upstream_events", "id"), ("tool_defs", "session")):
        db.execute(TRIM_OLD.format(table=table, key=key), (before, TRIM_SLICE))
        removed += db.changes()
        if key == "id":
            db.execute(TRIM_MANY.format(table=table), (most, TRIM_SLICE))
            removed += db.changes()
    if removed:
        db.execute("PRAGMA incremental_vacuum(200)")
    return removed
