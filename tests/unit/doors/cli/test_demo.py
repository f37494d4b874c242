from __future__ import annotations

from typing import Any

import pytest
from tests.unit.doors.cli.conftest import Run

from remora.demo import tour
from remora.demo.client import Failed
from remora.doors.cli.demo import page
from remora.doors.cli.terminal import Terminal

SEEN: dict[str, Any] = {
    "start": {"initialize_s": 0.3, "first_list_s": 0.4},
    "catalog": {
        "servers": [
            {"name": "notes", "protocol": "2025-11-25", "tools": ["notes__search_notes"]},
            {"name": "tickets", "protocol": "2026-07-28", "tools": ["tickets__find_tickets"]},
        ],
        "tools": 3,
        "same_for_both_eras": True,
    },
    "calls": [
        {"tool": "a__b", "arguments": {"x": 1}, "outcome": "ok", "text": "y" * 500, "progress": ["1/2 one"], "ms": 1.5},
        {"tool": "a__c", "arguments": {}, "outcome": "error", "text": "it is closed", "progress": [], "ms": 0.5},
    ],
    "parallel": {"calls": 20, "each_ms": 100, "seconds": 0.11},
    "recovery": {"server": "tickets", "killed_pid": 1, "new_pid": 2, "call": {"ms": 150.2}},
    "latency": {"calls": 300, "direct_p50_ms": 0.15, "gateway_p50_ms": 0.3},
    "stats": {"calls": 26, "errors": {"total": 1}, "latency_ms": {"own": {"p50": 0.02}}},
}


def test_the_page_tells_everything_in_lines_that_fit() -> None:
    text = page(Terminal(), SEEN)
    assert "tickets  speaks 2026-07-28, stateless" in text
    assert "sees the same 3 tools" in text
    assert "progress 1/2 one" in text
    assert "it is closed" in text
    assert "answered by process 2, 150 ms later" in text
    assert max(len(line) for line in text.splitlines() if "/" not in line) <= 110


def test_json_prints_what_was_seen(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def take(environ: Any) -> Any:
        return SEEN

    monkeypatch.setattr(tour, "tour", take)
    assert run("demo", "--json").document == SEEN
    assert run("demo").out.startswith("Two MCP servers behind one connection")


def test_a_tour_that_breaks_off_is_a_failure(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(environ: Any) -> Any:
        raise Failed("the server has gone")

    monkeypatch.setattr(tour, "tour", fail)
    assert run("demo", "--json").document["message"] == "the tour broke off: the server has gone"
