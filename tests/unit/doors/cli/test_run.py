from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.doors.cli.conftest import Run

from remora import __version__
from remora.config.load import Loaded, Surroundings
from remora.doors import serve as serving
from remora.doors.cli import run as module
from remora.doors.mcp import command

Write = Callable[[str], Path]


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> list[Loaded]:
    """Instead of serving: announce an address, and remember what would have been served."""
    served: list[Loaded] = []

    def main_http(loaded: Loaded, around: Surroundings, announce: Callable[[str], None]) -> int:
        served.append(loaded)
        announce("http://127.0.0.1:7437")
        return 0

    monkeypatch.setattr(serving, "main_http", main_http)
    return served


def test_serve_says_where_it_is_and_how_an_agent_gets_there(run: Run, announced: list[Loaded], home: Path) -> None:
    done = run("serve")
    assert done.code == 0
    assert f"Remora {__version__} serves MCP at http://127.0.0.1:7437/mcp (no server yet" in done.out
    assert f"$(cat {home / 'run' / 'token'})" in done.out
    assert "claude mcp add rem -- " in done.out
    assert announced[0].paths.home == home


def test_serve_counts_its_servers_and_keeps_the_token_to_itself(
    run: Run, announced: list[Loaded], config: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    config('[servers.git]\ncommand = "uvx"\n')
    monkeypatch.setenv("REMORA_TOKEN", "sesame-open-9")
    done = run("serve")
    assert "(1 server)" in done.out
    assert "Bearer $REMORA_TOKEN" in done.out
    assert "sesame" not in done.out
    assert run("serve", "--json").document["url"] == "http://127.0.0.1:7437/mcp"


def test_serve_needs_a_configuration_that_works_or_once_did(run: Run, announced: list[Loaded], config: Write) -> None:
    config("max = 1\n")
    assert run("serve").code == 3
    config('[servers.git]\ncommand = "uvx"\n')
    assert run("serve").code == 0
    config("max = 1\n")
    assert run("serve").code == 0
    assert [loaded.mode for loaded in announced] == ["normal", "last_good"]


def test_serve_refuses_to_be_the_second(run: Run, announced: list[Loaded], monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"pid": 42, "version": "1", "http_url": "http://127.0.0.1:1", "started_by": "serve"}
    monkeypatch.setattr(serving, "running_engine", lambda _: said)
    done = run("serve", "--json")
    assert (done.code, done.document["error"], announced) == (5, "unavailable", [])
    assert "pid 42" in done.document["message"]


def test_mcp_hands_its_options_on(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[list[str]] = []
    monkeypatch.setattr(command, "run", lambda words: given.append(words) or 0)
    run("--home", str(tmp_path), "mcp", "--profile", "p", "--catalog", "lazy")
    assert given == [["--home", str(tmp_path), "--profile", "p", "--catalog", "lazy"]]
    assert run("mcp", "--catalog", "huge").code == 2


def test_mcp_knows_the_same_options_with_and_without_click() -> None:
    ours = {name for param in module.mcp.params for name in param.opts}
    theirs = {name for action in command.parser()._actions for name in action.option_strings}
    assert theirs - {"-h", "--help"} <= ours
    assert ours - theirs <= {"--json", "--quiet", "--verbose", "--no-color"}


def test_the_program_is_named_by_its_absolute_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "remora").touch()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert module.program_path() == str(tmp_path / "remora")
    (tmp_path / "remora").unlink()
    monkeypatch.setattr(module.shutil, "which", lambda _: "/usr/bin/remora")
    assert module.program_path() == "/usr/bin/remora"
