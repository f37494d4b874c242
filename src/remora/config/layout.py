"""Changes in the text of a TOML file that leave every other line as it is. Pure functions.

Values that stand in the file are replaced and dropped by tomlkit. New lines and whole sections are placed by line,
because a comment above a header belongs to that header and must stay with it.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from remora.config.outline import KeyPath, dotted, outline
from remora.errors import ConfigError, UsageError


def put(text: str, parts: Sequence[str], value: Any) -> str:
    """Set a key; tables around it are made as needed."""
    path, text, line_end = tuple(parts), text.replace("\r\n", "\n"), _line_end(text)
    expected = tomllib.loads(text)
    known = has(expected, path)
    here: Any = expected
    for part in path[:-1]:
        here = here.setdefault(part, {})
        if not isinstance(here, dict):
            raise UsageError(f'"{part}" in "{dotted(path)}" is not a table')
    here[path[-1]] = value = copy.deepcopy(list(value) if isinstance(value, tuple) else value)
    ways = [partial(_replace, text, path, value)]
    if not known:
        ways.insert(0, partial(_insert, text, path, value))
    return _first_right(ways, expected, path).replace("\n", line_end)


def drop(text: str, parts: Sequence[str]) -> str:
    """Take out a key or a whole table; comments that touch its sections go with it."""
    path, text, line_end = tuple(parts), text.replace("\r\n", "\n"), _line_end(text)
    expected = tomllib.loads(text)
    if has(expected, path):
        here = expected
        for part in path[:-1]:
            here = here[part]
        del here[path[-1]]
        # A table may stand in sections, in dotted keys or on one line, and in more than one of these ways.
        cut = partial(_cut_sections, text, path)
        text = _first_right([cut, lambda: _delete(cut(), path), partial(_delete, text, path)], expected, path)
    return text.replace("\n", line_end)


def has(data: Any, parts: Sequence[str]) -> bool:
    for part in parts:
        if not isinstance(data, dict) or part not in data:
            return False
        data = data[part]
    return True


def _first_right(ways: Sequence[Callable[[], str]], expected: dict[str, Any], path: tuple[str, ...]) -> str:
    """The first text that says exactly what was meant, whatever form the file has."""
    from tomlkit.exceptions import TOMLKitError

    for way in ways:
        try:
            text = way()
            actual = here = tomllib.loads(text)
            for part in path[:-1]:
                here = here.setdefault(part, {})  # a table with nothing in it may or may not be written
        except (TOMLKitError, ValueError, LookupError, TypeError, AttributeError):
            continue  # tomlkit fails in many ways on tables written in several places
        if actual == expected:
            return text
    raise ConfigError(f'"{dotted(path)}" stands in the file in a form that only an editor can change')


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _replace(text: str, path: tuple[str, ...], value: Any) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    here: Any = document
    for part in path[:-1]:
        inline = isinstance(here, tomlkit.items.InlineTable)
        here = here.setdefault(part, tomlkit.inline_table() if inline else tomlkit.table())
    here[path[-1]] = value
    return tomlkit.dumps(document)


def _delete(text: str, path: tuple[str, ...]) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    here: Any = document
    for part in path[:-1]:
        here = here[part]
    del here[path[-1]]
    return tomlkit.dumps(document)


def _insert(text: str, path: tuple[str, ...], value: Any) -> str:
    """Add a key at the end of its section, or a section after the last one of its kin."""
    sections = _sections(text)
    known, table = [each for each, _ in sections], path[:-1]
    if isinstance(value, Mapping) and not _fits_a_line(path, value):
        lines, near = _section(path, value), _kin(known, path)
    elif table in known:
        lines, near = [_line(path[-1], value)], known.index(table)
    else:
        lines, near = _section(table, {path[-1]: value}), _kin(known, table)
    body = sections[near][1]
    end, is_section = _body_end(body), lines[0].startswith("[")
    if is_section and end:
        lines.insert(0, "")
    rest = body[end:]
    if not rest and (is_section or near in (0, len(sections) - 1)):
        rest = [""]  # a distance to what follows, or the last line's end
    body[end:] = [*lines, *rest]
    return "\n".join(line for _, lines in sections for line in lines)


def _kin(known: list[KeyPath], path: tuple[str, ...]) -> int:
    """The last section that shares most of the path; the last of the file if none does."""
    alike = ([a == b for a, b in zip(each, path, strict=False)] for each in known)
    shared = [(*each, False).index(False) for each in alike]
    most = max(shared)
    return max(at for at, count in enumerate(shared) if count == most)


def _cut_sections(text: str, path: tuple[str, ...]) -> str:
    lines: list[str] = []
    for here, section in _sections(text):
        lines += _loose_end(section) if here[: len(path)] == path else section
    return "\n".join(lines)


def _sections(text: str) -> list[tuple[KeyPath, list[str]]]:
    """The text in parts: what stands before the first header, then one part per header."""
    lines = text.split("\n")
    headers = outline(text).headers
    starts = [_section_start(lines, header.line - 1) for header in headers]
    bounds = [0, *starts, len(lines)]
    paths: list[KeyPath] = [(), *(header.path for header in headers)]
    return [(path, lines[bounds[at] : bounds[at + 1]]) for at, path in enumerate(paths)]


def _section_start(lines: list[str], header: int) -> int:
    """Where a section begins: at the comments touching its header, unless they open the file."""
    start = header
    while start > 0 and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    return start if start > 0 else header


def _body_end(section: list[str]) -> int:
    """Where a section's own lines end, with the comments that touch them."""
    end = 1 + max((at for at, line in enumerate(section) if _says_something(line)), default=-1)
    while end < len(section) and section[end].strip():
        end += 1
    return end


def _loose_end(section: list[str]) -> list[str]:
    """The comments at the end of a section that stand apart from it."""
    tail = section[_body_end(section) :]
    return tail if any(line.strip() for line in tail) else []


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _section(path: tuple[str, ...], values: Mapping[str, Any]) -> list[str]:
    inner = {
        name: each
        for name, each in values.items()
        if isinstance(each, Mapping) and not _fits_a_line((*path, name), each)
    }
    lines = [f"[{dotted(path)}]", *(_line(name, each) for name, each in values.items() if name not in inner)]
    for name, each in inner.items():
        lines += ["", *_section((*path, name), each)]
    return lines


def _fits_a_line(path: tuple[str, ...], values: Mapping[str, Any]) -> bool:
    """Small tables stand on one line; top-level tables, servers and profiles never do."""
    return len(path) > 2 and not any(isinstance(each, Mapping) for each in values.values())


def _line(name: str, value: Any) -> str:
    import tomlkit

    if isinstance(value, Mapping):
        inner = ", ".join(_line(key, each) for key, each in value.items())
        return f"{dotted((name,))} = {{ {inner} }}" if inner else f"{dotted((name,))} = {{}}"
    return f"{dotted((name,))} = {tomlkit.item(value).as_string()}"
