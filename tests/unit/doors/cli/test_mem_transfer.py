from __future__ import annotations

import json
from pathlib import Path

from tests.unit.doors.cli.conftest import Run


def test_out_and_in_again(run: Run, words_alone: None, tmp_path: Path) -> None:
    run("mem", "store", "to be carried over", "--tag", "kept")
    lines = run("mem", "export").out.splitlines()
    assert [json.loads(line)["type"] for line in (lines[0], lines[-1])] == ["remora-export", "end"]
    file, other = tmp_path / "x.jsonl", tmp_path / "other.db"
    file.write_text("\n".join(lines) + "\n")
    assert run("mem", "import_data", str(other), str(file), "--dry-run").out.startswith(
        "Would import 1 memory from remora"
    )
    assert run("mem", "import_data", str(other), str(file)).out.startswith("Imported 1 memory from remora")
    assert run("mem", "import", str(other), str(file)).out.startswith("Imported 0 memories")
    assert "to be carried over" in run("mem", "list", str(other), "--namespace", "*").out
    assert run("mem", "export", "-o", str(tmp_path / "y.jsonl.gz")).out.startswith("Exported 1 memory")
    assert run("mem", "import", str(tmp_path / "none.jsonl")).code == 1
    assert run("mem", "import", "a", "b", "c").code == 2


def test_copies(run: Run, words_alone: None) -> None:
    assert run("mem", "backup", "list").out == "No backups yet.\n"
    run("mem", "store", "before the copy")
    path = run("mem", "backup", "now", "--json").document["path"]
    run("mem", "store", "said after the copy was made")
    assert run("mem", "backup", "verify", path).code == 0
    assert run("mem", "backup", "restore", path).code == 6
    assert "memories    2 -> 1" in run("mem", "backup", "restore", path, "--yes").out
    assert len(run("mem", "backup", "list", "--json").document["backups"]) == 2
