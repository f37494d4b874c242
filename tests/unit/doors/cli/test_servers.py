from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.doors.cli.conftest import DEMO, Run

Write = Callable[[str], Path]


def written(home: Path) -> dict[str, object]:
    found: dict[str, object] = tomllib.loads((home / "config.toml").read_text())["servers"]
    return found


def test_an_empty_list_says_what_to_do(run: Run, home: Path) -> None:
    done = run("list")
    assert (done.code, done.out) == (0, "No server is configured. Add one: remora add NAME -- COMMAND\n")
    assert run("list", "--json").document == {"config_path": str(home / "config.toml"), "servers": {}}


def test_add_takes_a_command_after_two_dashes(run: Run, home: Path) -> None:
    done = run("add", "git", "--", "uvx", "mcp-server-git", "--repository", ".")
    assert (done.code, done.out) == (0, "added git: its tools are served as git__…\n")
    assert written(home) == {"git": {"command": "uvx", "args": ["mcp-server-git", "--repository", "."]}}


def test_add_takes_everything_as_options(run: Run, home: Path) -> None:
    words = ["--command", "prog", "--arg", "-y", "--arg", "b c", "--args", "d 'e f'", "--env", "A=1=2", "--cwd", "/tmp"]
    assert run("add", "x", *words, "--prefix", "ex", "--scope", "session", "--disabled").code == 0
    assert written(home)["x"] == {
        "prefix": "ex", "command": "prog", "args": ["-y", "b c", "d", "e f"], "env": {"A": "1=2"}, "cwd": "/tmp",
        "scope": "session", "enabled": False,
    }  # fmt: skip


def test_add_takes_a_url(run: Run, home: Path) -> None:
    words = ["--url", "https://example.com/mcp", "--transport", "streamable-http", "--header", "X-Team=blue"]
    assert run("add", "web", *words).code == 0
    assert written(home)["web"] == {
        "url": "https://example.com/mcp", "transport": "http", "headers": {"X-Team": "blue"},
    }  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ["x"],
        ["x", "--command", "a", "--url", "http://b"],
        ["x", "--url", "http://b", "--", "prog"],
        ["x", "--command", "a", "--", "prog"],
        ["x", "--env", "novalue", "--", "prog"],
        ["x", "--header", "=v", "--url", "http://b"],
        ["x", "--args", "'open", "--command", "a"],
        ["x", "--transport", "carrier-pigeon", "--", "prog"],
        ["x", "--transport", "http", "--", "prog"],
        ["x", "--url", "ftp://b"],
        ["x", "--prefix", "bad__prefix", "--", "prog"],
        ["---", "--", "prog"],
    ],
)
def test_add_refuses_what_makes_no_server(run: Run, home: Path, words: list[str]) -> None:
    done = run("add", *words, "--json") if "--" not in words else run("--json", "add", *words)
    assert done.code == 2
    assert done.document["error"] == "usage"
    assert not (home / "config.toml").exists()


def test_add_refuses_a_name_or_prefix_that_is_taken(run: Run, home: Path) -> None:
    run("add", "git", "--", "one")
    assert run("add", "git", "--", "two").code == 2
    assert run("add", "hub", "--prefix", "git", "--", "two").code == 2
    assert run("add", "git", "--force", "--", "two").code == 0
    assert written(home) == {"git": {"command": "two"}}


@pytest.mark.parametrize("words", [["--env", "LD_PRELOAD=x", "--", "prog"], ["--", "/usr/bin/remora", "mcp"]])
def test_add_refuses_what_is_not_safe(run: Run, words: list[str]) -> None:
    assert run("add", "x", *words).code == 6


def test_add_warns_of_a_secret_in_plain_text(run: Run) -> None:
    done = run("add", "hub", "--env", "GITHUB_TOKEN=abc-123-def", "--", "prog")
    assert done.code == 0
    assert "servers.hub.env.GITHUB_TOKEN looks like a secret" in done.err
    assert "abc-123-def" not in done.out + done.err
    assert "secret" not in run("add", "two", "--env", "GITHUB_TOKEN=${GITHUB_TOKEN}", "--", "prog").err


def test_probe_adds_what_answers_and_knows_its_tools_at_once(run: Run) -> None:
    done = run("add", "notes", "--probe", "--json", "--", *DEMO["notes"])
    assert done.document["probe"]["tools"] == 3
    assert "search_notes" in run("list", "--names", "--json").document["servers"]["notes"]["names"]
    assert "(3 tools, 2026-07-28," in run("add", "tickets", "--probe", "--", *DEMO["tickets"]).out


def test_a_failed_probe_writes_nothing(run: Run, home: Path) -> None:
    done = run("add", "x", "--validate", "--", "/nonexistent/program")
    assert done.code == 1
    assert "x was not added: " in done.err
    assert not (home / "config.toml").exists()


def test_list_shows_what_was_set_and_hides_secrets(run: Run, config: Write) -> None:
    config(
        '[servers.hub]\ncommand = "prog"\nenv = { API_KEY = "sesame-open-9" }\ncatalog_mode = "full"\n[servers.bad]\n'
    )
    done = run("list", "--json")
    hub, bad = done.document["servers"]["hub"], done.document["servers"]["bad"]
    assert hub["env"] == {"API_KEY": "<redacted>"}
    assert (hub["prefix"], hub["transport"], hub["catalog_mode"], hub["enabled"]) == ("hub", "stdio", "full", True)
    assert bad["problem"] == "has neither command nor url"
    assert "has neither command nor url" in run("list").out


def test_list_names_shows_names_or_says_that_none_are_known(run: Run, config: Write) -> None:
    config('[servers.x]\ncommand = "prog"\n')
    assert "x\n  not connected yet" in run("list", "--names").out
    run("add", "notes", "--probe", "--", *DEMO["notes"])
    assert "  search_notes  notes__search_notes" in run("list", "--names").out


def test_enable_and_disable_say_what_is(run: Run, home: Path) -> None:
    run("add", "x", "--", "prog")
    assert [run("disable", "x").out, run("disable", "x").out] == ["x is disabled\n", "x was disabled already\n"]
    assert written(home)["x"] == {"command": "prog", "enabled": False}
    assert run("enable", "x", "--json").document == {"name": "x", "enabled": True, "changed": True, "warnings": []}


def test_a_switch_that_the_environment_overrules_warns(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("add", "x", "--", "prog")
    monkeypatch.setenv("REMORA_SERVERS__X__ENABLED", "false")
    assert "REMORA_SERVERS__X__ENABLED in the environment decides" in run("enable", "x").err


def test_remove_needs_a_yes(run: Run, home: Path) -> None:
    run("add", "x", "--", "prog")
    assert run("remove", "x").code == 6
    assert "x" in written(home)
    assert run("remove", "x", "--json").document["error"] == "refused"
    assert run("remove", "x", "-y").out == "removed x\n"
    assert "x" not in tomllib.loads((home / "config.toml").read_text()).get("servers", {})


def test_dry_run_shows_a_diff_and_changes_nothing(run: Run, home: Path) -> None:
    run("add", "x", "--", "prog")
    before = (home / "config.toml").stat().st_mtime_ns
    done = run("remove", "x", "--dry-run")
    assert done.code == 0
    assert '-command = "prog"' in done.out
    assert (home / "config.toml").stat().st_mtime_ns == before


@pytest.mark.parametrize("command", [["remove", "-y"], ["enable"], ["disable"]])
def test_an_unknown_server_gets_a_suggestion(run: Run, command: list[str]) -> None:
    run("add", "github", "--", "prog")
    done = run(*command, "githb")
    assert done.code == 1
    assert 'there is no server "githb"; did you mean "github"?' in done.err
