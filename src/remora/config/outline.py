"""How keys are spelled, and in which line of a TOML text each one stands."""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from remora.errors import UsageError

KeyPath = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}\r\n#]+")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|' + r"'''.*?'{3,5}|" + r'"(?:\\.|[^"\\\n])*"|' + r"'[^'\n]*'", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Header:
    """A `[table]` line of a file."""

    line: int
    path: KeyPath


@dataclass(frozen=True, slots=True)
class Outline:
    """Where things stand in a TOML text; lines count from 1."""

    lines: Mapping[KeyPath, int]
    headers: tuple[Header, ...]

    def line(self, path: Sequence[str | int]) -> int | None:
        """The line of a key, or of the nearest table around it."""
        for end in range(len(path), 0, -1):
            if found := self.lines.get(tuple(path[:end])):
                return found
        return None


def outline(text: str) -> Outline:
    """Find every key of a valid TOML text; the standard parser gives no positions."""
    scanner = _Scanner(text)
    scanner.document()
    return Outline(scanner.lines, tuple(scanner.headers))


def dotted(path: Sequence[str | int]) -> str:
    """Spell a path as TOML does, with list positions as `[n]`."""
    spelled = ""
    for part in path:
        if isinstance(part, int):
            spelled += f"[{part}]"
        else:
            spelled += "." * bool(spelled) + (part if _BARE.fullmatch(part) else json.dumps(part, ensure_ascii=False))
    return spelled


def split_key(text: str) -> tuple[str, ...]:
    """Read a key as spelled by `dotted` or typed by a person."""
    scanner = _Scanner(text)
    try:
        parts = scanner.key()
    except ValueError:
        parts = ()
    if not parts or scanner.at != len(text):
        raise UsageError(f"{text!r} is not a key; keys look like gateway.max_retries")
    return parts


class _Scanner:
    """Walks a text that the standard parser has accepted, so it need not complain about much."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self.headers: list[Header] = []
        self._newlines = [match.start() for match in re.finditer("\n", text)]
        self._last_index: dict[KeyPath, int] = {}

    def document(self) -> None:
        table: KeyPath = ()
        while self._skip(_BLANK) < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def key(self) -> tuple[str, ...]:
        parts: list[str] = []
        while True:
            self._skip(_SPACE)
            if self.text[self.at : self.at + 1] in ("'", '"'):
                parts.append(tomllib.loads(f"key = {self._match(_STRING)}")["key"])
            else:
                parts.append(self._match(_BARE))
            self._skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return tuple(parts)
            self.at += 1

    def _header(self) -> KeyPath:
        line, many = self._line(), self.text.startswith("[[", self.at)
        self.at += 1 + many
        *above, last = self.key()
        self.at += 1 + many
        path: KeyPath = ()
        for part in above:
            path = (*path, part)
            self._record(path, line)
            path = (*path, self._last_index[path]) if path in self._last_index else path
        path = (*path, last)
        self._record(path, line)
        if many:
            self._last_index[path] = self._last_index.get(path, -1) + 1
            path = (*path, self._last_index[path])
            self._record(path, line)
        self.headers.append(Header(line, path))
        return path

    def _pair(self, table: KeyPath) -> None:
        line, path = self._line(), table
        for part in self.key():
            path = (*path, part)
            self._record(path, line)
        self.at += 1  # the sign =
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        self._skip(_SPACE)
        match self.text[self.at]:
            case "[":
                self.at += 1
                index = 0
                while not self._closes("]"):
                    self._record((*path, index), self._line())
                    self._value((*path, index))
                    index += 1
            case "{":
                self.at += 1
                while not self._closes("}"):
                    self._pair(path)
            case '"' | "'":
                self._match(_STRING)
            case _:
                self._match(_SCALAR)

    def _closes(self, bracket: str) -> bool:
        """Step over blanks and a comma; true when the collection ends here."""
        self._skip(_BLANK)
        if self.text[self.at] == ",":
            self.at += 1
            self._skip(_BLANK)
        if self.text[self.at] != bracket:
            return False
        self.at += 1
        return True

    def _record(self, path: KeyPath, line: int) -> None:
        self.lines.setdefault(path, line)

    def _line(self) -> int:
        return bisect_right(self._newlines, self.at - 1) + 1

    def _skip(self, pattern: re.Pattern[str]) -> int:
        self._match(pattern)
        return self.at

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if not found:
            raise ValueError(f"unexpected text at {self.at}")
        self.at = found.end()
        return found.group()
