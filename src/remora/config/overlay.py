"""Values laid over the file: from `REMORA_…` variables and from flags. Pure functions."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from remora.config.keys import annotation_at, fields, flatten, nearest, parse_value
from remora.config.outline import dotted

_PREFIX = "REMORA_"
_NOT_CONFIG = frozenset(
    {
        "HOME",
        "CONFIG",
        "DAEMON",
        "PROFILE",
        "PROJECT",
        "COMPAT",
        "TOKEN",
        "NO_TUI",
        "API_KEY",
        "SECRET_KEY",
        "INCOGNITO",
    }
)


@dataclass(frozen=True, slots=True)
class Override:
    path: tuple[str, ...]
    value: Any
    source: str


def from_environment(environ: Mapping[str, str], data: Mapping[str, Any]) -> tuple[list[Override], list[str]]:
    """What the environment sets, and a warning for each name of ours that sets nothing."""
    overrides, warnings = list[Override](), list[str]()
    for variable in sorted(environ):
        name = variable[len(_PREFIX) :]
        if not variable.upper().startswith(_PREFIX) or name.upper() in _NOT_CONFIG:
            continue
        path = _path(name.split("__"), data)
        if annotation_at(path) is None:
            close = nearest(name, _variables(data))
            hint = f"; did you mean {_PREFIX}{close}?" if close else ""
            warnings.append(f"{variable} fits no configuration key{hint}")
        else:
            overrides.append(Override(path, parse_value(path, environ[variable]), f"env:{variable}"))
    return overrides, warnings


def merge(data: Mapping[str, Any], overrides: Iterable[Override]) -> tuple[dict[str, Any], dict[str, str]]:
    """The data with everything laid over it, and for each key that is set the source of its value."""
    merged = copy.deepcopy(dict(data))
    origins = {dotted(path): "file" for path, _ in flatten(merged)}
    for override in overrides:
        _lay(merged, override.path, override.value)
        leaves = flatten(override.value) if isinstance(override.value, Mapping) else [((), None)]
        origins.update({dotted((*override.path, *leaf)): override.source for leaf, _ in leaves})
    present = {dotted(path) for path, _ in flatten(merged)}
    return merged, {key: source for key, source in origins.items() if key in present}


def _lay(data: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for part in path[:-1]:
        below = data.setdefault(part, {})
        if not isinstance(below, dict):
            return  # the file has something else where a table should be; that is reported by itself
        data = below
    known = data.get(path[-1])
    if isinstance(value, Mapping) and isinstance(known, dict):
        for name, inner in value.items():
            _lay(known, (name,), inner)
    else:
        data[path[-1]] = copy.deepcopy(value)


def _path(words: list[str], data: Any) -> tuple[str, ...]:
    """Words of a variable as a key: known names are met in any case, `-` and `.` may be written `_`."""
    path: tuple[str, ...] = ()
    for word in words:
        here = annotation_at(path)
        known = list(data) if isinstance(data, dict) else []
        if hasattr(here, "model_fields"):
            name = word.lower()
        elif met := [key for key in known if _plain(key) == _plain(word)]:
            name = met[0]
        else:
            # Names of servers, profiles and tools are written small; names of variables and headers as they are.
            name = word.lower() if annotation_at((*path, word)) not in (str, Any) else word
        path = (*path, name)
        data = data.get(name) if isinstance(data, dict) else None
    return path


def _plain(word: str) -> str:
    return "".join(sign if sign.isalnum() else "_" for sign in word.casefold())


def _variables(data: Mapping[str, Any]) -> list[str]:
    """Every variable that would set something, without our prefix, for the names in use."""
    found = []
    for path, _ in fields():
        names = [path]
        if "NAME" in path:
            table = data.get(path[0])
            names = [(path[0], name, *path[2:]) for name in (table if isinstance(table, dict) else {})]
        found += ["__".join(_plain(part) for part in key).upper() for key in names]
    return found
