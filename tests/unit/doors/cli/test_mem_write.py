from __future__ import annotations

import io
from pathlib import Path

import pytest
from tests.unit.doors.cli.conftest import Run


def stored(run: Run, *words: str) -> str:
    return str(run("mem", "store", *words, "--json").document["id"])


def test_what_became_of_a_text_is_said(run: Run, words_alone: None) -> None:
    assert run("mem", "store", "the rate limit is 100").out.startswith("Stored 01")
    assert run("remember", "the rate limit is 100").out.startswith("Merged into 01")
    assert run("mem", "store", "the rate limit is now 200").out.startswith("Superseded 01")
    run("mem", "store", "prefers dark mode", "--key", "user.theme")
    done = run("mem", "store", "prefers light mode", "--key", "user.theme")
    assert done.out.startswith("Updated 01")
    assert done.out.endswith("(v2)\n")


def test_texts_come_from_files_and_pipes(
    run: Run, words_alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "note.txt").write_text("a note\nin two lines\n")
    assert run("mem", "store", "--from-file", str(tmp_path / "note.txt")).code == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("piped words"))
    assert run("mem", "store", "-").code == 0
    contents = {one["content"] for one in run("mem", "list", "--json").document["memories"]}
    assert contents == {"a note\nin two lines", "piped words"}
    assert run("mem", "store").code == 2
    assert run("mem", "store", "x", "--metadata", "[]").code == 2


def test_warnings_go_to_stderr(run: Run, words_alone: None) -> None:
    done = run("mem", "store", "odd thing", "--kind", "wobble")
    assert 'kind "wobble" is unknown' in done.err
    assert done.out.startswith("Stored")


def test_fields_change(run: Run, words_alone: None) -> None:
    id_ = stored(run, "tabs are four wide", "--tag", "style")
    done = run("mem", "update", id_, "tabs are two wide", "--add-tag", "editor", "--reason", "settled", "--pin")
    assert done.out.startswith(f"Updated {id_} (v2, operation ")
    memory = run("mem", "show", id_, "--json").document["memory"]
    assert (memory["content"], memory["tags"], memory["pinned"]) == ("tabs are two wide", ["style", "editor"], True)
    assert run("mem", "update", id_).code == 2
    assert run("mem", "update", id_, "x y", "--if-version", "1").code == 1


def test_forgetting_and_bringing_back(run: Run, words_alone: None) -> None:
    id_ = stored(run, "a passing thought")
    assert run("forget", id_[:14]).out.startswith(f"Forgot {id_} (operation ")
    assert run("mem", "search", "thought").out == "No matches.\n"
    assert run("mem", "restore", f"#{id_[-6:]}").out.startswith(f"Restored {id_}")
    assert run("forget", id_, "--archive").code == 0
    assert run("undo").out.startswith("Undid 1 operation")
    refused = run("forget", id_, "--hard")
    assert refused.code == 6
    assert run("forget", id_, "--hard", "--yes").code == 0
    assert run("forget", "01KVF2CKW772AAAAAAAAAAAAA1").code == 1


def test_everything_below_a_key(run: Run, words_alone: None) -> None:
    for key, text in (("user", "is tall"), ("user.food", "likes rice"), ("users.all", "are many")):
        run("mem", "store", text, "--key", key)
    assert "Forgot" in run("mem", "forget-prefix", "user.").out
    assert [one["subject_key"] for one in run("mem", "list", "--json").document["memories"]] == ["users.all"]
    assert run("mem", "forget-prefix", ".").code == 2
    assert run("mem", "forget-prefix", "users", "--hard").code == 6
    assert run("mem", "forget-prefix", "users.", "--hard", "--yes").code == 0
