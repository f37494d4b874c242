from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remora import __version__
from remora.config.load import Surroundings, load
from remora.doors.cli import checks
from remora.doors.cli.checks import Finding, Patient
from remora.doors.cli.engine import Running
from remora.gateway.manifest import Manifest

ENGINE = Running(7, __version__, "http://127.0.0.1:7437", "t", "serve")


def patient(folder: Path, text: str = "", **changes: Any) -> Patient:
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "config.toml").write_text(text)
    (folder / "config.toml").chmod(0o600)
    variables = changes.pop("variables", {"PATH": "/usr/bin:/bin", "HOME": str(folder.parent)})
    loaded = load(folder, environ={})
    return replace(Patient(loaded, Surroundings(variables=variables), None, {}, {}, folder.parent), **changes)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def told(findings: Any) -> list[tuple[str, str]]:
    return [(finding.status, finding.detail) for finding in findings]


def row(**changes: Any) -> dict[str, Any]:
    return {
        "connected": True,
        "tools": 3,
        "era": "2026-07-28",
        "latency_ms": 1.5,
        "overflowing": [],
        "error": None,
    } | changes


def test_a_finding_is_shown_without_what_mends_it() -> None:
    shown = Finding("x", "warn", "odd", "mend it", lambda: None).shown()
    assert shown == {"id": "x", "status": "warn", "detail": "odd", "fix": "mend it"}


def test_files_that_others_can_read(home: Path) -> None:
    one = patient(home)
    assert told(checks.permissions(one)) == [("ok", f"{home} is private")]
    (home / "config.toml").chmod(0o644)
    (finding,) = checks.permissions(one)
    assert (finding.status, finding.fix) == ("warn", f"chmod 600 {home / 'config.toml'}")
    assert finding.mend is not None
    finding.mend()
    assert (home / "config.toml").stat().st_mode & 0o777 == 0o600


def test_the_configuration(home: Path) -> None:
    assert told(checks.configuration(patient(home))) == [("ok", f"{home / 'config.toml'}, 0 servers")]
    broken = patient(home, "[servers.x]\n")
    (finding,) = checks.configuration(broken)
    assert (finding.status, "neither command nor url" in finding.detail) == ("fail", True)
    warned = replace(broken, loaded=replace(broken.loaded, problems=(), warnings=("REMORA_X fits no key",)))
    assert told(checks.configuration(warned))[0] == ("warn", "REMORA_X fits no key")


def test_a_project_file_with_a_mistake(home: Path) -> None:
    one = patient(home)
    assert told(checks.project(one)) == []
    file = home.parent / "shop" / ".remora" / "project.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[server]\n")
    (finding,) = checks.project(replace(one, cwd=home.parent / "shop"))
    assert (finding.status, f"{file}:1" in finding.detail) == ("warn", True)
    file.write_text('[servers.x]\ncommand = "prog"\n')
    (finding,) = checks.project(replace(one, cwd=home.parent / "shop"))
    assert "cannot add servers" in finding.detail


def test_secrets_in_plain_text(home: Path) -> None:
    one = patient(home, '[servers.x]\ncommand = "prog"\nenv = { TOKEN = "abc-123-def", OTHER = "${TOKEN}" }\n')
    (finding,) = checks.secrets(one)
    assert finding.detail.startswith("servers.x.env.TOKEN looks like a secret")
    assert "abc-123-def" not in finding.detail


def test_the_running_gateway(home: Path) -> None:
    one = patient(home)
    assert told(checks.engine(one)) == [("ok", "not running; agents start their own")]
    assert told(checks.engine(replace(one, engine=ENGINE))) == [("ok", "pid 7 at http://127.0.0.1:7437")]
    (finding,) = checks.engine(replace(one, engine=replace(ENGINE, version="0.0.1")))
    assert (finding.status, "0.0.1" in finding.detail) == ("warn", True)
    one.loaded.paths.run.mkdir()
    (one.loaded.paths.run / "daemon.json").touch()
    (finding,) = checks.engine(one)
    assert finding.mend is not None
    finding.mend()
    assert not (one.loaded.paths.run / "daemon.json").exists()


def test_the_port(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        one = patient(home, f"[http]\nport = {number}\n")
        (finding,) = checks.port(one)
        assert (finding.status, str(number) in finding.detail) == ("fail", True)
        assert told(checks.port(replace(one, engine=ENGINE))) == []
    assert told(checks.port(one)) == [("ok", f"127.0.0.1:{number} is free")]
    assert told(checks.port(patient(home, "[http]\nport = 0\n"))) == []


def test_the_token(home: Path) -> None:
    one = patient(home)
    assert told(checks.token(one)) == [("ok", "none yet; `remora serve` makes one")]
    one.loaded.paths.run.mkdir()
    file = one.loaded.paths.run / "token"
    file.write_text("short")
    assert told(checks.token(one))[0][0] == "warn"
    file.write_text("x" * 43)
    assert told(checks.token(one)) == [("ok", str(file))]
    assert told(checks.token(replace(one, around=Surroundings(token="t")))) == [("ok", "from REMORA_TOKEN")]


@pytest.mark.parametrize(
    ("server", "found", "status", "detail"),
    [
        ('command = "sh"', row(), "ok", "3 tools, 2026-07-28, 1.5 ms"),
        ('command = "sh"\nenabled = false', None, "ok", "disabled"),
        ('command = "sh"', row(connected=False, error="it closed its output"), "fail", "it closed its output"),
        ('command = "sh"', None, "fail", "not asked"),
        ('command = "no-such-program"', None, "fail", "there is no program no-such-program on PATH"),
        ('command = "sh"\nenv = { PATH = "/nowhere" }', None, "fail", "there is no program sh on PATH"),
        ('command = "sh"\nargs = ["${NOT_SET}"]', None, "fail", "the environment variable NOT_SET is not set"),
        ('url = "http://x/${file:/no/such/file}"', None, "fail", "${file:/no/such/file} cannot be read"),
    ],
)
def test_servers(home: Path, server: str, found: dict[str, Any] | None, status: str, detail: str) -> None:
    one = patient(home, f"[servers.x]\n{server}\n", health={"x": found} if found else {})
    (finding,) = checks.servers(one)
    assert (finding.id, finding.status) == ("server x", status)
    assert finding.detail.startswith(detail)
    assert bool(finding.fix) == (status == "fail")


def test_names_that_are_served_shortened(home: Path) -> None:
    one = patient(home, health={"x": row(overflowing=["a.b", "c.d", "e.f", "g.h"]), "y": row()})
    assert told(checks.names(one)) == [("warn", "x: 4 tool names are served shortened, such as a.b, c.d, e.f")]


def test_overrides_of_tools_that_are_not_there(home: Path) -> None:
    text = (
        '[servers.x]\ncommand = "sh"\n[servers.x.tools.there]\nhidden = true\n[servers.x.tools.gone]\nhidden = true\n'
    )
    manifest = Manifest("f", True, "2026-07-28", tools=({"name": "there"},))
    one = patient(home, text, manifests={"x": manifest})
    assert told(checks.overrides(one)) == [("warn", "servers.x.tools.gone: the server has no such tool")]


def test_tracing_without_its_extra(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = patient(home, '[observability]\notlp_endpoint = "http://127.0.0.1:4318"\n')
    assert told(checks.tracing(one)) == []
    monkeypatch.setattr("remora.doors.cli.version.installed", lambda _: False)
    assert told(checks.tracing(one))[0][0] == "warn"


def test_the_database(tmp_path: Path) -> None:
    import apsw

    path = tmp_path / "state.db"
    assert checks.database(path).detail == "no state.db yet"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE t (x)")
    with connection:
        connection.executemany("INSERT INTO t VALUES (?)", ((number,) for number in range(5000)))
    connection.close()
    assert checks.database(path).status == "ok"
    data = bytearray(path.read_bytes())
    data[4096:8192] = bytes(4096)
    path.write_bytes(data)
    assert checks.database(path).status == "fail"
    path.write_bytes(b"not a database at all" * 100)
    assert checks.database(path).status == "fail"


def test_everything_is_looked_at(home: Path) -> None:
    found = {finding.id for finding in checks.all_findings(patient(home))}
    assert found == {"permissions", "config", "engine", "port", "token"}
