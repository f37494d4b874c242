from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.doors.cli.conftest import DEMO, Run
from tests.unit.doors.cli.test_look import DEAD, NOTES, table

TICKETS = table("tickets", DEMO["tickets"])


@pytest.fixture(autouse=True)
def _servers(config: Callable[[str], Path]) -> None:
    config(NOTES + TICKETS + '[profiles.desk]\nservers = ["tickets"]\n')


def test_the_text_of_the_result_is_printed(run: Run) -> None:
    done = run("call", "notes__search_notes", '{"query": "friday"}')
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["notes"][0]["title"] == "Deploys"


def test_json_and_raw_print_the_whole_result(run: Run) -> None:
    for flag in ("--json", "--raw"):
        document = run("call", "tickets__find_tickets", '{"state": "closed"}', flag).document
        assert document["structuredContent"]["tickets"][0]["id"] == "T-9"
        assert document["content"][0]["type"] == "text"


def test_arguments_may_come_from_stdin(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"query": "on call"}'))
    assert "On call" in run("call", "notes__search_notes", "-").out


def test_a_tool_that_fails_is_exit_1(run: Run) -> None:
    words = ["call", "tickets__close_ticket", '{"id": "T-9"}']
    done = run(*words)
    assert (done.code, done.out, done.err) == (1, "", "T-9 is closed already\n")
    document = run(*words, "--json").document
    assert (document["error"], document["message"]) == ("is_error", "T-9 is closed already")
    assert document["result"]["isError"] is True
    assert run(*words, "--raw").document["isError"] is True


def test_an_unknown_tool_gets_suggestions(run: Run) -> None:
    done = run("call", "tickets__find_ticket")
    assert done.code == 1
    assert "Unknown tool: tickets__find_ticket" in done.err
    assert "did you mean tickets__find_tickets" in done.err
    document = run("call", "tickets__find_ticket", "--json").document
    assert (document["error"], document["data"]["similar"][0]) == (-32602, "tickets__find_tickets")
    assert run("call", "tickets__find_ticket", "--raw").document["code"] == -32602


def test_a_server_that_cannot_start_is_told_with_its_code(run: Run, config: Callable[[str], Path]) -> None:
    config(NOTES)
    run("call", "notes__search_notes", "{}")  # its tools are known from now on
    config(NOTES.replace("remora.demo.notes", "remora.demo.nothing"))
    assert run("call", "notes__search_notes", "{}").code == 1
    config(DEAD)
    assert run("call", "dead__tool").code == 1


def test_a_profile_limits_what_can_be_called(run: Run) -> None:
    assert run("call", "tickets__find_tickets", "--profile", "desk").code == 0
    assert "Unknown tool" in run("call", "notes__search_notes", "--profile", "desk").err
    done = run("call", "notes__search_notes", "--profile", "nobody", "--json")
    assert (done.code, done.document["error"]) == (3, "unknown_profile")


def test_progress_is_told_on_request(run: Run) -> None:
    assert "remora: 1/3 Checkout runbook" in run("call", "notes__tidy_notes", "--verbose").err
    assert run("call", "notes__tidy_notes").err == ""


@pytest.mark.parametrize("given", ["{", "[]", '"x"', "nothing"])
def test_arguments_that_are_no_object_are_refused(run: Run, given: str) -> None:
    done = run("call", "notes__search_notes", given, "--json")
    assert (done.code, done.document["error"]) == (2, "usage")


def test_our_own_tool_can_be_called_too(run: Run) -> None:
    assert "notes" in run("call", "remora", '{"action": "status"}').out
