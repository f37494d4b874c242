from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from remora.config.load import Surroundings, load
from remora.doors.cli.engine import Running, own_engine, running, texts
from remora.errors import RpcError, UnavailableError, UsageError


@contextmanager
def answering(status: int, body: str, kind: str = "application/json") -> Iterator[tuple[Running, list[Any]]]:
    """A gateway that answers everything alike, and what it was asked."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append((self.path, dict(self.headers), sent))
            self.send_response(status)
            self.send_header("content-type", kind)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield Running(7, "1", f"http://127.0.0.1:{server.server_port}", "sesame", "serve"), asked
        finally:
            server.shutdown()
            thread.join()


RESULT = {"content": [{"type": "text", "text": "hi"}], "structuredContent": {"a": 1}}


def test_a_call_is_one_post_of_the_modern_era() -> None:
    with answering(200, json.dumps({"jsonrpc": "2.0", "id": 1, "result": RESULT})) as (engine, asked):
        assert engine.call("git__log", {"n": 3}, {"profile": "p q", "project": ""}) == RESULT
    path, headers, sent = asked[0]
    assert path == "/mcp?profile=p+q"
    assert headers["authorization"] == "Bearer sesame"
    assert (headers["mcp-method"], headers["mcp-name"]) == ("tools/call", "git__log")
    assert headers["mcp-protocol-version"] == "2026-07-28"
    assert (sent["params"]["name"], sent["params"]["arguments"]) == ("git__log", {"n": 3})


def test_the_answer_in_a_stream_is_found_among_notifications() -> None:
    events = [{"method": "notifications/progress", "params": {}}, {"jsonrpc": "2.0", "id": 1, "result": RESULT}]
    stream = ": ping\n\n" + "".join(f"event: message\ndata: {json.dumps(each)}\n\n" for each in events)
    with answering(200, stream, "text/event-stream") as (engine, _):
        assert engine.call("x", {}) == RESULT


def test_operations_are_asked_through_the_tool_remora() -> None:
    with answering(200, json.dumps({"id": 1, "result": RESULT})) as (engine, asked):
        assert engine.ask("health", {"names": ["git"]}) == {"a": 1}
    assert asked[0][2]["params"]["arguments"] == {"action": "health", "names": ["git"]}
    refused = {"content": [{"type": "text", "text": "remora: no server is called 'x'"}], "isError": True}
    with (
        answering(200, json.dumps({"id": 1, "result": refused})) as (engine, _),
        pytest.raises(UsageError, match=r"^no server is called 'x'$"),
    ):
        engine.ask("health", {})


def test_a_json_rpc_error_is_kept() -> None:
    error = {"code": -32602, "message": "Unknown tool", "data": {"similar": ["y"]}}
    with answering(400, json.dumps({"id": 1, "error": error})) as (engine, _), pytest.raises(RpcError) as caught:
        engine.call("x", {})
    assert (caught.value.code, caught.value.data) == (-32602, {"similar": ["y"]})


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, '{"error":"unauthorized"}', "application/json"),
        (200, "<html>", "text/html"),
        (200, "[1]", "application/json"),
        (200, ": ping\n\n", "text/event-stream"),
    ],
)
def test_what_is_no_answer_is_unavailable(status: int, body: str, kind: str) -> None:
    with answering(status, body, kind) as (engine, _), pytest.raises(UnavailableError, match="pid 7"):
        engine.call("x", {})


def test_nobody_there_is_unavailable() -> None:
    with pytest.raises(UnavailableError, match="does not answer"):
        Running(7, "1", "http://127.0.0.1:9", "", "serve").call("x", {})


def test_a_run_file_counts_only_while_its_process_lives(tmp_path: Path) -> None:
    from remora.gateway.children import started_at

    loaded = load(tmp_path, environ={})
    assert running(loaded, Surroundings()) is None
    loaded.paths.create()
    said = {"pid": os.getpid(), "start_time": started_at(os.getpid()), "version": "1", "http_url": "http://h:1",
            "started_by": "serve"}  # fmt: skip
    (loaded.paths.run / "daemon.json").write_text(json.dumps(said))
    assert running(loaded, Surroundings()) == Running(os.getpid(), "1", "http://h:1", "", "serve")
    (loaded.paths.run / "token").write_text("sesame\n")
    assert running(loaded, Surroundings()).token == "sesame"  # type: ignore[union-attr]
    assert running(loaded, Surroundings(token="other")).token == "other"  # type: ignore[union-attr]
    (loaded.paths.run / "daemon.json").write_text(json.dumps({**said, "start_time": "long ago"}))
    assert running(loaded, Surroundings()) is None


async def test_an_engine_of_our_own_knows_only_the_servers_asked_for(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        '[servers.a]\ncommand = "/no/a"\n[servers.b]\ncommand = "/no/b"\n[servers.c]\n'
    )
    loaded = load(tmp_path, environ={})
    async with own_engine(loaded, Surroundings(), ["b"]) as app:
        assert list(app.gateway.servers) == ["b"]
        assert app.gateway.loaded.broken_servers == {}
    async with own_engine(loaded, Surroundings()) as app:
        assert list(app.gateway.servers) == ["a", "b"]


def test_what_is_not_text_is_named() -> None:
    items = [
        {"type": "text", "text": "one"},
        {"type": "image", "mimeType": "image/png", "data": "QUJD"},
        {"type": "resource_link", "uri": "file:///x"},
        {"type": "resource", "resource": {"uri": "file:///y", "text": "inside"}},
        {"type": "resource", "resource": {"uri": "file:///z", "blob": "QUJD"}},
        {"type": "hologram"},
    ]
    assert texts({"content": items}).splitlines() == [
        "one", "[image image/png, 3 bytes]", "[resource file:///x]", "inside", "[resource file:///z]", "[hologram]",
    ]  # fmt: skip
    assert texts({}) == ""
