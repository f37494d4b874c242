"""What `remora doctor` looks at. Each check is a function that gives findings and raises for none of them."""

from __future__ import annotations

import os
import shutil
import socket
import stat
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from remora import __version__
from remora.config.expand import expand, names_used, safe_environment
from remora.config.project import project_root, read_project
from remora.config.source import read_text
from remora.errors import ConfigError

if TYPE_CHECKING:
    from remora.config.load import Loaded, Surroundings
    from remora.doors.cli.engine import Running
    from remora.gateway.manifest import Manifest

Status = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    id: str
    status: Status
    detail: str
    fix: str | None = None
    """What to do about it, in words or as a command."""
    mend: Callable[[], None] | None = field(default=None, compare=False, repr=False)
    """Does it, where that is safe; `--fix` calls it."""

    def shown(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if key != "mend"}


@dataclass(frozen=True, slots=True)
class Patient:
    """All that is looked at."""

    loaded: Loaded
    around: Surroundings
    engine: Running | None
    manifests: dict[str, Manifest]
    health: dict[str, Any]
    cwd: Path


def all_findings(patient: Patient) -> Iterator[Finding]:
    for check in CHECKS:
        yield from check(patient)


def permissions(patient: Patient) -> Iterator[Finding]:
    """Nobody but the user may read what is in the home folder."""
    paths = patient.loaded.paths
    private = {paths.home: 0o700, paths.run: 0o700, patient.loaded.path: 0o600, paths.run / "token": 0o600,
               paths.state_db: 0o600, paths.last_good: 0o600, paths.memory_db: 0o600}  # fmt: skip
    open_to_others = [path for path in private if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077]
    for path in open_to_others:
        mode = private[path]
        yield Finding("permissions", "warn", f"{path} can be read by other users", f"chmod {mode:o} {path}",
                      lambda path=path, mode=mode: path.chmod(mode))  # type: ignore[misc]  # fmt: skip
    if not open_to_others:
        yield Finding("permissions", "ok", f"{paths.home} is private" if paths.home.exists() else "no home folder yet")


def configuration(patient: Patient) -> Iterator[Finding]:
    loaded = patient.loaded
    for problem in loaded.problems:
        yield Finding("config", "fail", str(problem), f"remora config validate, then edit {loaded.path}")
    for warning in loaded.warnings:
        if loaded.mode == "normal":
            yield Finding("config", "warn", warning, "unset the variable, or correct its name")
    if not loaded.problems:
        count = len(loaded.config.servers)
        where = loaded.path if loaded.path.exists() else "no file: all defaults"
        yield Finding("config", "ok", f"{where}, {count} server{'' if count == 1 else 's'}")


def project(patient: Patient) -> Iterator[Finding]:
    root = project_root(patient.cwd, Path(patient.around.variables.get("HOME") or Path.home()))
    found = read_project(root) if root else None
    for problem in found.problems if found else ():
        yield Finding("project", "warn", f"{problem}; the project file is ignored", "correct the file")
    for note in found.notes if found else ():
        yield Finding("project", "warn", note, "take it out: a project file can only restrict")


def secrets(patient: Patient) -> Iterator[Finding]:
    from remora.operations.servers import secret_warnings

    written = patient.loaded.data.get("servers", {})
    for warning in secret_warnings({name: each for name, each in written.items() if isinstance(each, dict)}):
        yield Finding("secrets", "warn", warning, f"edit {patient.loaded.path}")


def engine(patient: Patient) -> Iterator[Finding]:
    """The running gateway, or what one left behind."""
    running, file = patient.engine, patient.loaded.paths.run / "daemon.json"
    if running is None:
        if file.exists():
            detail = f"{file} is left over from a process that is gone"
            yield Finding("engine", "warn", detail, f"rm {file}", file.unlink)
        else:
            yield Finding("engine", "ok", "not running; agents start their own")
    elif running.version != __version__:
        detail = f"pid {running.pid} runs version {running.version}, this is {__version__}"
        yield Finding("engine", "warn", detail, "stop `remora serve` and start it again")
    else:
        yield Finding("engine", "ok", f"pid {running.pid} at {running.url}")


def port(patient: Patient) -> Iterator[Finding]:
    http = patient.loaded.config.http
    if patient.engine is not None or http.port == 0:
        return
    family = socket.AF_INET6 if ":" in http.host else socket.AF_INET
    try:
        with socket.socket(family) as bound:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((http.host.strip("[]"), http.port))
    except OSError as problem:
        detail = f"{http.host}:{http.port} cannot be used: {problem.strerror}"
        yield Finding("port", "fail", detail, "remora config set http.port 7438")
    else:
        yield Finding("port", "ok", f"{http.host}:{http.port} is free")


def token(patient: Patient) -> Iterator[Finding]:
    file = patient.loaded.paths.run / "token"
    if patient.around.token:
        yield Finding("token", "ok", "from REMORA_TOKEN")
    elif (found := read_text(file)) is None:
        yield Finding("token", "ok", "none yet; `remora serve` makes one")
    elif len(found.strip()) < 40:
        yield Finding("token", "warn", f"{file} is too short to be safe", f"rm {file}, and start `remora serve` again")
    else:
        yield Finding("token", "ok", str(file))


def servers(patient: Patient) -> Iterator[Finding]:
    """What stands in the way of each server's start, and how it answered."""
    for name, server in patient.loaded.config.servers.items():
        row = patient.health.get(name)
        if not server.enabled:
            yield Finding(f"server {name}", "ok", "disabled")
            continue
        reason, fix = _obstacle(patient, name)
        if row is not None and row["connected"]:
            yield Finding(f"server {name}", "ok", f"{row['tools']} tools, {row['era']}, {row['latency_ms']:g} ms")
        else:
            told = reason or (row or {}).get("error") or "not asked"
            yield Finding(f"server {name}", "fail", told, fix or f"remora health {name} --verbose")


def _obstacle(patient: Patient, name: str) -> tuple[str, str]:
    server, env = patient.loaded.config.server(name), patient.around.variables
    values = (server.command, *server.args, *server.env.values(), server.cwd, server.url, *server.headers.values(),
              server.auth.token)  # fmt: skip
    missing = [used for used in names_used(values) if used not in env]
    try:
        command = expand(server.command, env, patient.cwd)
        for value in values:
            expand(value, env, patient.cwd)
    except ConfigError as problem:
        cure = f"export {missing[0]}=…, or write ${{{missing[0]}:-default}}" if missing else "correct the reference"
        return str(problem), cure
    path = {**safe_environment(server.env_inherit, env), **server.env}.get("PATH", os.defpath)
    if server.kind == "stdio" and not shutil.which(command, path=path):
        return f"there is no program {command} on PATH", f"install {command}, or give its absolute path"
    return "", ""


def names(patient: Patient) -> Iterator[Finding]:
    """Tool names too long or too odd for clients are served shortened."""
    for name, row in patient.health.items():
        if row["overflowing"]:
            some = ", ".join(row["overflowing"][:3])
            told = f"{name}: {len(row['overflowing'])} tool names are served shortened, such as {some}"
            yield Finding("names", "warn", told, f"set a shorter prefix, or see: remora health {name} --names")


def overrides(patient: Patient) -> Iterator[Finding]:
    for name, manifest in patient.manifests.items():
        offered = {tool["name"] for tool in manifest.tools}
        for tool in patient.loaded.config.servers[name].tools:
            if tool not in offered:
                detail = f"servers.{name}.tools.{tool}: the server has no such tool"
                yield Finding("overrides", "warn", detail, "correct the name, or take it out")


def tracing(patient: Patient) -> Iterator[Finding]:
    from remora.doors.cli.version import EXTRAS, installed

    if patient.loaded.config.observability.otlp_endpoint and not installed(EXTRAS["otel"]):
        detail = "observability.otlp_endpoint is set, but the extra `otel` is not installed"
        yield Finding("tracing", "warn", detail, "pip install 'remora[otel]'")


CHECKS = (permissions, configuration, project, secrets, engine, port, token, servers, names, overrides, tracing)


def database(path: Path) -> Finding:
    """Whether state.db is whole. Reads all of it, in the caller's thread."""
    import apsw

    fix = f"rm {path}: it holds nothing that is not made again"
    if not path.exists():
        return Finding("database", "ok", "no state.db yet")
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_timeout(5_000)
            verdict = str(connection.pragma("quick_check"))
        finally:
            connection.close()
    except apsw.Error as problem:
        return Finding("database", "fail", f"{path}: {problem}", fix)
    if verdict != "ok":
        return Finding("database", "fail", f"{path}: {verdict}", fix)
    return Finding("database", "ok", f"{path}, {path.stat().st_size // 1024:,} KB")
