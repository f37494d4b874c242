"""Changes in the text of a TOML file that leave every other line as it is. Pure functions.

Values that stand in the file are replaced and dropped by tomlkit. New lines and whole sections are placed by line,
because a comment above a header belongs to that header and must stay with it.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from remora.config.outline import KeyPath, dotted, outline
from remora.errors import ConfigError, UsageError


def put(text: str, parts: Sequence[str], value: Any) -> str:
    """Set a key; tables around it are made as needed."""
    expected = tomllib.loads(text)
    known = has(expected, parts)
    here: Any = expected
    for part in parts[:-1]:
        here = here.setdefault(part, {})
        if not isinstance(here, dict):
            raise UsageError(f'"{part}" in "{dotted(parts)}" is not a table')
    here[parts[-1]] = copy.deepcopy(list(value) if isinstance(value, tuple) else value)
    ways = (_replace,) if known else (_insert, _replace)
    return _first_right((way(text, tuple(parts), here[parts[-1]]) for way in ways), expected, parts)


def drop(text: str, parts: Sequence[str]) -> str:
    """Take out a key or a whole table; comments that touch its sections go with it."""
    expected = tomllib.loads(text)
    if not has(expected, parts):
        return text
    here = expected
    for part in parts[:-1]:
        here = here[part]
    del here[parts[-1]]
    shorter = _cut_sections(text, tuple(parts))
    return _first_right([_delete(shorter, parts) if has(tomllib.loads(shorter), parts) else shorter], expected, parts)


def has(data: Any, parts: Sequence[str]) -> bool:
    for part in parts:
        if not isinstance(data, dict) or part not in data:
            return False
        data = data[part]
    return True


def _first_right(texts: Iterable[str], expected: dict[str, Any], parts: Sequence[str]) -> str:
    """The first text that says exactly what was meant, whatever form the file has."""
    for text in texts:
        try:
            actual = here = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue
        for part in parts[:-1]:
            here = here.setdefault(part, {})  # a table with nothing in it may or may not be written
        if actual == expected:
            return text
    raise ConfigError(f'"{dotted(parts)}" stands in the file in a form that only an editor can change')


def _replace(text: str, parts: KeyPath, value: Any) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    here: Any = document
    for part in parts[:-1]:
        here = here.setdefault(part, tomlkit.table())
    here[parts[-1]] = value
    return tomlkit.dumps(document)


def _delete(text: str, parts: Sequence[str]) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    here: Any = document
    for part in parts[:-1]:
        here = here[part]
    del here[parts[-1]]
    return tomlkit.dumps(document)


def _insert(text: str, parts: KeyPath, value: Any) -> str:
    """Add a key at the end of its section, or a section after the last one of its kin."""
    sections = _sections(text)
    paths = [path for path, _ in sections]
    table = parts[:-1]
    if isinstance(value, Mapping) and not _fits_a_line(parts, value):
        lines, near = _section(parts, value), _kin(paths, parts)
    elif table in paths:
        lines, near = [_line(parts[-1], value)], paths.index(table)
    else:
        lines, near = _section(table, {str(parts[-1]): value}), _kin(paths, table)
    body = sections[near][1]
    end, is_section = _body_end(body), lines[0].startswith("[")
    if is_section and end:
        lines.insert(0, "")
    rest = body[end:]
    if not rest and (is_section or near in (0, len(sections) - 1)):
        rest = [""]  # a distance to what follows, or the last line's end
    ending = "\r" if "\r\n" in text else ""
    body[end:] = [*(line + ending for line in lines), *rest]
    return "\n".join(line for _, lines in sections for line in lines)


def _kin(paths: list[KeyPath], parts: KeyPath) -> int:
    """The last section that shares most of the path; the last of the file if none does."""
    alike = ([a == b for a, b in zip(path, parts, strict=False)] for path in paths)
    shared = [(*each, False).index(False) for each in alike]
    most = max(shared)
    return max(at for at, count in enumerate(shared) if count == most)


def _cut_sections(text: str, path: KeyPath) -> str:
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


def _section(path: KeyPath, values: Mapping[str, Any]) -> list[str]:
    inner = {
        name: each
        for name, each in values.items()
        if isinstance(each, Mapping) and not _fits_a_line((*path, name), each)
    }
    lines = [f"[{dotted(path)}]", *(_line(name, each) for name, each in values.items() if name not in inner)]
    for name, each in inner.items():
        lines += ["", *_section((*path, name), each)]
    return lines


def _fits_a_line(path: KeyPath, values: Mapping[str, Any]) -> bool:
    """Small tables stand on one line; top-level tables, servers and profiles never do."""
    return len(path) > 2 and not any(isinstance(each, Mapping) for each in values.values())


def _line(name: str | int, value: Any) -> str:
    import tomlkit

    if isinstance(value, Mapping):
        inner = ", ".join(_line(key, each) for key, each in value.items())
        return f"{dotted((name,))} = {{ {inner} }}" if inner else f"{dotted((name,))} = {{}}"
    return f"{dotted((name,))} = {tomlkit.item(value).as_string()}"
