"""The public MCP conformance suite: at the reference server directly, and at the gateway in front of it.

The gateway must fail nothing and lose no check that passes directly, whichever transport leads to the server.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from tests.contract.conformance.runner import VERSIONS, Report, install, run

ROOT = Path(__file__).parents[2]
SERVER = ["-m", "tests.contract.conformance.server"]
START_SECONDS = 30
# A pipe has no event stream that the server could close for the client to come back to.
ONLY_OVER_HTTP = Counter({"server-sse-polling:server-sse-disconnect-resume": 1})


@pytest.fixture(scope="module", autouse=True)
def suite() -> None:
    install()


@contextmanager
def stopped(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def reference() -> Iterator[str]:
    """The URL of the reference server."""
    process = subprocess.Popen([sys.executable, *SERVER, "--http", "0"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with stopped(process):
        assert process.stdout is not None
        yield process.stdout.readline().strip()


@pytest.fixture(scope="module")
def direct(reference: str) -> dict[str, Report]:
    """What the suite says of the reference server itself, by revision."""
    return {version: run(reference, version) for version in VERSIONS}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])


def configuration(transport: str, url: str, port: int) -> str:
    """A home with one server; `json.dumps` writes strings and lists as TOML has them."""
    where: dict[str, object] = {"url": url}
    if transport == "stdio":
        where = {"command": sys.executable, "args": [*SERVER, "--stdio"], "cwd": str(ROOT)}
    keys = "\n".join(f"{key} = {json.dumps(value)}" for key, value in where.items())
    return f"""
schema_version = 1
[http]
port = {port}
[catalog]
mode = "full"
[auth]
anonymous = "write"
[servers.conf]
bare_names = true
{keys}
"""


@contextmanager
def gateway(home: Path, transport: str, reference: str) -> Iterator[str]:
    """A daemon in front of the reference server; yields its MCP endpoint."""
    port = free_port()
    (home / "config.toml").write_text(configuration(transport, reference, port))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("REMORA_")}
    with (home / "serve.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "remora", "serve"],
            cwd=home,
            env={**inherited, "HOME": str(home), "REMORA_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            text=True,
        )
        with stopped(process):
            await_health(process, f"http://127.0.0.1:{port}/health", home / "serve.log")
            yield f"http://127.0.0.1:{port}/mcp?catalog=full"


def await_health(process: subprocess.Popen[str], url: str, log: Path) -> None:
    """Ask until the daemon answers; nothing but the port tells from outside that it is up."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx2.get(url, trust_env=False).status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.05)
    pytest.fail(f"the gateway did not come up (exit {process.poll()}):\n{log.read_text()[-4000:]}")


@pytest.mark.parametrize("version", VERSIONS)
def test_reference_server_fails_nothing(
    version: str, direct: dict[str, Report], capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        print("\n" + direct[version].row("reference server"))

    assert direct[version].failures == []
    assert [str(check) for check in direct[version].having("WARNING")] == []


@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.parametrize("version", VERSIONS)
def test_gateway_loses_no_check(
    version: str,
    transport: str,
    reference: str,
    direct: dict[str, Report],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with gateway(tmp_path, transport, reference) as url:
        report = run(url, version)
    with capsys.disabled():
        print("\n" + report.row(f"gateway, {transport} upstream"))

    assert report.failures == []
    allowed = ONLY_OVER_HTTP if transport == "stdio" else Counter[str]()
    assert report.lost(direct[version]) - allowed == Counter()
    assert report.passed >= direct[version].passed - allowed.total()
