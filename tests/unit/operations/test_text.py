from __future__ import annotations

import json
from typing import Any

from remora.operations.text import health_text, status_text, table, tool_text


def health_row(**given: Any) -> dict[str, Any]:
    return {"connected": True, "state": "ready", "tools": 3, "era": "2025-11-25", "latency_ms": 1.5,
            "overflowing": [], "error": None, **given}  # fmt: skip


def health(reason: str | None = None, **servers: dict[str, Any]) -> str:
    return health_text({"config": {"mode": "normal", "reason": reason}, "servers": servers})


def status(reason: str | None = None, sessions: Any = (), **servers: dict[str, Any]) -> str:
    return status_text({"config_path": "/h/config.toml", "reason": reason, "sessions": sessions, "servers": servers})


def test_a_table_is_aligned_and_ends_no_line_with_spaces() -> None:
    text = table([("git", 12, None), ("filesystem", 3, "gone")], ("SERVER", "TOOLS", "ERROR"))
    assert text.splitlines() == ["SERVER      TOOLS  ERROR", "git         12", "filesystem  3      gone"]


def test_a_table_without_rows_is_its_head() -> None:
    assert table([], ("A", "B")) == "A  B"


def test_health_has_a_line_for_each_server() -> None:
    dead = health_row(connected=False, state="failed", tools=0, era=None, latency_ms=None, error="not found")
    lines = health(git=health_row(), web=dead).splitlines()
    assert lines[0].split() == ["SERVER", "STATE", "TOOLS", "PROTOCOL", "LATENCY", "ERROR"]
    assert lines[1].split() == ["git", "ready", "3", "2025-11-25", "1.5", "ms"]
    assert lines[2].split() == ["web", "failed", "0", "not", "found"]


def test_a_latency_of_nothing_is_still_a_latency() -> None:
    assert "0.0 ms" in health(git=health_row(latency_ms=0.0))


def test_health_shows_names_where_they_were_asked_for() -> None:
    lines = health(git=health_row(names={"a.b": "git__a_b_x7", "log": "git__log"})).splitlines()
    assert lines[2:] == ["git: a.b -> git__a_b_x7", "git: log -> git__log"]


def test_nothing_configured_says_what_to_type_next() -> None:
    for text in (health(), status()):
        assert text.splitlines()[-1] == "No server is configured. Add one: remora add NAME -- COMMAND"


def test_a_configuration_that_is_not_in_force_is_the_first_thing_said() -> None:
    assert health("the file is broken", git=health_row()).startswith("the file is broken\n\nSERVER")
    assert health("the file is broken").startswith("the file is broken\n\nNo server")
    assert status("the file is broken").splitlines()[1] == "warning   the file is broken"


def test_status_tells_of_sessions_and_servers() -> None:
    sessions = [
        {"door": "stdio", "client": "claude", "era": "handshake", "last_seen": 0.0},
        {"door": "http", "client": None, "era": None, "last_seen": 0.0},
    ]
    row = {"state": "ready", "transport": "stdio", "era": "2025-11-25", "tools": 3, "in_flight": 1, "last_error": None}
    lines = status(None, sessions, git=row, off={"state": "disabled"}).splitlines()
    assert lines[:2] == ["config    /h/config.toml", "sessions  2"]
    assert lines[2].split()[:3] == ["stdio", "claude", "(handshake),"]
    assert "http unknown client (no request yet)" in lines[3]
    assert lines[-2].split() == ["git", "ready", "stdio", "2025-11-25", "3", "1"]
    assert lines[-1].split() == ["off", "disabled"]


def test_a_tool_is_shown_as_it_was_defined() -> None:
    definition = {"name": "größe", "inputSchema": {"type": "object"}}
    text = tool_text({"definition": definition})
    assert json.loads(text) == definition
    assert "größe" in text


def test_what_others_named_gives_no_orders_to_the_terminal() -> None:
    evil = "\x1b[2J\x1b]0;owned\x07\nforged  ready  3"
    session = {"door": "stdio", "client": evil, "era": "modern", "last_seen": 0.0}
    for text in (health(git=health_row(error=evil, names={evil: "git__x"})), status(None, [session]),
                 status(None, (), git={"state": "failed", "last_error": evil})):  # fmt: skip
        assert "owned" in text
        assert "\x1b" not in text
        assert "\x07" not in text
        assert not any(line.startswith("forged") for line in text.splitlines())
