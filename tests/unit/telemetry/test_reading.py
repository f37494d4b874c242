from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from remora.model.call import CallRecord
from remora.storage.sqlite.state import StateDb
from remora.telemetry import reading
from remora.telemetry.metrics import Metrics


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[StateDb]:
    from remora.config.model import ObservabilityConfig

    state = StateDb(tmp_path / "state.db")
    metrics = Metrics(state, ObservabilityConfig())
    now = time.time()
    for n, (server, ago) in enumerate([("git", 500.0), ("git", 10.0), ("web", 10.0)]):
        metrics.record_call(
            CallRecord(
                ts=now - ago,
                trace_id=f"t{n}",
                server=server,
                tool="log",
                outcome="ok" if n else "timeout",
                ms_total=10.0 * (n + 1),
                cache="hit" if n == 1 else "miss",
                handle=f"h{n}",
                strategy="progressive" if server == "git" else "auto→log",
                in_bytes=40_000,
                in_tokens=10_000,
                out_bytes=4_000,
                out_tokens=1_000,
            )
        )
    metrics.record_event("git", "connected")
    metrics.record_event("git", "connected")
    metrics.record_event("web", "connected")
    metrics.record_recovery("h1", "s", "progressive", 1_000)
    await metrics.close()
    yield state
    await state.close()


async def test_totals_of_each_server(state: StateDb) -> None:
    git, web = await reading.by_server(state, 0, time.time() - 60)
    assert (git["server"], git["calls"], git["errors"], git["hits"], git["misses"], git["recent"]) == (
        "git",
        2,
        1,
        1,
        1,
        1,
    )
    assert (web["chars_in"], web["chars_out"], web["tokens_in"], web["progressive"]) == (40_000, 4_000, 10_000, 0)
    assert await reading.by_server(state, time.time() + 10, 0) == []


async def test_times_and_reconnects(state: StateDb) -> None:
    assert await reading.times(state, 0) == [10.0, 20.0, 30.0]
    assert await reading.reconnects(state, 0) == 1


async def test_what_of_the_pieces_was_asked_for(state: StateDb) -> None:
    first, second = await reading.pieces(state, "")
    assert first == {"tool": "git/log", "total": 40_000, "served": 4_000, "followed": 0}
    assert second == {"tool": "git/log", "total": 40_000, "served": 8_000, "followed": 1}
    assert await reading.pieces(state, "web/log") == []
