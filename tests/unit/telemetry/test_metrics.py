from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from remora.config.model import ObservabilityConfig
from remora.model.call import CallRecord
from remora.storage.sqlite.state import StateDb
from remora.telemetry import metrics as module
from remora.telemetry.metrics import Metrics

CALL = CallRecord(ts=0.0, trace_id="t", server="git", tool="log", outcome="ok", ms_total=2.5)


@pytest.fixture
async def state(tmp_path) -> AsyncIterator[StateDb]:
    state = StateDb(tmp_path / "state.db")
    yield state
    await state.close()


@pytest.fixture
async def metrics(state) -> AsyncIterator[Metrics]:
    metrics = Metrics(state, ObservabilityConfig())
    yield metrics
    await metrics.close()


async def rows(state: StateDb, sql: str) -> list[Any]:
    return await state.read(lambda db: db.execute(sql).fetchall())


def now(**fields: Any) -> CallRecord:
    return replace(CALL, ts=time.time(), **fields)


async def test_every_field_of_a_record_is_its_column(state, metrics):
    values = {
        name: f"{name}-é"
        for name in module.COLUMNS
        if name not in ("ts", "ms_total", "ms_upstream", "in_tokens", "out_tokens")
    }
    values |= {
        "in_bytes": 9,
        "out_bytes": 5,
        "units_total": 3,
        "units_kept": 2,
        "surfaced_tokens": 1,
        "error_code": -32602,
    }
    values |= {name: 1.5 for name in module.COLUMNS if name.startswith("ms_")} | {"ts": time.time()}
    metrics.record_call(CallRecord(**values))
    await metrics.flush()
    (row,) = await rows(state, f"SELECT {', '.join(module.COLUMNS)} FROM calls")
    expected = values | {"in_tokens": 3, "out_tokens": 2}
    assert dict(zip(module.COLUMNS, row, strict=True)) == expected


async def test_records_are_written_without_being_asked_for(state, metrics):
    metrics.record_call(now())
    metrics.record_event("git", "connected")
    async with asyncio.timeout(10):
        while not await rows(state, "SELECT 1 FROM calls") or not await rows(state, "SELECT 1 FROM upstream_events"):
            await asyncio.sleep(0.01)


async def test_a_batch_does_not_end_the_writing(state, metrics):
    for n in range(3):
        metrics.record_call(now(tool=f"t{n}"))
        async with asyncio.timeout(10):
            while len(await rows(state, "SELECT 1 FROM calls")) <= n:
                await asyncio.sleep(0.01)


async def test_recording_needs_no_loop(state):
    metrics = await asyncio.to_thread(Metrics, state, ObservabilityConfig())
    await asyncio.to_thread(metrics.record_call, now())
    await metrics.close()
    assert len(await rows(state, "SELECT 1 FROM calls")) == 1


async def test_messages_are_cut_and_redacted(state, metrics):
    secret = "correct-Horse7!battery"
    metrics.record_call(now(outcome="timeout", error_message=f"{'x' * 480} password={secret}"))
    metrics.record_event("git", "failed", f"Authorization: Bearer {secret * 3}")
    await metrics.flush()
    ((message,),) = await rows(state, "SELECT error_message FROM calls")
    ((detail,),) = await rows(state, "SELECT detail FROM upstream_events")
    assert len(message) <= 500
    assert "Horse" not in message + detail
    assert "‹redacted:" in detail


async def test_the_latest_tool_list_of_a_session_counts(state, metrics):
    metrics.record_tool_defs("s1", 1000, 900, 10)
    await metrics.flush()
    metrics.record_tool_defs("s1", 1200, 300, 12)
    metrics.record_tool_defs("s2", 10, 10, 1)
    await metrics.flush()
    sql = "SELECT session, tokens_upstream, tokens_listed, tools FROM tool_defs ORDER BY session"
    assert await rows(state, sql) == [("s1", 1200, 300, 12), ("s2", 10, 10, 1)]


async def test_off_means_nothing_is_written_or_even_opened(state):
    metrics = Metrics(state, ObservabilityConfig(metrics=False))
    metrics.record_call(now())
    metrics.record_event("git", "connected")
    metrics.record_tool_defs("s", 1, 1, 1)
    await metrics.close()
    assert not state.path.exists()


async def test_switched_while_running(state, metrics):
    metrics.config = ObservabilityConfig(metrics=False)
    metrics.record_call(now())
    metrics.config = ObservabilityConfig()
    metrics.record_call(now(tool="seen"))
    await metrics.flush()
    assert await rows(state, "SELECT tool FROM calls") == [("seen",)]


async def test_what_cannot_be_written_is_dropped_with_one_warning(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    state = StateDb(tmp_path / "file" / "state.db")
    metrics = Metrics(state, ObservabilityConfig())
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            metrics.record_call(now())
            await metrics.flush()
    assert metrics.dropped == 3
    assert len(caplog.records) == 1
    await metrics.close()
    await state.close()


async def test_memory_is_bounded_while_the_file_is_slow(state, metrics, monkeypatch):
    monkeypatch.setattr(module, "HELD_LIMIT", 2)
    for _ in range(5):
        metrics.record_call(now())
    await metrics.flush()
    assert metrics.dropped == 3
    assert len(await rows(state, "SELECT 1 FROM calls")) == 2


async def test_after_closing_records_are_dropped(state, metrics):
    metrics.record_call(now())
    await metrics.close()
    metrics.record_call(now())
    await metrics.flush()
    assert len(await rows(state, "SELECT 1 FROM calls")) == 1


async def test_trimming_keeps_the_newest_and_the_young(state, monkeypatch):
    monkeypatch.setattr(module, "TRIM_SLICE", 7)
    metrics = Metrics(state, ObservabilityConfig(metrics_max_rows=10, metrics_days=1))
    old = time.time() - 2 * 86_400
    for n in range(40):
        metrics.record_call(replace(CALL, ts=old, tool=f"old{n}"))
    for n in range(30):
        metrics.record_call(now(tool=f"new{n}"))
    metrics.record_event("git", "connected")
    metrics.record_tool_defs("s", 1, 1, 1)
    await metrics.flush()
    await state.run(lambda db: db.execute("UPDATE tool_defs SET ts = ?", (old,)))
    await metrics.trim()
    assert await rows(state, "SELECT tool FROM calls ORDER BY id") == [(f"new{n}",) for n in range(20, 30)]
    assert len(await rows(state, "SELECT 1 FROM upstream_events")) == 1
    assert await rows(state, "SELECT 1 FROM tool_defs") == []
    await metrics.close()


async def test_trimming_happens_by_itself(state, monkeypatch):
    monkeypatch.setattr(module, "TRIM_SECONDS", 0.0)
    metrics = Metrics(state, ObservabilityConfig(metrics_max_rows=1))
    metrics.record_call(now(tool="a"))
    metrics.record_call(now(tool="b"))
    async with asyncio.timeout(10):
        while await rows(state, "SELECT tool FROM calls") != [("b",)]:
            await asyncio.sleep(0.01)
    await metrics.close()
