"""Real clients before the gateway, over stdio and HTTP: Claude Code, MCP Inspector, the SDK in both generations."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from tests.e2e.conftest import Installed
from tests.support.control import Control
from tests.support.home import PROGRAM, Gateway, Home

OLD_CLIENT = Path(__file__).with_name("old_client.py")


async def run(home: Home, installed: Installed, *command: str) -> str:
    env = home.env(PATH=installed.path, NO_COLOR="1")
    process = await asyncio.create_subprocess_exec(
        *command, stdin=-3, stdout=-1, stderr=-1, env=env, cwd=home.cwd, limit=2**24
    )
    out, err = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode == 0, (out + err).decode()
    return out.decode()


@pytest.fixture
async def gateway(home: Home, control: Control) -> AsyncIterator[Gateway]:
    """A gateway with known lists, both to be started over stdio and served over HTTP."""
    home.configure({"up": control.server("up"), "new": control.server("new", "--era", "modern")})
    async with home.serve() as made, made.client() as client:
        await client.open()
        await client.tools_with("up__echo", "new__echo")
        yield made


async def test_claude_code(home: Home, installed: Installed, gateway: Gateway) -> None:
    claude = str(installed.bin / "claude")
    token = f"Authorization: Bearer {gateway.token}"
    await run(home, installed, claude, "mcp", "add", "-s", "user", "local", "--", *PROGRAM, "mcp")
    http = ["-t", "http", "remote", gateway.url, "--header", token]
    await run(home, installed, claude, "mcp", "add", "-s", "user", *http)
    listed = (await run(home, installed, claude, "mcp", "list")).splitlines()
    for name in ("local", "remote"):
        (line,) = [line for line in listed if line.startswith(f"{name}:")]
        assert line.endswith("Connected")
        assert "Failed" not in line


@pytest.mark.parametrize("era", ["legacy", "modern", "auto"])
@pytest.mark.parametrize("door", ["stdio", "http"])
async def test_inspector(home: Home, installed: Installed, gateway: Gateway, door: str, era: str) -> None:
    remote = [gateway.url, "--transport", "http", "--header", f"Authorization: Bearer {gateway.token}"]
    local = ["-e", f"REMORA_HOME={home.path}", "--", *PROGRAM, "mcp"]

    async def inspect(*arguments: str) -> dict[str, Any]:
        options = ["--format", "json", "--quiet", "--protocol-era", era, *arguments]
        target = [*options, *local] if door == "stdio" else [*remote, *options]
        said = await run(home, installed, str(installed.bin / "mcp-inspector"), "--cli", *target)
        return json.loads(said)["result"]

    tools = {tool["name"]: tool for tool in (await inspect("--method", "tools/list"))["tools"]}
    assert {"remora", "up__echo", "new__echo"} <= tools.keys()
    echoed = await inspect("--method", "tools/call", "--tool-name", "new__echo", "--tool-arg", "text=hello")
    assert echoed["content"][0]["text"] == "hello"
    resources = [resource["uri"] for resource in (await inspect("--method", "resources/list"))["resources"]]
    assert "test://up/a" in resources
    read = await inspect("--method", "resources/read", "--uri", "test://new/a")
    assert read["contents"][0]["text"] == "test://new/a of new"
    prompt = await inspect("--method", "prompts/get", "--prompt-name", "up__greet", "--prompt-args", "who=you")
    assert prompt["messages"][0]["content"]["text"] == "Hello you from up"


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
@pytest.mark.parametrize("door", ["stdio", "http"])
async def test_the_sdk_of_today(home: Home, gateway: Gateway, door: str, mode: str) -> None:
    from mcp_types import ElicitResult

    async def on_elicit(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"answer": "sdk"})

    progress: list[Any] = []

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        progress.append((done, total, message))

    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {gateway.token}"}, timeout=30)
    server: Any = (
        StdioServerParameters(command=PROGRAM[0], args=[*PROGRAM[1:], "mcp"], env=home.env(), cwd=home.cwd)
        if door == "stdio"
        else streamable_http_client(gateway.url, http_client=http)
    )
    async with http, Client(server, mode=mode, elicitation_callback=on_elicit) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert {"remora", "up__echo", "new__echo"} <= set(names)
        for server_name in ("up", "new"):
            echoed = await client.call_tool(f"{server_name}__echo", {"text": "hello"})
            assert echoed.content[0].text == "hello"  # type: ignore[union-attr]
            elicited = await client.call_tool(f"{server_name}__elicit", {})
            assert elicited.structured_content["answers"][0]["content"] == {"answer": "sdk"}  # type: ignore[index]
            progress.clear()
            await client.call_tool(f"{server_name}__progress", {"steps": 3}, progress_callback=on_progress)
            assert [done for done, _, _ in progress] == [1, 2, 3]
        read = await client.read_resource("test://up/a")
        assert read.contents[0].text == "test://up/a of up"  # type: ignore[union-attr]
        prompt = await client.get_prompt("new__greet", {"who": "you"})
        assert prompt.messages[0].content.text == "Hello you from new"  # type: ignore[union-attr]


@pytest.mark.parametrize("door", ["stdio", "http"])
async def test_the_sdk_of_yesterday(home: Home, installed: Installed, gateway: Gateway, door: str) -> None:
    target = ["stdio", *PROGRAM, "mcp"] if door == "stdio" else [gateway.url, gateway.token]
    said = json.loads(await run(home, installed, installed.old_python, str(OLD_CLIENT), *target))
    assert said["server"] == "remora"
    assert said["version"] == "2025-11-25"
    assert {"remora", "up__echo", "new__echo"} <= set(said["tools"])
    assert said["echo"] == "old friend"
    assert [step[0] for step in said["progress"]] == [1, 2, 3]
    assert said["elicited"] == {"answers": [{"action": "accept", "content": {"answer": "old"}}]}
    assert said["failed"] is True
    assert said["read"] == "test://up/a of up"
    assert said["prompt"] == "Hello you from up"
