from __future__ import annotations

from remora.doors.mcp.compat.memtomem_stm_texts import health


def test_every_configured_server_has_a_line() -> None:
    rows = {"up": {"connected": True, "tools": 3}, "off": {"connected": False, "tools": 0}}
    assert health({"servers": rows}).splitlines() == [
        "Upstream Server Health",
        "======================",
        "  up: connected (3 tools)",
        "  off: DISCONNECTED (0 tools)",
        "",
        "Surfacing circuit breaker: disabled",
    ]
    assert health({"servers": {}}) == "No upstream servers configured."
