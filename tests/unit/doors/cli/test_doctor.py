from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from tests.unit.doors.cli.conftest import Run
from tests.unit.doors.cli.test_look import DEAD, NOTES

Write = Callable[[str], Path]


def checks(run: Run, *words: str) -> dict[str, str]:
    return {check["id"]: check["status"] for check in run("doctor", "--json", *words).document["checks"]}


def test_a_home_that_is_not_there_is_in_order_and_stays_away(run: Run, home: Path) -> None:
    done = run("doctor")
    assert (done.code, done.out.splitlines()[-1]) == (0, "Everything is in order.")
    assert not home.exists()


def test_servers_are_asked(run: Run, config: Write) -> None:
    config(NOTES + DEAD)
    done = run("doctor")
    assert done.code == 1
    assert "ok    server notes  3 tools, 2025-11-25," in done.out
    assert "there is no program /nonexistent/program on PATH" in done.out
    assert "1 of " in done.out.splitlines()[-1]


def test_an_invalid_configuration_is_a_finding_of_its_own(run: Run, config: Write) -> None:
    path = config("max = 1\n")
    done = run("doctor", "--json")
    assert done.code == 1
    found = [check for check in done.document["checks"] if check["status"] == "fail"]
    assert found[0]["detail"].startswith(f"{path}:1: max: unknown key")


def test_fix_mends_what_is_safe(run: Run, config: Write, home: Path) -> None:
    config(NOTES)
    (home / "run").mkdir()
    (home / "run" / "daemon.json").write_text(json.dumps({"pid": 1}))
    os.chmod(home, 0o755)
    assert (checks(run)["permissions"], checks(run)["engine"]) == ("warn", "warn")
    assert (checks(run, "--fix")["permissions"], checks(run)["engine"]) == ("ok", "ok")
    assert home.stat().st_mode & 0o777 == 0o700
    assert not (home / "run" / "daemon.json").exists()
