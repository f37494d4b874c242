from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.doors.fakes import FakeGateway, Gate, rpc, soon

from remora.config.load import Loaded, Paths, Surroundings
from remora.config.model import Config, HttpConfig
from remora.doors.http.server import HttpServer
from remora.errors import ConfigError, UnavailableError
from remora.gateway.wire import jsonrpc


def loaded(folder: Path, host: str = "127.0.0.1", port: int = 0) -> Loaded:
    config = Config(http=HttpConfig(host=host, port=port))
    return Loaded(config, Paths(folder), folder / "config.toml")


def app(folder: Path) -> Any:
    paths = Paths(folder)
    paths.create()
    return SimpleNamespace(gateway=FakeGateway(folder), paths=paths)


async def ask(server: HttpServer, token: str, *messages: dict[str, Any]) -> list[bytes]:
    """One connection; the answer to each request on it, as it came."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    answers, session = [], b""
    for message in messages:
        body = jsonrpc.encode(message)
        writer.write(
            b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:%d\r\nauthorization: Bearer %b\r\n%b"
            b"accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\n\r\n%b" % (server.port, token.encode(), session, len(body), body)
        )
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[16:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length: "))
        answers.append(head + await reader.readexactly(length))
        session = next((line + b"\r\n" for line in head.split(b"\r\n") if line.startswith(b"mcp-session-id")), session)
    writer.close()
    return answers


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.2", "::", "example.com"])
def test_anything_but_loopback_is_refused(tmp_path: Path, host: str) -> None:
    allowed = replace(loaded(tmp_path), config=Config(http=HttpConfig(host=host, port=0, allow_remote=True)))
    for each in (loaded(tmp_path, host), allowed):
        with pytest.raises(ConfigError, match="login") as refused:
            HttpServer.bind(each, Surroundings())
        assert (refused.value.exit_code, host in str(refused.value)) == (3, True)


def test_a_busy_port_is_named_and_no_other_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        with pytest.raises(UnavailableError, match=rf"127\.0\.0\.1:{port} .*http\.port") as refused:
            HttpServer.bind(loaded(tmp_path, port=port), Surroundings())
    assert refused.value.exit_code == 5


@pytest.mark.parametrize(
    ("host", "url"), [("127.0.0.1", "http://127.0.0.1:"), ("localhost", "http://localhost:"), ("::1", "http://[::1]:"),
                      ("[::1]", "http://[::1]:")]
)  # fmt: skip
def test_the_address_is_one_that_can_be_typed(host: str, url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        assert HttpServer(bound, host, Surroundings()).url == f"{url}{bound.getsockname()[1]}"


async def test_what_is_bound_is_served_with_the_token_of_the_home_folder(tmp_path: Path) -> None:
    parts, server, stopped = app(tmp_path), HttpServer.bind(loaded(tmp_path), Surroundings()), asyncio.Event()
    async with server.running(parts, stopped):
        token = (tmp_path / "run" / "token").read_text()
        [right] = await soon(ask(server, token, rpc("initialize", {"protocolVersion": "2025-11-25"})))
        [wrong] = await soon(ask(server, "guessed", rpc("initialize", {"protocolVersion": "2025-11-25"})))
        assert not stopped.is_set()
    assert right.startswith(b"HTTP/1.1 200 ")
    assert wrong.startswith(b"HTTP/1.1 401 ")
    assert b"\r\nserver:" not in right.lower()


async def test_a_token_of_the_environment_wins_and_is_not_written_down(tmp_path: Path) -> None:
    server = HttpServer.bind(loaded(tmp_path), Surroundings(token="sesame"))
    async with server.running(app(tmp_path), asyncio.Event()):
        [answer] = await soon(ask(server, "sesame", rpc("initialize", {"protocolVersion": "2025-11-25"})))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert not (tmp_path / "run" / "token").exists()


async def test_at_the_end_calls_in_flight_finish_and_sessions_are_closed(tmp_path: Path) -> None:
    parts, server = app(tmp_path), HttpServer.bind(loaded(tmp_path), Surroundings(token="sesame"))
    gate = parts.gateway.handlers["slow"] = Gate({"late": "but whole"})
    stopped = asyncio.Event()
    async with server.running(parts, stopped):
        begin = rpc("initialize", {"protocolVersion": "2025-11-25"})
        asking = asyncio.create_task(ask(server, "sesame", begin, rpc("slow", request_id=2)))
        await soon(gate.begun.wait())
        ending = asyncio.create_task(parts.gateway.listeners_closed.wait())
        ending.add_done_callback(lambda _: gate.open.set())  # the end has begun, the call is still under way
    _, answer = await soon(asking)
    assert answer.endswith(b'{"jsonrpc":"2.0","id":2,"result":{"late":"but whole"}}')
    assert stopped.is_set()
    assert parts.gateway.closed == parts.gateway.sessions
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.port)
