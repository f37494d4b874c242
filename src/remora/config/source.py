"""Reading a TOML file, with errors that say where it is broken."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from remora.config.problems import InvalidConfig, Problem


def read_text(path: Path) -> str | None:
    """The text of a file; None if there is none."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as failure:
        raise InvalidConfig([Problem(str(path), None, "", "is not UTF-8 text")], path=str(path)) from failure
    except OSError as failure:
        problem = Problem(str(path), None, "", f"cannot be read: {failure.strerror}")
        raise InvalidConfig([problem], path=str(path)) from failure


def parse(text: str, path: Path) -> dict[str, Any]:
    """The tables of a TOML text, or an `InvalidConfig` with the line of the mistake."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as failure:
        message, _, place = str(failure).rstrip(")").rpartition(" (at ")
        found = re.match(r"line (\d+)", place)
        line = int(found[1]) if found else text.count("\n") + 1
        raise InvalidConfig([Problem(str(path), line, "", f"not valid TOML: {message}")], path=str(path)) from failure
