from __future__ import annotations

import os
import pty
import socket
import sys
from collections.abc import Callable, Iterator

import pytest

from remora.__main__ import main

Words = list[tuple[str, list[str]]]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Words:
    """Which of the two programs was called, and with which words."""
    from remora.doors.cli import main as cli
    from remora.doors.mcp import command

    found: Words = []

    def instead(name: str) -> Callable[[list[str]], int]:
        return lambda words: found.append((name, list(words))) or 7  # type: ignore[func-returns-value]

    monkeypatch.setattr(command, "run", instead("mcp"))
    monkeypatch.setattr(cli, "main", instead("cli"))
    return found


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Put something in the place of standard input."""
    kept = os.dup(0)

    def put(fd: int) -> None:
        os.dup2(fd, 0)
        os.close(fd)
        monkeypatch.setattr(sys, "stdin", os.fdopen(0, closefd=False))

    yield put
    os.dup2(kept, 0)
    os.close(kept)


def test_words_are_for_the_command_line(called: Words) -> None:
    assert main(["list", "--json"]) == 7
    assert main(["--json", "list"]) == 7
    assert called == [("cli", ["list", "--json"]), ("cli", ["--json", "list"])]


def test_mcp_is_served_whatever_stdin_is(called: Words, stdin: Callable[[int], None]) -> None:
    stdin(os.open(os.devnull, os.O_RDONLY))
    assert main(["mcp", "--profile", "p"]) == 7
    assert called == [("mcp", ["--profile", "p"])]


@pytest.mark.parametrize("words", [[], ["--profile", "p"], ["--project", "/x"], ["--catalog", "lazy"]])
def test_a_pipe_is_served(called: Words, stdin: Callable[[int], None], words: list[str]) -> None:
    read, write = os.pipe()
    stdin(read)
    assert main(words) == 7
    assert called == [("mcp", words)]
    os.close(write)


def test_a_pipe_with_something_in_it_is_served_though_its_writer_has_gone(
    called: Words, stdin: Callable[[int], None]
) -> None:
    read, write = os.pipe()
    os.write(write, b"{}\n")
    os.close(write)
    stdin(read)
    assert main([]) == 7
    assert called == [("mcp", [])]


def test_a_socket_is_served(called: Words, stdin: Callable[[int], None]) -> None:
    ours, theirs = socket.socketpair()
    stdin(theirs.detach())
    assert main([]) == 7
    assert called == [("mcp", [])]
    ours.close()


def test_no_input_at_all_is_the_end(called: Words, stdin: Callable[[int], None]) -> None:
    read, write = os.pipe()
    os.close(write)
    for source in (os.open(os.devnull, os.O_RDONLY), read):
        stdin(source)
        assert main([]) == 0
    assert called == []


def test_a_person_gets_the_command_line(called: Words, stdin: Callable[[int], None]) -> None:
    ours, theirs = pty.openpty()
    stdin(theirs)
    assert main([]) == 7
    assert called == [("cli", [])]
    os.close(ours)


def test_the_words_are_those_that_were_typed(called: Words, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["remora", "status"])
    assert main() == 7
    assert called == [("cli", ["status"])]
