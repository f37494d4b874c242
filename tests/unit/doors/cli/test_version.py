from __future__ import annotations

import platform

from tests.unit.doors.cli.conftest import Run

from remora import __version__
from remora.doors.cli.version import installed


def test_the_version_is_one_line(run: Run) -> None:
    assert run("version").out == f"remora {__version__}\n"


def test_json_names_what_it_runs_on(run: Run) -> None:
    document = run("version", "--json").document
    assert document["remora"] == __version__
    assert document["python"] == platform.python_version()
    assert document["protocols"][-1] == "2026-07-28"
    assert document["extras"] == {"otel": True}
    assert tuple(map(int, document["sqlite"].split("."))) >= (3, 51, 3)


def test_an_extra_that_is_missing_is_told() -> None:
    assert installed("json.decoder")
    assert not installed("no_such_module")
    assert not installed("no_such_package.module")
