"""References in config values (`${VAR}` and its kin) and what environment a child process gets. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from remora.errors import ConfigError

EnvPolicy = Literal["safe", "all"] | tuple[str, ...]

_REFERENCE = re.compile(r"\$\{(?P<body>[^{}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SAFE = re.compile(
    "HOME|LOGNAME|USER|PATH|SHELL|TERM|TZ|LANG|TMPDIR|LC_.*|XDG_.*|HTTPS?_PROXY|NO_PROXY|SSL_CERT_FILE|SSL_CERT_DIR"
    "|NODE_EXTRA_CA_CERTS"
    # Windows cannot start most programs without these.
    "|APPDATA|COMSPEC|HOMEDRIVE|HOMEPATH|LOCALAPPDATA|PATHEXT|PROGRAMDATA|PROGRAMFILES|SYSTEMDRIVE|SYSTEMROOT|TEMP|TMP"
    "|USERNAME|USERPROFILE|WINDIR",
    re.IGNORECASE,
)
_DANGEROUS = re.compile(
    "LD_PRELOAD|LD_LIBRARY_PATH|DYLD_.*|PYTHONPATH|PYTHONSTARTUP|NODE_OPTIONS|BASH_ENV|PERL5OPT|RUBYOPT", re.IGNORECASE
)


def expand(value: str, env: Mapping[str, str], project: str | Path | None = None) -> str:
    """Replace every reference; one without a value raises, because a half-filled command is worse than none.

    What a reference brings in is not expanded again: a value from outside cannot name further files or variables.
    """
    if "${" in _REFERENCE.sub("", value):
        raise ConfigError(f'"{value}" has a reference that is nested or not closed')
    return _REFERENCE.sub(lambda match: _resolve(match["body"], env, project), value)


def names_used(values: Iterable[str]) -> tuple[str, ...]:
    """The environment variables these values refer to, each once, in order."""
    found: dict[str, None] = {}
    for value in values:
        for match in _REFERENCE.finditer(value):
            body = match["body"]
            if body != "project" and not body.startswith("file:"):
                found[body.removeprefix("env:").partition(":-")[0]] = None
    return tuple(found)


def uses_project(values: Iterable[str]) -> bool:
    """Whether a value depends on the project root: such a server runs once per project."""
    return any("${project}" in value for value in values)


def safe_environment(policy: EnvPolicy, environ: Mapping[str, str]) -> dict[str, str]:
    """The part of our environment that an upstream inherits."""
    if policy == "all":
        return dict(environ)
    if policy == "safe":
        return {name: value for name, value in environ.items() if _SAFE.fullmatch(name)}
    return {name: environ[name] for name in policy if name in environ}


def dangerous(env: Iterable[str]) -> tuple[str, ...]:
    """The names that would make a program run foreign code before its own."""
    return tuple(name for name in env if _DANGEROUS.fullmatch(name))


def _resolve(body: str, env: Mapping[str, str], project: str | Path | None) -> str:
    if body == "project":
        if project is None:
            raise ConfigError("${project} is used, but this session has no project folder", code="unresolved")
        return str(project)
    if body.startswith("file:"):
        return _file(body.removeprefix("file:"), env)
    name, has_default, default = body.removeprefix("env:").partition(":-")
    if not _NAME.match(name):
        raise ConfigError(
            f"${{{body}}} is not a reference: use ${{NAME}}, ${{NAME:-default}}, ${{file:PATH}} or ${{project}}"
        )
    # Like a shell, an empty variable takes the default; without a default an empty value is a value.
    if has_default:
        return env.get(name) or default
    if name not in env:
        raise ConfigError(f"the environment variable {name} is not set", code="unresolved")
    return env[name]


def _file(path: str, env: Mapping[str, str]) -> str:
    if path.startswith("~/") and "HOME" in env:
        path = env["HOME"] + path[1:]
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as failure:
        raise ConfigError(f"${{file:{path}}} cannot be read: {failure}", code="unresolved") from failure
