from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from remora.config.model import ObservabilityConfig
from remora.model.call import CallRecord
from remora.storage.sqlite.state import StateDb
from remora.telemetry.accounting import GROUPS, estimate_tokens, render, stats
from remora.telemetry.metrics import Metrics

DAY = 86_400.0


def call(**fields: Any) -> CallRecord:
    base = {"ts": time.time(), "trace_id": "t", "server": "git", "tool": "log", "outcome": "ok", "ms_total": 1.0}
    return CallRecord(**base | fields)


@pytest.fixture
async def state(tmp_path) -> AsyncIterator[StateDb]:
    state = StateDb(tmp_path / "state.db")
    yield state
    await state.close()


async def recorded(state: StateDb, *calls: CallRecord) -> None:
    metrics = Metrics(state, ObservabilityConfig())
    for one in calls:
        metrics.record_call(one)
    metrics.record_tool_defs("s1", 1000, 300, 20)
    metrics.record_tool_defs("s2", 500, 500, 10)
    await metrics.close()


async def test_nothing_recorded_gives_zeros(state):
    figures = await stats(state, DAY)
    zero = {"p50": 0.0, "p95": 0.0, "p99": 0.0}
    assert figures["calls"] == figures["errors"]["total"] == 0
    assert figures["tokens"] == {"in": 0, "out": 0}
    assert figures["latency_ms"] == {"calls": 0, "total": zero, "upstream": zero, "own": zero}
    assert figures["definitions"] == {"sessions": 0, "tokens_upstream": 0, "tokens_listed": 0, "saved": 0}
    assert "calls        0" in render(figures)


async def test_calls_errors_tokens_and_definitions(state):
    await recorded(
        state,
        call(in_bytes=400, out_bytes=100),
        call(in_bytes=5, out_bytes=5, in_tokens=7),
        call(outcome="timeout", error_category="timeout"),
        call(outcome="is_error", error_category="upstream_error"),
        call(outcome="cancelled"),
        call(ts=time.time() - 2 * DAY, outcome="timeout", error_category="timeout"),
    )
    figures = await stats(state, DAY, tool_defs=True)
    assert figures["calls"] == 5
    assert figures["errors"] == {"total": 3, "by_category": {"cancelled": 1, "timeout": 1, "upstream_error": 1}}
    assert figures["outcomes"] == {"ok": 2, "cancelled": 1, "is_error": 1, "timeout": 1}
    assert figures["tokens"] == {"in": 107, "out": 27}
    definitions = figures["definitions"]
    assert (definitions["sessions"], definitions["saved"]) == (2, 700)
    assert {row["session"]: row["saved"] for row in definitions["rows"]} == {"s1": 700, "s2": 0}
    assert figures["estimator"].startswith("estimated")


async def test_latency_is_what_was_measured(state):
    await recorded(state, *(call(ms_total=float(n), ms_upstream=n - 0.5) for n in range(1, 101)), call(ms_total=1000.0))
    latency = (await stats(state, DAY))["latency_ms"]
    assert latency["total"] == {"p50": 51.0, "p95": 96.0, "p99": 100.0}
    assert latency["upstream"] == {"p50": 49.5, "p95": 94.5, "p99": 98.5}
    assert latency["own"]["p50"] == 0.5


async def test_latency_looks_at_the_newest_calls_only(state):
    await recorded(state, *(call(ms_total=float(n)) for n in range(10)))
    latency = (await stats(state, DAY, latency_window=2))["latency_ms"]
    assert (latency["calls"], latency["total"]["p50"]) == (2, 8.0)


@pytest.mark.parametrize("by", GROUPS)
async def test_rows_add_up_to_the_whole(state, by):
    await recorded(
        state,
        call(in_bytes=40, client="a", project="/p", session="s1"),
        call(in_bytes=40, tool="diff", outcome="timeout"),
        call(in_bytes=40, server="time", strategy="table", ms_total=9.0),
    )
    figures = await stats(state, DAY, by)
    rows = figures["rows"]
    assert figures["by"] == by
    assert sum(row["calls"] for row in rows) == 3
    assert sum(row["errors"] for row in rows) == 1
    assert sum(row["tokens"]["in"] for row in rows) == 30
    assert all(row["latency_ms"]["total"]["p50"] > 0 for row in rows)
    assert all(row["name"] in render(figures) for row in rows)


async def test_one_session_alone(state):
    await recorded(state, call(session="s1"), call(session="s2"), call())
    figures = await stats(state, DAY, session="s1")
    assert (figures["calls"], figures["definitions"]["sessions"]) == (1, 1)
    assert figures["window"]["session"] == "s1"


async def test_a_name_cannot_move_the_cursor(state):
    await recorded(state, call(tool="\x1b[2Jevil\nline"))
    text = render(await stats(state, 7 * DAY, "tool", tool_defs=True))
    assert "\x1b" not in text
    assert "git/?[2Jevil?line" in text
    assert "last 7d" in text


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("word " * 100, 125), ("한국어" * 10, 23), ("\ud800", 1)]
)
def test_tokens_are_estimated_by_bytes(text, tokens):
    assert estimate_tokens(text) == tokens
