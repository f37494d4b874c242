"""Real servers from npm and PyPI behind one gateway, one more dead at start, one more hanging for ever."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Installed
from tests.support.client import Client, StdioClient, text
from tests.support.fronts import FRONTS, front, user
from tests.support.home import Home


@pytest.fixture
def repository(home: Home) -> Path:
    root = home.folder / "repository"
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run([*git, "init", "-q", str(root)], check=True)
    (root / "a.txt").write_text("first\n")
    subprocess.run([*git, "-C", str(root), "add", "."], check=True)
    subprocess.run([*git, "-C", str(root), "commit", "-q", "-m", "The first commit"], check=True)
    (root / "a.txt").write_text("second\n")
    return root


def servers(home: Home, installed: Installed, repository: Path) -> dict[str, dict[str, Any]]:
    node = {"env": {"PATH": installed.path}}
    sign = home.folder / "clock-works"
    clock = installed.python_tool("mcp-server-time")
    return {
        "fs": {"command": str(installed.bin / "mcp-server-filesystem"), "args": [str(home.cwd)], **node},
        "every": {"command": str(installed.bin / "mcp-server-everything"), **node},
        "memory": {
            "command": str(installed.bin / "mcp-server-memory"),
            "env": {**node["env"], "MEMORY_FILE_PATH": str(home.folder / "memory.jsonl")},
        },
        "git": {"command": installed.python_tool("mcp-server-git"), "args": ["--repository", str(repository)]},
        "time": {"command": clock, "args": ["--local-timezone", "UTC"]},
        "dead": {
            "command": "sh",
            "args": ["-c", f"test -e {sign} && exec {clock}"],
            "reconnect_delay_seconds": 0.2,
            "max_reconnect_delay_seconds": 0.5,
            "breaker_reset_seconds": 1.0,
        },
        "hanging": {"command": sys.executable, "args": ["-c", "import time; time.sleep(3600)"]},
    }


async def alone(server: dict[str, Any]) -> list[dict[str, Any]]:
    """The tools a server lists when asked directly."""
    env = {**os.environ, **server.get("env", {})}
    async with StdioClient([server["command"], *server.get("args", [])], env=env) as client:
        await client.open()
        return await client.listing("tools")


@pytest.mark.parametrize("kind", FRONTS)
async def test_all_at_once(home: Home, installed: Installed, repository: Path, kind: str) -> None:
    given = servers(home, installed, repository)
    home.configure(given, catalog={"first_list_wait_seconds": 0.2})
    good = ("fs", "every", "memory", "git", "time")
    expected = {f"{name}__{tool['name']}": tool for name in good for tool in await alone(given[name])}
    async with front(home, kind, **user(home)) as client:
        assert client.greeting["serverInfo" if client.era == "handshake" else "supportedVersions"]
        await client.watch("tools")
        listed = await client.tools_with(*expected, timeout=60)
        for name, tool in expected.items():
            assert listed[name] == {**tool, "name": name}  # member order depends on the era some are asked in
        health = text(await client.call("remora", {"action": "health", "timeout": 1}))
        for name in given:
            assert name in health
        await use_each(client, home, repository)
        (home.folder / "clock-works").touch()
        await client.tools_with("dead__get_current_time", timeout=30)
        said = await client.call("dead__get_current_time", {"timezone": "UTC"})
        assert "UTC" in text(said)


async def use_each(client: Client, home: Home, repository: Path) -> None:
    note = home.cwd / "note.txt"
    await client.call("fs__write_file", {"path": str(note), "content": "written through the gateway"})
    assert note.read_text() == "written through the gateway"
    read = await client.call("fs__read_text_file", {"path": str(note)})
    assert text(read) == "written through the gateway"
    refused = await client.call("fs__read_text_file", {"path": "/etc/passwd"})
    assert refused["isError"] is True

    assert "Echo: hello" in text(await client.call("every__echo", {"message": "hello"}))
    assert "5" in text(await client.call("every__get-sum", {"a": 2, "b": 3}))
    structured = await client.call("every__get-structured-content", {"location": "New York"})
    assert structured["structuredContent"] == json.loads(text(structured))
    images = [item for item in (await client.call("every__get-tiny-image"))["content"] if item["type"] == "image"]
    assert base64.b64decode(images[0]["data"]).startswith(b"\x89PNG")
    running = {"duration": 0.2, "steps": 2}
    await client.call("every__trigger-long-running-operation", running, meta={"progressToken": "long"})
    notes = [note["params"] for note in client.notes("notifications/progress")]
    assert [(note["progressToken"], note["progress"]) for note in notes] == [("long", 1), ("long", 2)]
    prompts = [prompt["name"] for prompt in await client.listing("prompts")]
    assert [name for name in prompts if name.startswith("every__")]
    for resource in (await client.listing("resources"))[:3]:
        assert (await client.result("resources/read", {"uri": resource["uri"]}))["contents"]

    entity = {"name": f"Remora-{client.era}", "entityType": "fish", "observations": ["rides along"]}
    await client.call("memory__create_entities", {"entities": [entity]})
    assert entity["name"] in text(await client.call("memory__read_graph"))

    assert "a.txt" in text(await client.call("git__git_status", {"repo_path": str(repository)}))
    assert "The first commit" in text(await client.call("git__git_log", {"repo_path": str(repository)}))
    assert "UTC" in text(await client.call("time__get_current_time", {"timezone": "UTC"}))


@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_a_real_server_asks_the_client(home: Home, installed: Installed, repository: Path, era: str) -> None:
    home.configure({"every": servers(home, installed, repository)["every"]})
    async with front(home, f"stdio-{era}", **user(home)) as client:
        tools = await client.tools_with("every__echo", timeout=60)
        sampling = [name for name in tools if "sampling" in name]
        for name in sampling:
            assert "4" in text(await client.call(name, {"prompt": "2+2?", "maxTokens": 10}))


@pytest.mark.parametrize("transport", ["streamableHttp", "sse"])
async def test_a_real_server_over_http(home: Home, installed: Installed, transport: str) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = str(installed.bin / "mcp-server-everything")
    env = {**os.environ, "PATH": installed.path, "PORT": str(port)}
    server = await asyncio.create_subprocess_exec(program, transport, env=env, stdout=-3, stderr=-3)
    try:
        path = "mcp" if transport == "streamableHttp" else "sse"
        quick = {"reconnect_delay_seconds": 0.1, "max_reconnect_delay_seconds": 0.3}
        home.configure({"every": {"url": f"http://127.0.0.1:{port}/{path}", **quick}})
        async with front(home, "stdio-modern", **user(home)) as client:
            await client.watch("tools")
            await client.tools_with("every__echo", timeout=60)  # it starts while the gateway already knocks
            assert "Echo: web" in text(await client.call("every__echo", {"message": "web"}))
            running = {"duration": 0.2, "steps": 2}
            await client.call("every__trigger-long-running-operation", running, meta={"progressToken": 1})
            assert len(client.notes("notifications/progress")) == 2
    finally:
        server.terminate()
        await server.wait()
