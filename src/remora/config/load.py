"""Where configuration comes from: flags over environment over `config.toml` over defaults.

This is the only module that reads the environment; every other part is given what it needs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from remora.config.check import check
from remora.config.files import write_private
from remora.config.learning import COMPAT_NAMES
from remora.config.model import Config
from remora.config.outline import dotted, outline, split_key
from remora.config.overlay import Override, from_environment, merge
from remora.config.problems import InvalidConfig, Problem
from remora.config.source import parse, read_text
from remora.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Paths:
    """What lies where in the home folder."""

    home: Path

    @property
    def config(self) -> Path:
        return self.home / "config.toml"

    @property
    def run(self) -> Path:
        return self.home / "run"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def config_backups(self) -> Path:
        return self.home / "backups" / "config"

    @property
    def state_db(self) -> Path:
        return self.home / "state.db"

    @property
    def memory_db(self) -> Path:
        return self.home / "memory.db"

    @property
    def last_good(self) -> Path:
        return self.run / "config.last-good.json"

    def create(self) -> None:
        """Make the folders, for our user alone."""
        for folder in (self.home, self.run, self.logs, self.config_backups.parent, self.config_backups):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the environment says beside configuration."""

    daemon: Literal["auto", "off"] = "auto"
    profile: str = ""
    project: str = ""
    token: str = ""
    session: str = ""
    """The client's own name for this session."""
    compat: tuple[str, ...] = ()
    """Other gateways whose tools are offered too."""
    colour: bool = True
    variables: Mapping[str, str] = field(default_factory=dict)
    """Everything, for references in the configuration and for programs we start."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration in force, with where it came from and what was wrong."""

    config: Config
    paths: Paths
    path: Path
    """The file; it need not exist."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Per key that is set: `file`, `env:VARIABLE` or `flag`. The other keys have their defaults."""
    warnings: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    broken_servers: Mapping[str, str] = field(default_factory=dict)
    """Servers left out, with the reason; the others run."""
    mode: Literal["normal", "last_good", "safe"] = "normal"
    reason: str = ""
    """Why the mode is not normal."""
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The file as parsed."""


def home_dir(environ: Mapping[str, str] = os.environ) -> Path:
    if chosen := environ.get("REMORA_HOME"):
        return Path(chosen).expanduser().absolute()
    return Path(environ.get("HOME") or Path.home()) / ".remora"


def surroundings(environ: Mapping[str, str] = os.environ) -> Surroundings:
    daemon = environ.get("REMORA_DAEMON") or "auto"
    if daemon not in ("auto", "off"):
        raise ConfigError(f'REMORA_DAEMON should be "auto" or "off", not "{daemon}"')
    return Surroundings(
        daemon=daemon,  # type: ignore[arg-type]
        profile=environ.get("REMORA_PROFILE", ""),
        project=environ.get("REMORA_PROJECT") or environ.get("CLAUDE_PROJECT_DIR", ""),
        token=environ.get("REMORA_TOKEN", ""),
        session=environ.get("CLAUDE_CODE_SESSION_ID", ""),
        compat=compat_names(environ.get("REMORA_COMPAT", "")),
        colour=not environ.get("NO_COLOR"),
        variables=environ,
    )


def compat_names(text: str) -> tuple[str, ...]:
    """Names of compatibility profiles, divided by commas."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if unknown := [name for name in names if name not in COMPAT_NAMES]:
        known = ", ".join(COMPAT_NAMES)
        raise ConfigError(f'"{unknown[0]}" is no compatibility profile (known: {known})', code="unknown_compat")
    return names


def load(
    home: Path | None = None,
    config_path: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Loaded:
    """Read everything; raise `InvalidConfig` unless at most single servers are broken.

    No file in the home means all defaults; a file named by the caller or by REMORA_CONFIG must exist.
    """
    paths, path = places(home, config_path, environ)
    text = read_text(path)
    if text is None and path != paths.config:
        raise ConfigError(f"there is no file {path}", code="config_not_found", path=str(path))
    data = parse(text, path) if text else {}
    loaded, usable = _combine(paths, path, text or "", data, overrides or {}, environ)
    if not usable:
        raise InvalidConfig(loaded.problems, path=str(path))
    return loaded


def load_for_gateway(
    home: Path | None = None,
    config_path: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Loaded:
    """Like `load`, but an invalid file yields the last good configuration, or an empty one that says why."""
    try:
        loaded = load(home, config_path, overrides, environ)
        return remember_good(loaded)
    except InvalidConfig as failure:
        invalid = failure
    paths, path = places(home, config_path, environ)
    more = f" (and {len(invalid.problems) - 1} more)" if len(invalid.problems) > 1 else ""
    reason = f"the configuration is invalid: {invalid.problems[0]}{more}"
    if (data := _last_good(paths, path)) is not None:
        # If it is the environment that is wrong, the snapshot alone still holds.
        for variables, flags in ((environ, overrides or {}), ({}, {})):
            loaded, usable = _combine(paths, path, "", data, flags, variables)
            if usable:
                warning = f"{reason}; the last good configuration is used"
                warnings = (*loaded.warnings, warning)
                return replace(loaded, problems=invalid.problems, mode="last_good", reason=warning, warnings=warnings)
    reason = f"{reason}; no server is served until it is mended"
    return Loaded(Config(), paths, path, warnings=(reason,), problems=invalid.problems, mode="safe", reason=reason)


def remember_good(loaded: Loaded) -> Loaded:
    """Keep this configuration for a start with a broken file."""
    snapshot = json.dumps({"path": str(loaded.path), "data": loaded.data}, default=str)
    try:
        if read_text(loaded.paths.last_good) != snapshot:
            loaded.paths.create()
            write_private(loaded.paths.last_good, snapshot)
    except (OSError, InvalidConfig) as failure:
        warning = f"the configuration could not be kept for a later start: {failure}"
        return replace(loaded, warnings=(*loaded.warnings, warning))
    return loaded


def _last_good(paths: Paths, path: Path) -> dict[str, Any] | None:
    """The snapshot, if there is one of this very file."""
    try:
        snapshot = json.loads(paths.last_good.read_bytes())
        return snapshot["data"] if snapshot["path"] == str(path) and isinstance(snapshot["data"], dict) else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def places(
    home: Path | None = None, config_path: Path | None = None, environ: Mapping[str, str] = os.environ
) -> tuple[Paths, Path]:
    """The home folder and the configuration file, read or not."""
    paths = Paths(home.absolute() if home else home_dir(environ))
    named = config_path or (Path(chosen).expanduser() if (chosen := environ.get("REMORA_CONFIG")) else None)
    return paths, named.absolute() if named else paths.config


def _combine(
    paths: Paths,
    path: Path,
    text: str,
    data: dict[str, Any],
    flags: Mapping[str, Any],
    environ: Mapping[str, str],
) -> tuple[Loaded, bool]:
    """The configuration of these sources, and whether it may be used."""
    laid, warnings = from_environment(environ, data)
    laid += [Override(split_key(key), value, "flag") for key, value in flags.items()]
    merged, origins = merge(data, laid)
    config, issues = check(Config, merged)
    lines = outline(text) if issues else None
    problems = []
    for issue in issues:
        line = lines.lines.get(issue.path) if lines else None
        depth = len(issue.path)
        blamed = [
            each.source
            for each in laid
            if each.path == issue.path[: len(each.path)] or (line is None and each.path[:depth] == issue.path)
        ]
        if blamed:
            file, line = blamed[-1].removeprefix("env:"), None
        else:
            file, line = str(path), lines.line(issue.path) if lines else None
        problems.append(Problem(file, line, dotted(issue.path), issue.message, issue.hint))
    problems.sort(key=lambda problem: (problem.line is None, problem.line))
    broken = {str(issue.path[1]): issue.message for issue in issues if issue.broken_server}
    loaded = Loaded(config, paths, path, origins, tuple(warnings), tuple(problems), broken, data=data)
    return loaded, all(issue.broken_server for issue in issues)
