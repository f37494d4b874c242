from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.doors.cli.conftest import Run

from remora.doors.cli.main import COMMANDS


def stored(run: Run, *words: str) -> str:
    return str(run("mem", "store", *words, "--json").document["id"])


def test_lines_of_a_list(run: Run, words_alone: None, home: Path) -> None:
    assert run("mem", "list").out == "No memories yet. Run `remora mem init` then store something.\n"
    assert not (home / "memory.db").exists()
    id_ = stored(run, "prefers dark mode", "--key", "user.theme", "--importance", "0.8")
    assert run("mem", "list").out == f"  {id_[:12]}  fact    imp=0.80  [user.theme] prefers dark mode\n"
    assert run("mem", "list", "--kind", "event").out == "No matches.\n"
    assert run("mem", "list", "--kind", "nonsense").code == 2


def test_lines_of_a_search(run: Run, words_alone: None) -> None:
    id_ = stored(run, "the parser is written in Rust")
    line = f"  1. {id_[:12]}  fact    imp=0.50  the parser is written in Rust\n"
    assert run("mem", "search", "parser").out == line
    assert run("recall", "parser").out == line
    assert re.search(r"score 0\.\d+; ", run("mem", "search", "parser", "--explain").out)
    assert run("mem", "search", "zebra").out == "No matches.\n"
    assert run("mem", "search", "parser", "--time", "blargh").code == 2


def test_all_that_is_known_of_one(run: Run, words_alone: None) -> None:
    a = stored(run, "the disk was full\non friday", "--tag", "ops")
    b = stored(run, "the build failed")
    run("mem", "graph", "add", a, b, "--type", "causes")
    told = run("show", a, "--all").out
    assert told.startswith(f"Memory {a}\n  kind:")
    assert "\n\n  content:\n    the disk was full\n    on friday\n" in told
    assert f"causes to {b}" in told
    assert "  versions:\n" in told
    missing = run("show", "01KVF2CKW772AAAAAAAAAAAAA1")
    assert (missing.code, missing.out) == (1, "")


def test_history_blame_and_log(run: Run, words_alone: None) -> None:
    id_ = stored(run, "the limit is 100", "--key", "api.limit")
    run("mem", "store", "the limit is 200", "--key", "api.limit")
    assert "the limit is [-100-]{+200+}" in run("history", id_, "--diff").out
    assert "the limit is 200" in run("mem", "blame", id_).out
    assert [op["kind"] for op in run("mem", "audit", "--json").document["operations"]] == ["update", "create"]


def test_as_it_was(run: Run, words_alone: None) -> None:
    id_ = stored(run, "the limit is 100", "--key", "api.limit")
    then = run("history", id_, "--json").document["versions"][0]["at"]
    run("mem", "store", "the limit is 200", "--key", "api.limit")
    assert "the limit is 100" in run("mem", "as-of", then, "list").out
    assert "the limit is 100" in run("mem", "as-of", then, "show", id_).out
    assert "the limit is 200" in run("mem", "list").out


def test_what_is_known_of_you(run: Run, words_alone: None) -> None:
    assert run("about").out == "Nothing is known yet.\n"
    run("mem", "store", "prefers dark mode", "--key", "user.theme")
    assert run("about").out.startswith("You\n  01")


@pytest.mark.parametrize(
    "name", ["remember", "recall", "forget", "show", "history", "undo", "graph", "pending", "about"]
)
def test_the_shortcuts_are_there(name: str) -> None:
    assert name in COMMANDS
