"""`remora mcp`: parsed here with the standard library, so that a session starts without the command line's imports."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from remora.config.load import load_for_gateway, surroundings
from remora.errors import RemoraError


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="remora mcp", description="Serve MCP on stdin and stdout.")
    made.add_argument("--home", type=Path, help="home folder (default: REMORA_HOME or ~/.remora)")
    made.add_argument("--config", type=Path, help="config file (default: REMORA_CONFIG or config.toml in the home)")
    made.add_argument("--profile", default="", help="a profile of the config: which servers and tools are seen")
    made.add_argument("--project", default="", help="project folder (default: found from the working directory)")
    made.add_argument("--catalog", default="", choices=["slim", "full", "lazy"], help="how tools are listed")
    return made


def run(arguments: list[str]) -> int:
    given = parser().parse_args(arguments)
    try:
        around = surroundings()
        loaded = load_for_gateway(given.home, given.config)
        from remora.doors.serve import main_stdio, view_key

        view = view_key(around, given.profile, given.project, given.catalog, Path.cwd())
        return main_stdio(loaded, around, view)
    except RemoraError as problem:
        print(f"remora: {problem}", file=sys.stderr)
        return problem.exit_code
