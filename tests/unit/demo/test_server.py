from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import Any

import pytest

from remora.demo.server import PID_KEY, Era, Message, Progress, Server, Tool, ToolError, schema

META = "io.modelcontextprotocol/"
ENVELOPE = {"_meta": {f"{META}protocolVersion": "2026-07-28"}}


def echo(arguments: Message, progress: Progress) -> Message:
    progress(1, 2, "half")
    if arguments.get("fail"):
        raise ToolError("as you wished")
    return {"said": arguments.get("text")}


class Pipe(io.BytesIO):
    """Where answers arrive, from any thread."""

    def messages(self) -> list[Any]:
        return [json.loads(line) for line in self.getvalue().splitlines()]


def ask(era: Era, method: str, params: Message | None = None) -> list[Any]:
    """All that a server of this era sends in answer to one request."""
    server, out = Server("test", era, "Be kind.", [Tool({"name": "echo", "inputSchema": schema()}, echo)]), Pipe()
    server._out = out
    server._answer({"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}})
    return out.messages()


def result(era: Era, method: str, params: Message | None = None) -> Any:
    return ask(era, method, params)[-1]["result"]


def test_the_handshake_era_begins_with_initialize() -> None:
    said = result("handshake", "initialize", {"protocolVersion": "2025-11-25"})
    assert (said["protocolVersion"], said["serverInfo"]["name"]) == ("2025-11-25", "test")
    assert result("handshake", "ping") == {}
    assert ask("handshake", "server/discover")[0]["error"]["code"] == -32601


def test_the_modern_era_wants_its_envelope() -> None:
    said = result("modern", "server/discover", ENVELOPE)
    assert (said["supportedVersions"], said["resultType"]) == (["2026-07-28"], "complete")
    assert said["_meta"][f"{META}serverInfo"]["name"] == "test"
    for method in ("initialize", "tools/list"):
        error = ask("modern", method)[0]["error"]
        assert (error["code"], error["data"]["supported"]) == (-32022, ["2026-07-28"])


@pytest.mark.parametrize(("era", "envelope"), [("handshake", {}), ("modern", ENVELOPE)])
def test_tools_are_listed_and_called_in_both(era: Era, envelope: Message) -> None:
    assert [tool["name"] for tool in result(era, "tools/list", envelope)["tools"]] == ["echo"]
    said = result(era, "tools/call", {"name": "echo", "arguments": {"text": "hi"}, **envelope})
    assert said["structuredContent"] == {"said": "hi"}
    assert json.loads(said["content"][0]["text"]) == {"said": "hi"}
    assert said["_meta"][PID_KEY] > 0


def test_progress_goes_to_those_who_asked_for_it() -> None:
    call = {"name": "echo", "arguments": {}}
    assert len(ask("handshake", "tools/call", call)) == 1
    told = ask("handshake", "tools/call", {**call, "_meta": {"progressToken": 3}})[0]
    assert told["params"] == {"progressToken": 3, "progress": 1, "total": 2, "message": "half"}


def test_failures_are_results_and_strangers_are_errors() -> None:
    said = result("handshake", "tools/call", {"name": "echo", "arguments": {"fail": True}})
    assert (said["isError"], said["content"][0]["text"]) == (True, "as you wished")
    assert ask("handshake", "tools/call", {"name": "no"})[0]["error"]["code"] == -32602


def test_lines_are_served_until_the_input_ends() -> None:
    lines = [{"id": 1, "method": "ping"}, {"method": "notifications/initialized"}, {"id": 2, "method": "ping"}]
    done = subprocess.run(
        [sys.executable, "-m", "remora.demo.notes"],
        input="".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines),
        capture_output=True,
        text=True,
        check=True,
    )
    assert {json.loads(line)["id"] for line in done.stdout.splitlines()} <= {1, 2}  # it does not wait for stragglers
    assert done.stderr == ""
