"""Who may import whom, and what may not be imported before it is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.architecture.source import REPOSITORY

HEAVY = ("pydantic", "apsw", "httpx2", "uvicorn", "tomlkit", "mcp", "remora.gateway", "remora.operations", "remora.app")


def test_the_import_contracts_hold() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([str(lint)], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def imported_by(statement: str) -> set[str]:
    """Everything in sys.modules after a statement in a fresh interpreter."""
    told = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport sys\nprint(*sys.modules, file=sys.stderr)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(told.stderr.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import remora",
        "import remora.__main__",
        "import remora.doors.cli.main",
        "from remora.doors.cli.main import main\nmain(['--help'])",
        "from remora.doors.cli.main import main\nmain(['version'])",
        "from remora.doors.cli.main import main\nmain(['config', 'schema'])",
    ],
)
def test_nothing_heavy_is_imported_before_the_command_is_known(statement: str) -> None:
    assert imported_by(statement) & set(HEAVY) == set()


def test_a_pipe_does_not_cost_the_command_line() -> None:
    """`remora mcp` is parsed without click."""
    assert not {"click", "mcp"} & imported_by("import remora.doors.mcp.command, remora.doors.serve")


def test_the_sdk_is_nowhere_imported_at_run_time() -> None:
    everything = "import pkgutil, importlib, remora\n" + (
        "for found in pkgutil.walk_packages(remora.__path__, 'remora.'):\n"
        "    found.name.endswith('__main__') or importlib.import_module(found.name)"
    )
    assert not {"mcp", "mcp_types", "fastmcp"} & imported_by(everything)
