"""The source files under test, read once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
SOURCE = REPOSITORY / "src" / "remora"


@dataclass(frozen=True)
class Module:
    path: Path

    @property
    def name(self) -> str:
        """As it is seen from src/remora: `gateway/wire/lines.py`."""
        return self.path.relative_to(SOURCE).as_posix()

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node


MODULES = [Module(path) for path in sorted(SOURCE.rglob("*.py"))]
