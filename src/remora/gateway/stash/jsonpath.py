"""JSONPath (RFC 9535): names, wildcards, indices, slices, descendants, filters with comparison and logic."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from remora.gateway.compression.formats.values import Number


class PathError(ValueError):
    """What is wrong with a path, and where."""


Select = Callable[[Any, Any], Iterator[Any]]  # (root, node) -> nodes
_TOKEN = re.compile(
    r"""\s*(?:(?P<op>\|\||&&|==|!=|<=|>=|<|>|!|\(|\))|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<word>true|false|null)\b|(?P<path>[@$]))""",
    re.X,
)
_NOTHING = object()


def find(document: Any, path: str) -> list[Any]:
    """Every value the path selects, in document order."""
    reader = _Reader(path)
    reader.expect("$")
    steps = reader.segments()
    if reader.at < len(path.rstrip()):
        raise reader.error("expected . or [")
    return list(_walk(document, document, steps))


def _walk(root: Any, node: Any, steps: list[Select]) -> Iterator[Any]:
    nodes: list[Any] = [node]
    for step in steps:
        nodes = [found for one in nodes for found in step(root, one)]
    return iter(nodes)


def _children(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        yield from node.values()
    elif isinstance(node, list):
        yield from node


def _descendants(node: Any) -> Iterator[Any]:
    yield node
    for child in _children(node):
        yield from _descendants(child)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = len(text) - len(text.lstrip())

    def error(self, reason: str) -> PathError:
        return PathError(f"{reason} at position {self.at}")

    def expect(self, mark: str) -> None:
        if not self.text.startswith(mark, self.at):
            raise self.error(f"expected {mark}")
        self.at += len(mark)

    def skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def segments(self) -> list[Select]:
        steps: list[Select] = []
        while True:
            if self.text.startswith("..", self.at):
                self.at += 2
                inner = self.bracket() if self.text.startswith("[", self.at) else self.name()
                steps.append(_deep(inner))
            elif self.text.startswith(".", self.at):
                self.at += 1
                steps.append(self.name())
            elif self.text.startswith("[", self.at):
                steps.append(self.bracket())
            else:
                return steps

    def name(self) -> Select:
        if self.text.startswith("*", self.at):
            self.at += 1
            return lambda root, node: _children(node)
        found = re.compile(r"[^\W\d][\w-]*").match(self.text, self.at)
        if not found:
            raise self.error("expected a name or *")
        self.at = found.end()
        return _member(found[0])

    def bracket(self) -> Select:
        self.expect("[")
        choices = [self.selector()]
        self.skip()
        while self.text.startswith(",", self.at):
            self.at += 1
            choices.append(self.selector())
            self.skip()
        self.expect("]")
        return lambda root, node: (found for choice in choices for found in choice(root, node))

    def selector(self) -> Select:
        self.skip()
        if self.text.startswith("*", self.at):
            self.at += 1
            return lambda root, node: _children(node)
        if self.text.startswith("?", self.at):
            self.at += 1
            test = self.either()
            return lambda root, node: (child for child in _children(node) if test(root, child))
        if self.text[self.at : self.at + 1] in ("'", '"'):
            return _member(self.string())
        found = re.compile(r"(-?\d+)?\s*(:)?\s*(-?\d+)?\s*(?::\s*(-?\d+)?)?").match(self.text, self.at)
        if not found or not (found[1] or found[2]):
            raise self.error("expected a name in quotes, an index, a slice, * or ?")
        self.at = found.end()
        if not found[2]:
            index = int(found[1])
            return lambda root, node: iter(
                [node[index]] if isinstance(node, list) and -len(node) <= index < len(node) else []
            )
        cut = slice(*(int(g) if g else None for g in (found[1], found[3], found[4])))
        if cut.step == 0:
            return lambda root, node: iter([])
        return lambda root, node: iter(node[cut] if isinstance(node, list) else [])

    def string(self) -> str:
        found = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'").match(self.text, self.at)
        if not found:
            raise self.error("unfinished string")
        self.at = found.end()
        return _unquoted(found[0])

    # ------------------------------------------------------------ filters
    def either(self) -> Callable[[Any, Any], bool]:
        tests = [self.both()]
        while self.take("||"):
            tests.append(self.both())
        return lambda root, node: any(test(root, node) for test in tests)

    def both(self) -> Callable[[Any, Any], bool]:
        tests = [self.basic()]
        while self.take("&&"):
            tests.append(self.basic())
        return lambda root, node: all(test(root, node) for test in tests)

    def take(self, op: str) -> bool:
        found = _TOKEN.match(self.text, self.at)
        if found and found["op"] == op:
            self.at = found.end()
            return True
        return False

    def basic(self) -> Callable[[Any, Any], bool]:
        if self.take("!"):
            inner = self.basic()
            return lambda root, node: not inner(root, node)
        if self.take("("):
            inner = self.either()
            if not self.take(")"):
                raise self.error("expected )")
            return inner
        left, exists = self.operand()
        for op in ("==", "!=", "<=", ">=", "<", ">"):
            if self.take(op):
                right, _ = self.operand()
                return lambda root, node: _compare(op, left(root, node), right(root, node))
        if exists is None:
            raise self.error("expected a comparison")
        return exists

    def operand(self) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], bool] | None]:
        """(its value, whether it exists: only for paths)"""
        found = _TOKEN.match(self.text, self.at)
        if not found or found["op"]:
            raise self.error("expected @, $, or a literal")
        self.at = found.end()
        if found["path"]:
            steps, absolute = self.segments(), found["path"] == "$"

            def nodes(root: Any, node: Any) -> list[Any]:
                return list(_walk(root, root if absolute else node, steps))

            return (lambda root, node: next(iter(nodes(root, node)), _NOTHING)), (
                lambda root, node: bool(nodes(root, node))
            )
        literal: Any = {"true": True, "false": False, "null": None}.get(found["word"] or "", _NOTHING)
        if found["string"]:
            literal = _unquoted(found["string"])
        elif found["number"]:
            literal = Number(found["number"])
        return (lambda root, node: literal), None


def _member(name: str) -> Select:
    return lambda root, node: iter([node[name]] if isinstance(node, dict) and name in node else [])


def _deep(inner: Select) -> Select:
    return lambda root, node: (found for one in _descendants(node) for found in inner(root, one))


def _unquoted(quoted: str) -> str:
    if quoted[0] == "'":
        body = re.sub(r'\\\'|(?<!\\)"', lambda m: "'" if m[0] == "\\'" else '\\"', quoted[1:-1])
        quoted = f'"{body}"'
    try:
        found: str = json.loads(quoted)
    except ValueError as error:
        raise PathError(f"bad string {quoted}") from error
    return found


def _compare(op: str, left: Any, right: Any) -> bool:
    if op in ("==", "!="):
        return _same(left, right) == (op == "==")
    if op in ("<=", ">=") and _same(left, right):
        return True
    a, b = _ordered(left), _ordered(right)
    if a is None or b is None or type(a) is not type(b):
        return False
    return bool(a < b if op[0] == "<" else a > b)


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, Number) and isinstance(right, Number):
        return bool(_ordered(left) == _ordered(right))
    return type(left) is type(right) and bool(left == right)


def _ordered(value: Any) -> Any:
    if isinstance(value, Number):
        try:
            return Decimal(str(value))
        except InvalidOperation:
            return None
    return value if isinstance(value, str) else None
