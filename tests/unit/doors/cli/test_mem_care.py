from __future__ import annotations

from pathlib import Path

from tests.unit.doors.cli.conftest import Run


def test_a_store_is_made_once(run: Run, words_alone: None, home: Path) -> None:
    assert run("mem", "init").out == f"Initialized remora at {home / 'memory.db'}\n"
    again = run("mem", "init")
    assert (again.code, again.out) == (1, f"There is a memory at {home / 'memory.db'} already\n")
    assert run("mem", "init", "--force").code == 0
    assert (home / "memory.db").stat().st_mode & 0o077 == 0


def test_another_store(run: Run, words_alone: None, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    run("mem", "init", str(other))
    run("mem", "store", "kept elsewhere", "--store", str(other))
    assert "kept elsewhere" in run("mem", "list", str(other)).out
    assert run("mem", "list").out.startswith("No memories yet.")


def test_counts_and_checks(run: Run, words_alone: None) -> None:
    run("mem", "store", "one thing")
    assert run("mem", "stats").out.startswith("memories    1 live (1 active)\n")
    checked = run("mem", "verify", "--deep", "--repair")
    assert checked.code == 0
    assert "[ok] integrity — ok" in checked.out
    assert "[warn] embedder" in checked.out
    assert run("mem", "reembed").code == 2  # there is no encoder


def test_a_file_that_is_no_store_is_told(run: Run, words_alone: None, tmp_path: Path) -> None:
    (tmp_path / "no.db").write_text("this is a text file, and a long one at that" * 99)
    failed = run("mem", "stats", str(tmp_path / "no.db"))
    assert failed.code == 3
    assert failed.err.startswith("remora: ")
