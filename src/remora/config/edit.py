"""Changes to a configuration file that keep its comments, its order and everything not touched."""

from __future__ import annotations

import fcntl
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from remora.config.check import check
from remora.config.files import stamp, write_private
from remora.config.keys import annotation_at, fields, nearest
from remora.config.layout import drop, has, put
from remora.config.model import Config, derived_prefix
from remora.config.outline import dotted, outline, split_key
from remora.config.problems import InvalidConfig, Problem
from remora.config.source import parse, read_text
from remora.errors import ConfigError, RemoraError, UsageError

BACKUPS_KEPT = 50

_ATTEMPTS = 5

Edit = Callable[[str], str]


def set_value(path: Path, key: str, value: Any, *, backups: Path | None = None) -> None:
    """Set one key; an unknown key is a `UsageError`, a value that does not fit an `InvalidConfig`."""
    parts = split_key(key)
    if annotation_at(parts) is None:
        close = nearest(key, (dotted(known) for known, _ in fields()))
        raise UsageError(f'unknown key "{key}"' + (f'; did you mean "{close}"?' if close else ""))
    _apply(path, lambda text: put(text, parts, value), backups)


def unset_value(path: Path, key: str, *, backups: Path | None = None) -> bool:
    """Take a key out of the file; false if it was not there."""
    parts = split_key(key)
    if annotation_at(parts) is None and not has(parse(_text(path), path), parts):
        raise UsageError(f'unknown key "{key}"')
    return _apply(path, lambda text: drop(text, parts), backups)


def add_server(
    path: Path, name: str, mapping: Mapping[str, Any], force: bool = False, *, backups: Path | None = None
) -> None:
    """Add a server; with `force` it takes the place of one of that name."""

    def edit(text: str) -> str:
        servers = tomllib.loads(text).get("servers", {})
        if not force and name in servers:
            raise UsageError(f'a server "{name}" exists already; --force replaces it')
        prefix = mapping.get("prefix") or derived_prefix(name)
        for other, entry in servers.items():
            taken = (entry.get("prefix") if isinstance(entry, dict) else "") or derived_prefix(other)
            if other != name and str(taken).lower() == prefix.lower():
                raise UsageError(f'the prefix "{prefix}" belongs to the server "{other}"; choose another with --prefix')
        return put(drop(text, ("servers", name)), ("servers", name), dict(mapping))

    _apply(path, edit, backups)


def remove_server(path: Path, name: str, *, backups: Path | None = None) -> None:
    _apply(path, lambda text: drop(text, ("servers", _known(text, name))), backups)


def set_enabled(path: Path, name: str, enabled: bool, *, backups: Path | None = None) -> None:
    _apply(path, lambda text: put(text, ("servers", _known(text, name), "enabled"), enabled), backups)


def _apply(path: Path, edit: Edit, backups: Path | None) -> bool:
    """Run the edit under a lock and replace the file; false if nothing changed.

    Editors do not take our lock: if the file changed meanwhile, the edit is made again on what it is now.
    """
    path = path.resolve()
    for _ in range(_ATTEMPTS):
        with _locked(path):
            seen, before = stamp(path), _text(path)
            parse(before, path)
            after = edit(before)
            if after == before:
                return False
            _refuse_invalid(path, before, after)
            if stamp(path) != seen:
                continue
            if seen:
                _back_up(before, path, backups or path.parent / "backups" / "config")
            write_private(path, after)
            return True
    raise ConfigError(f"{path} is being changed by somebody else; try again", path=str(path))


def _refuse_invalid(path: Path, before: str, after: str) -> None:
    """An edit must leave a valid file; on an invalid one it may also mend a part and leave the rest."""
    issues = check(Config, tomllib.loads(after))[1]
    if not issues:
        return
    known = {(issue.path, issue.message) for issue in check(Config, tomllib.loads(before))[1]}
    left = {(issue.path, issue.message) for issue in issues}
    if not left < known:
        place = outline(after)
        raise InvalidConfig(
            [Problem(str(path), place.line(each.path), dotted(each.path), each.message, each.hint) for each in issues],
            path=str(path),
        )


def _known(text: str, name: str) -> str:
    servers = tomllib.loads(text).get("servers", {})
    if name not in servers:
        close = nearest(name, servers)
        raise RemoraError(f'there is no server "{name}"' + (f'; did you mean "{close}"?' if close else ""))
    return name


def _text(path: Path) -> str:
    return read_text(path) or ""


def _back_up(text: str, path: Path, folder: Path) -> None:
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    write_private(folder / f"{moment}-{path.name}", text)
    for old in sorted(folder.glob(f"*-{path.name}"))[:-BACKUPS_KEPT]:
        old.unlink(missing_ok=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
