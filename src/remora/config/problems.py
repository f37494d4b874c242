"""What is wrong with a configuration, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from remora.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Problem:
    """`file` is a path, or the name of the variable or flag that a value came from; then there is no line."""

    file: str
    line: int | None
    path: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        key = f"{self.path}: " if self.path else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}: {key}{self.message}{hint}"


class InvalidConfig(ConfigError):
    """A configuration that was found but cannot be used; carries everything that is wrong with it."""

    def __init__(self, problems: Sequence[Problem], *, path: str | None = None) -> None:
        super().__init__("\n".join(map(str, problems)), path=path)
        self.problems = tuple(problems)
