from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from remora.config.problems import InvalidConfig, Problem
from remora.doors.cli.terminal import Terminal
from remora.errors import ConfigError, RefusedError, RpcError


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def at_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def pretend() -> None:
        for name in ("stdin", "stdout", "stderr"):
            monkeypatch.setattr(sys, name, Tty())

    return pretend


def test_a_result_is_text_or_json_made_of_the_same_document(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().show({"a": 1}, lambda document: f"a is {document['a']}")
    Terminal(as_json=True).show({"a": 1}, str)
    assert capsys.readouterr().out == 'a is 1\n{\n  "a": 1\n}\n'


def test_secrets_are_hidden_in_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().show({"token": "hunter2-hunter2"}, lambda document: str(document["token"]))
    Terminal(as_json=True).show({"token": "hunter2-hunter2"}, str)
    assert "hunter2" not in capsys.readouterr().out


def test_secrets_are_shown_on_a_terminal_that_asks(at_terminal: Callable[[], None]) -> None:
    with pytest.raises(RefusedError, match="terminal only"):
        Terminal(show_secrets=True).show({"token": "hunter2"}, str)
    at_terminal()
    with pytest.raises(RefusedError, match="terminal only"):
        Terminal(show_secrets=True, as_json=True).show({"token": "hunter2"}, str)
    Terminal(show_secrets=True).show({"token": "hunter2"}, lambda document: str(document["token"]))
    assert sys.stdout.getvalue() == "hunter2\n"  # type: ignore[attr-defined]


def test_notes_go_to_stderr_and_can_be_silenced(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().note("by the way")
    Terminal(quiet=True).note("nothing")
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "remora: by the way\n")


def test_a_failure_is_words_or_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().failed(ConfigError("it is wrong", path="/x"), hint="do this")
    Terminal(as_json=True).failed(ConfigError("it is wrong", path="/x"))
    told = capsys.readouterr()
    assert told.err == "remora: it is wrong\ndo this\n"
    assert '"error": "config_invalid"' in told.out
    assert '"path": "/x"' in told.out


def test_a_failure_carries_all_problems_and_data(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal(as_json=True).failed(
        InvalidConfig([Problem("c.toml", 3, "a.b", "is odd", "mend it"), Problem("V", None, "", "x")])
    )
    told = capsys.readouterr().out
    assert '"line": 3' in told
    assert '"hint": "mend it"' in told
    Terminal(as_json=True).failed(RpcError(-32602, "no", {"similar": ["x"]}))
    assert '"error": -32602' in capsys.readouterr().out


def test_failures_tell_no_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().failed(ConfigError("cannot log in with ghp_abcdefghijklmnopqrstuvwxyz0123456789"))
    assert "ghp_" not in capsys.readouterr().err


def test_confirmation_needs_a_person_or_yes(monkeypatch: pytest.MonkeyPatch, at_terminal: Callable[[], None]) -> None:
    Terminal().confirm("Sure?", yes=True)
    with pytest.raises(RefusedError, match="--yes"):
        Terminal().confirm("Sure?", yes=False)
    at_terminal()
    with pytest.raises(RefusedError, match="--yes"):
        Terminal(as_json=True).confirm("Sure?", yes=False)
    for answer in (True, False):
        monkeypatch.setattr(click, "confirm", lambda *_, answer=answer, **__: answer)
        if answer:
            Terminal().confirm("Sure?", yes=False)
        else:
            with pytest.raises(RefusedError, match="nothing was changed"):
                Terminal().confirm("Sure?", yes=False)


def test_colours_are_for_terminals_that_want_them(
    monkeypatch: pytest.MonkeyPatch, at_terminal: Callable[[], None]
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert Terminal().paint("x", "red") == "x"
    at_terminal()
    assert Terminal().paint("x", "red") == "\x1b[31mx\x1b[0m"
    assert Terminal(no_color=True).paint("x", "red") == "x"
    assert Terminal(as_json=True).paint("x", "red") == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert Terminal().paint("x", "red") == "x"


def test_warnings_of_the_configuration_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REMORA_GATEWAY__MAX_RETRYS", "1")
    assert Terminal(home=tmp_path).loaded().config.servers == {}
    assert "did you mean REMORA_GATEWAY__MAX_RETRIES" in capsys.readouterr().err


def test_what_a_server_says_gives_no_orders_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().failed(RpcError(-32000, "first\x1b[2J\nsecond"))
    Terminal().note("loud\x07")
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "\x07" not in said
    assert "first?[2J\nsecond" in said
