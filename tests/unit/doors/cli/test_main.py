from __future__ import annotations

import click
import pytest
from tests.unit.doors.cli.conftest import Run

from remora import __version__
from remora.doors.cli import main as module
from remora.doors.cli.main import COMMANDS, program
from remora.doors.cli.terminal import Terminal
from remora.errors import UnavailableError


def test_without_a_command_it_shows_every_command(run: Run) -> None:
    done = run()
    assert done.code == 0
    assert all(f"  {name} " in done.out for name in COMMANDS)


@pytest.mark.parametrize("words", [["-h"], ["--help"], ["config", "-h"], ["add", "--help"]])
def test_help_ends_well(run: Run, words: list[str]) -> None:
    done = run(*words)
    assert (done.code, done.out[:6]) == (0, "Usage:")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_found(name: str) -> None:
    found = program.get_command(click.Context(program, **program.context_settings), name)
    assert found is not None
    assert found.name == {"remember": "store", "recall": "search"}.get(name, name)


def test_version_is_an_option_too(run: Run) -> None:
    assert run("--version").out == f"remora {__version__}\n"


def test_an_unknown_command_gets_a_suggestion(run: Run) -> None:
    done = run("statsu")
    assert done.code == 2
    assert 'there is no command "statsu"; did you mean "stats"?' in done.err
    assert "remora --help" in done.err


def test_wrong_words_name_the_command_to_ask_for_help(run: Run) -> None:
    done = run("stats", "--nope")
    assert done.code == 2
    assert "--nope" in done.err
    assert "remora stats --help" in done.err


@pytest.mark.parametrize("words", [["--json", "bogus"], ["stats", "--nope", "--json"]])
def test_with_json_wrong_words_are_one_document(run: Run, words: list[str]) -> None:
    done = run(*words)
    assert done.code == 2
    assert done.document["error"] == "usage"


def test_common_options_may_stand_before_and_after_the_command(run: Run) -> None:
    assert run("--json", "list").document == run("list", "--json").document


def test_words_after_two_dashes_are_not_ours(run: Run) -> None:
    assert run("add", "x", "--", "prog", "--json").out.startswith("added x")


@pytest.mark.parametrize(
    ("failure", "code", "told"),
    [
        (UnavailableError("busy"), 5, "remora: busy"),
        (KeyboardInterrupt(), 130, ""),
        (FileNotFoundError(2, "No such file", "/x"), 1, "remora: /x: No such file"),
        (OSError("odd"), 1, "remora: odd"),
    ],
)
def test_failures_become_messages_and_exit_codes(
    run: Run, monkeypatch: pytest.MonkeyPatch, failure: BaseException, code: int, told: str
) -> None:
    def fail(terminal: Terminal) -> None:
        raise failure

    monkeypatch.setattr(Terminal, "loaded", fail)
    done = run("list")
    assert (done.code, done.err.strip()) == (code, told)


def test_a_reader_that_has_had_enough_is_no_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(terminal: Terminal) -> None:
        raise BrokenPipeError

    redirected = []
    monkeypatch.setattr(Terminal, "loaded", fail)
    monkeypatch.setattr(module.os, "dup2", lambda *given: redirected.append(given))
    done = run("list")
    assert (done.code, done.err, len(redirected)) == (1, "", 1)
