"""Rules of the code that no linter knows."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from tests.architecture.source import MODULES, Module

READS_ENVIRONMENT = "config/load.py"
BROAD_PER_THOUSAND_LINES = 1.0


def places(find: Callable[[Module], list[int]], *allowed: str) -> list[str]:
    return [f"{module.name}:{line}" for module in MODULES if module.name not in allowed for line in find(module)]


def test_the_environment_is_read_in_one_place() -> None:
    """Everything else is given what it needs."""
    assert places(_environ, READS_ENVIRONMENT) == []


def _environ(module: Module) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute)
        and node.attr in ("environ", "environb", "getenv", "putenv")
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
    ]


def test_a_broad_except_says_why() -> None:
    def silent(module: Module) -> list[int]:
        lines = module.text.splitlines()
        return [line for line in _broad(module) if "#" not in lines[line - 1]]

    assert places(silent) == []


def test_broad_excepts_are_rare() -> None:
    lines = sum(len(module.text.splitlines()) for module in MODULES)
    assert len(places(_broad)) / lines * 1000 <= BROAD_PER_THOUSAND_LINES


def _broad(module: Module) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "Exception"))
    ]


def test_nothing_is_left_for_later() -> None:
    assert places(lambda module: _matching(module, r"\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b")) == []


def test_output_is_words() -> None:
    """No emoji, in code or in what it prints."""
    assert places(lambda module: _matching(module, "[\U0001f000-\U0001faff\u2600-\u27bf]")) == []


def _matching(module: Module, pattern: str) -> list[int]:
    return [number for number, line in enumerate(module.text.splitlines(), 1) if re.search(pattern, line)]
