from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest

from remora.model.call import CallRecord


def record() -> CallRecord:
    return CallRecord(ts=1.0, trace_id="t", server="git", tool="log", outcome="ok", ms_total=2.0)


def test_what_no_stage_filled_is_none():
    call = record()
    filled = {"ts", "trace_id", "server", "tool", "outcome", "ms_total", "cache"}
    assert all(getattr(call, field.name) is None for field in fields(call) if field.name not in filled)
    assert call.cache == "off"


def test_it_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        record().outcome = "timeout"  # type: ignore[misc]
