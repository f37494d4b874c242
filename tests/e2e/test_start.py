"""Starting up: what a bare call does, and that the greeting waits for nobody."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import shlex

import pytest
from tests.support.client import StdioClient, text
from tests.support.control import Control
from tests.support.fronts import FRONTS, front
from tests.support.home import PROGRAM, Home


async def test_a_bare_call_on_a_terminal_shows_help(home: Home) -> None:
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *PROGRAM, stdin=theirs, stdout=asyncio.subprocess.PIPE, env=home.env(), cwd=home.cwd
    )
    out, _ = await asyncio.wait_for(process.communicate(), 30)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0
    assert b"Usage" in out
    assert b"serve" in out


async def test_a_bare_call_without_input_ends_quietly(home: Home) -> None:
    code, out, _ = await home.cli()
    assert (code, out) == (0, "")
    assert not (home.path / "run" / "daemon.json").exists()


@pytest.mark.parametrize("arguments", [[], ["mcp"]])
@pytest.mark.parametrize("daemon", ["off", "auto"])
async def test_a_pipe_is_served_in_process(home: Home, control: Control, arguments: list[str], daemon: str) -> None:
    home.configure({"up": control.server("up")})
    env = home.env(REMORA_DAEMON=daemon)
    async with StdioClient([*PROGRAM, *arguments], env=env, cwd=home.cwd, errors=home.errors) as client:
        greeting = await client.open()
        assert greeting["protocolVersion"] == "2025-11-25"
        assert greeting["serverInfo"]["name"] == "remora"
        await client.tools_with("up__echo")
        assert text(await client.call("up__echo", {"text": "hi"})) == "hi"
        assert not (home.path / "run" / "rem.sock").exists()
        assert await client.end() == 0
        assert client.garbage == []
    await control.all_ended()


async def test_no_config_at_all_serves_our_own_tools(home: Home) -> None:
    async with front(home, "stdio-handshake") as client:
        assert "remora" in await client.tools()


@pytest.mark.parametrize("kind", FRONTS)
async def test_the_greeting_waits_for_no_server(home: Home, control: Control, kind: str) -> None:
    """One good server, one hanging, one dead, one that comes up when told to."""
    home.configure(
        {
            "hanging": control.server("hanging", "--start", "hang"),
            "dead": control.server("dead", "--start", "die"),
            "late": control.server("late", "--start", "wait"),
            "missing": {"command": "/nowhere/no-such-program"},
            "good": control.server("good"),
        },
        catalog={"first_list_wait_seconds": 0.5},
    )
    async with front(home, kind) as client:
        # Were the greeting to wait for `hanging`, this point would never be reached in time.
        assert client.greeting["capabilities"]["tools"]["listChanged"] is True
        await client.watch()
        tools = await client.tools_with("good__echo")
        assert not [name for name in tools if name.startswith(("late__", "dead__", "hanging__"))]
        assert text(await client.call("good__echo", {"text": "hi"})) == "hi"
        health = text(await client.call("remora", {"action": "health", "timeout": 1}))
        for name in ("hanging", "dead", "late", "missing", "good"):
            assert name in health
        await control.until("start", name="late")
        await control.tell("late", "go")
        await client.tools_with("late__echo")
        assert text(await client.call("late__echo", {"text": "there"})) == "there"


@pytest.mark.parametrize("at_once", [False, True])
async def test_a_dead_server_appears_when_it_comes_up(home: Home, control: Control, at_once: bool) -> None:
    """Dead after its interpreter has started, or dead before a byte could be written to it."""
    sign = home.folder / "ready"
    limits = {"reconnect_delay_seconds": 0.2, "max_reconnect_delay_seconds": 0.5, "breaker_reset_seconds": 0.5}
    dead = control.server("dead", "--unless", str(sign), **limits)
    if at_once:
        words = shlex.join([dead["command"], *dead["args"]])
        dead = {**dead, "command": "sh", "args": ["-c", f"test -e {sign} || exit 1; exec {words}"]}
    home.configure({"dead": dead, "good": control.server("good")}, catalog={"first_list_wait_seconds": 0.2})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("good__echo")
        assert "dead" in text(await client.call("remora", {"action": "health", "timeout": 1}))
        if not at_once:
            await control.until("start", name="dead", count=2)  # it is tried again and again
        sign.touch()
        await client.tools_with("dead__echo")
        assert text(await client.call("dead__echo", {"text": "alive"})) == "alive"


async def test_the_second_start_knows_the_lists(home: Home, control: Control) -> None:
    """Lists of the last run are served at once; a lazy server is started by its first call, not before."""
    home.configure({"up": control.server("up", "--instructions", "Ask up for echoes.")})
    async with front(home, "stdio-handshake") as client:
        first = await client.tools_with("up__echo")
    await control.all_ended()
    async with front(home, "stdio-handshake") as client:
        assert "Ask up for echoes." in client.greeting["instructions"]
        assert json.dumps(await client.tools()) == json.dumps(first)
        assert len(control.seen("start", name="up")) == 1
        assert text(await client.call("up__echo", {"text": "hi"})) == "hi"
        assert len(control.seen("start", name="up")) == 2


async def test_an_eager_server_is_started_without_a_call(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up", start="eager")})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__echo")
    await control.all_ended()
    async with front(home, "stdio-handshake"):
        await control.until("start", name="up", count=2)


@pytest.mark.parametrize("probe", ["silent", "late"])
async def test_a_server_slow_to_answer_the_probe_is_understood(home: Home, control: Control, probe: str) -> None:
    """`silent` never answers server/discover; `late` answers it after initialize came and then refuses initialize."""
    era = {"silent": "handshake", "late": "modern"}[probe]
    home.configure({"up": control.server("up", "--era", era, "--probe", probe)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__echo", timeout=30)
        assert text(await client.call("up__echo", {"text": "hi"})) == "hi"


@pytest.mark.parametrize(("before", "after"), [("handshake", "modern"), ("modern", "handshake")])
async def test_a_server_may_change_its_era_between_runs(home: Home, control: Control, before: str, after: str) -> None:
    """What was found out last time is tried first, and found out anew when it no longer fits."""
    start = home.folder / "start.sh"
    home.configure({"up": {"command": "sh", "args": [str(start)]}})
    for era in (before, after, after):
        server = control.server("up", "--era", era)
        start.write_text(f"exec {shlex.join([server['command'], *server['args']])}\n")
        async with front(home, "stdio-handshake") as client:
            await client.tools_with("up__echo")
            assert text(await client.call("up__echo", {"text": era})) == era


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18"])
async def test_an_older_server_is_downgraded_to(home: Home, control: Control, version: str) -> None:
    home.configure({"up": control.server("up", "--version", version)})
    async with front(home, "stdio-modern") as client:
        await client.tools_with("up__echo")
        assert text(await client.call("up__echo", {"text": "hi"})) == "hi"


@pytest.mark.parametrize(("configured", "first"), [("legacy", "initialize"), ("modern", "server/discover")])
async def test_a_configured_era_is_not_probed_for(home: Home, control: Control, configured: str, first: str) -> None:
    home.configure({"up": control.server("up", "--era", "dual", era=configured)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__echo")
        methods = [report["message"]["method"] for report in control.seen("message")]
        assert methods[0] == first
        assert len({"initialize", "server/discover"} & set(methods)) == 1
