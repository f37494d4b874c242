from __future__ import annotations

from pathlib import Path

from tests.unit.doors.cli.conftest import Run


def test_disagreements_are_shown_and_decided(run: Run, words_alone: None) -> None:
    assert run("mem", "conflicts").out == "No open conflicts.\n"
    old = run("mem", "store", "the rate limit is 100", "--json").document["id"]
    new = run("mem", "store", "the rate limit is 200", "--json").document["id"]
    told = run("mem", "conflicts").out
    assert f"* {new}" in told
    assert run("mem", "resolve", new, old).out.startswith("Resolved (batch ")
    assert run("mem", "conflicts").out == "No open conflicts.\n"


def test_tags_are_counted_renamed_and_removed(run: Run, words_alone: None) -> None:
    run("mem", "store", "snow is cold", "--tag", "wether")
    assert run("mem", "tags").out == "     1  wether\n"
    assert run("mem", "tags", "rename", "wether", "weather").out.startswith("Changed 1 memory")
    assert run("mem", "tags", "--json").document["tags"] == {"weather": 1}
    assert run("mem", "tags", "rm", "weather").code == 6
    assert run("mem", "tags", "rm", "weather", "--yes").code == 0
    assert run("mem", "tags").out == "No tags.\n"


def test_relations(run: Run, words_alone: None) -> None:
    a = run("mem", "store", "the disk was full", "--json").document["id"]
    b = run("mem", "store", "the build failed", "--json").document["id"]
    assert run("graph", "add", a, b, "--type", "causes").out == f"{a}  causes  {b}\n"
    assert run("graph", "list", b).out == f"{a}  causes  {b}\n"
    assert run("graph", "rm", a, b).out == "Disconnected.\n"
    assert run("graph", "list", b).out == "No relations.\n"


def test_the_mode_is_shown_and_set(run: Run, home: Path) -> None:
    assert run("mem", "mode").out == "memory mode auto\n"
    assert run("mem", "mode", "recall").out == "memory mode recall\n"
    assert run("mem", "mode", "--json").document == {"mode": "recall"}


def test_nothing_waits(run: Run, words_alone: None) -> None:
    assert run("pending").out == "Nothing there.\n"
    assert run("mem", "pending", "approve", "01KVF2CKW772AAAAAAAAAAAAA1").code == 1
    id_ = run("mem", "store", "not waiting", "--json").document["id"]
    assert run("mem", "pending", "reject", id_).code == 2
