from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.doors.cli.conftest import DEMO, Run

from remora.doors.cli.look import exit_code

Write = Callable[[str], Path]


def table(name: str, words: list[str], more: str = "") -> str:
    return f"[servers.{name}]\ncommand = {json.dumps(words[0])}\nargs = {json.dumps(words[1:])}\n{more}\n"


NOTES = table("notes", DEMO["notes"])
DEAD = table("dead", ["/nonexistent/program"])
OFF = table("off", ["/nonexistent/program"], "enabled = false")


def test_status_without_a_gateway_tells_what_is_configured(run: Run, config: Write) -> None:
    path = config(NOTES + OFF + "[servers.bad]\n")
    document = run("status", "--json").document
    assert document["config_path"] == str(path)
    assert (document["daemon"], document["enabled"], document["sessions"]) == (None, True, [])
    assert {name: row["state"] for name, row in document["servers"].items()} == {
        "notes": "idle", "off": "disabled", "bad": "failed",
    }  # fmt: skip
    assert document["servers"]["bad"]["last_error"] == "has neither command nor url"
    text = run("status").out
    assert text.startswith("engine    not running")
    assert "has neither command nor url" in text


def test_status_of_nothing_is_well(run: Run) -> None:
    done = run("status", "--json")
    assert (done.code, done.document["servers"], done.document["enabled"]) == (0, {}, False)


def test_health_starts_the_servers_for_the_moment(run: Run, config: Write) -> None:
    config(NOTES + OFF)
    done = run("health", "--json")
    row = done.document["servers"]["notes"]
    assert (done.code, row["connected"], row["tools"], row["era"], row["error"]) == (0, True, 3, "2025-11-25", None)
    assert done.document["servers"]["off"]["state"] == "disabled"
    assert "search_notes" in run("health", "notes", "--names").out


def test_health_says_by_its_exit_code_how_many_failed(run: Run, config: Write) -> None:
    config(NOTES + DEAD)
    assert run("health").code == 4
    assert run("health", "notes").code == 0
    done = run("health", "dead")
    assert (done.code, "/nonexistent/program" in done.out) == (1, True)


def test_health_of_nothing_is_well_and_of_an_unknown_server_is_not(run: Run) -> None:
    assert run("health").code == 0
    assert run("health", "nobody", "--json").document["error"] == "usage"


@pytest.mark.parametrize(
    ("rows", "named", "code"),
    [
        ([], (), 0),
        (["ready", "disabled"], (), 0),
        (["disabled"], ("off",), 1),
        (["ready", "failed"], (), 4),
        (["failed", "backoff"], (), 1),
    ],
)
def test_exit_codes_of_health(rows: list[str], named: tuple[str, ...], code: int) -> None:
    found: dict[str, Any] = {str(at): {"connected": state == "ready", "state": state} for at, state in enumerate(rows)}
    assert exit_code({"servers": found}, named) == code


def test_stats_of_nothing_are_zeros(run: Run) -> None:
    done = run("stats", "--json")
    assert (done.code, done.document["calls"], done.document["window"]["seconds"]) == (0, 0, 7 * 86400.0)
    assert "last 7d" in run("stats").out


def test_stats_count_calls(run: Run, config: Write) -> None:
    config(NOTES)
    run("call", "notes__search_notes", '{"query": "deploy"}')
    document = run("stats", "--since", "1h", "--by", "tool", "--tool-defs", "--json").document
    assert document["calls"] == 1
    assert [row["name"] for row in document["rows"]] == ["notes/search_notes"]
    assert [row["tools"] for row in document["definitions"]["rows"]] == [10]
    assert run("stats", "--session", "nobody", "--json").document["calls"] == 0


@pytest.mark.parametrize("words", [["--since", "soon"], ["--by", "moon"]])
def test_stats_refuse_words_that_mean_nothing(run: Run, words: list[str]) -> None:
    assert run("stats", *words).code == 2


def test_a_slow_server_is_given_the_time_asked_for(run: Run, config: Write) -> None:
    config(table("slow", [sys.executable, "-c", "import time; time.sleep(60)"]))
    done = run("health", "--timeout", "0.3", "--json")
    assert (done.code, done.document["servers"]["slow"]["error"]) == (1, "no answer within 0.3 s")
