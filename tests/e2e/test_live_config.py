"""The config file is edited while clients are connected: what changes takes effect, what breaks does not."""

from __future__ import annotations

import json

import pytest
from tests.support.client import Client, Failure, text
from tests.support.control import Control
from tests.support.fronts import FRONTS, front
from tests.support.home import Home


async def without(client: Client, *prefixes: str) -> None:
    """Wait for a list that holds no tool of these servers, fetching it after each change."""
    seen = 0
    while [name for name in await client.tools() if name.startswith(prefixes)]:
        seen += 1
        await client.noted("notifications/tools/list_changed", count=seen)


@pytest.mark.parametrize("kind", FRONTS)
async def test_servers_come_and_go(home: Home, control: Control, kind: str) -> None:
    up, late = control.server("up"), control.server("late")
    home.configure({"up": up})
    async with front(home, kind) as client:
        await client.watch()
        await client.tools_with("up__echo")
        home.configure({"up": up, "late": late})
        await client.tools_with("late__echo")
        assert text(await client.call("late__echo", {"text": "new"})) == "new"
        home.configure({"up": up, "late": {**late, "enabled": False}})
        await without(client, "late__")
        await control.ended(*control.alive("late"))
        with pytest.raises(Failure, match="Unknown tool"):
            await client.call("late__echo", {"text": "x"})
        home.configure({"late": late})
        await client.tools_with("late__echo")
        await without(client, "up__")
        await control.ended(*control.alive("up"))
        assert text(await client.call("late__echo", {"text": "back"})) == "back"


async def test_a_call_in_flight_finishes_on_the_old_connection(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__echo")
        identity = await client.send("tools/call", {"name": "up__block", "arguments": {}})
        await control.until("blocked", name="up")
        (old,) = control.alive("up")
        home.configure({"up": control.server("up", "--extra", "1")})
        await client.tools_with("up__extra_0")
        assert json.loads(text(await client.call("up__whoami")))["pid"] != old
        await control.tell("up", "release")
        assert text((await client.answer(identity))["result"]) == "released"
        await control.ended(old)


async def test_a_call_in_flight_of_a_disabled_server_finishes(home: Home, control: Control) -> None:
    up, other = control.server("up"), control.server("other")
    home.configure({"up": up, "other": other})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__echo", "other__echo")
        identity = await client.send("tools/call", {"name": "up__block", "arguments": {}})
        await control.until("blocked", name="up")
        home.configure({"up": {**up, "enabled": False}, "other": other})
        await without(client, "up__")
        await control.tell("up", "release")
        assert text((await client.answer(identity))["result"]) == "released"
        await control.ended(*control.alive("up"))


async def test_keys_of_tools_and_lists_are_live(home: Home, control: Control) -> None:
    up = control.server("up")
    home.configure({"up": up})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__echo")
        (pid,) = control.alive("up")
        home.configure({"up": {**up, "tools": {"echo": {"hidden": True}}}})
        await client.noted("notifications/tools/list_changed")
        tools = await client.tools()
        assert "up__echo" not in tools
        assert "up__media" in tools
        home.configure({"up": {**up, "prefix": "renamed"}})
        await client.tools_with("renamed__echo")
        assert text(await client.call("renamed__echo", {"text": "hi"})) == "hi"
        assert control.alive("up") == {pid}  # nothing of this needed a new connection


@pytest.mark.parametrize(
    "broken",
    [
        "this is not toml",
        "[servers.up]\ncommand = 5\n",
        "no_such_key = 1\n",
        '[servers.a]\ncommand = "x"\nprefix = "same"\n[servers.b]\ncommand = "y"\nprefix = "SAME"\n',
    ],
)
async def test_a_broken_file_changes_nothing(home: Home, control: Control, broken: str) -> None:
    up = control.server("up")
    home.configure({"up": up})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__echo")
        home.config.write_text(broken)
        # The next valid file proves that the broken one was read and passed over.
        home.configure({"up": up, "late": control.server("late")})
        await client.tools_with("late__echo", "up__echo")
        assert len(control.seen("start", name="up")) == 1


async def test_a_server_described_wrongly_stops_no_other(home: Home, control: Control) -> None:
    both = {"command": "x", "url": "http://127.0.0.1:1/mcp"}
    home.configure({"both": both, "neither": {"enabled": True}, "up": control.server("up")})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__echo")
        health = text(await client.call("remora", {"action": "health"}))
        assert "both" in health
        assert "neither" in health
    code, out, err = await home.cli("config", "validate")
    assert code == 3
    for name in ("both", "neither"):
        assert f"servers.{name}" in out + err


async def test_commands_change_the_list_of_an_open_session(home: Home, control: Control) -> None:
    up, late = control.server("up"), control.server("late")
    home.configure({"up": up})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__echo")
        identity = await client.send("tools/call", {"name": "up__block", "arguments": {}})
        await control.until("blocked", name="up")
        code, _, err = await home.cli("add", "late", "--", late["command"], *late["args"])
        assert code == 0, err
        await client.tools_with("late__echo")
        assert text(await client.call("late__echo", {"text": "hi"})) == "hi"
        code, _, err = await home.cli("disable", "late")
        assert code == 0, err
        await without(client, "late__")
        assert (await home.cli("enable", "late"))[0] == 0
        await client.tools_with("late__echo")
        assert (await home.cli("remove", "late", "-y"))[0] == 0
        await without(client, "late__")
        await control.tell("up", "release")
        assert text((await client.answer(identity))["result"]) == "released"


async def test_a_broken_file_at_start(home: Home, control: Control) -> None:
    """With a last good state that is served; without one only our own tool, which says why."""
    home.config.write_text("no_such_key = 1\n")
    async with front(home, "stdio-handshake") as client:
        assert list(await client.tools()) == ["remora", "read_more", "feedback"]
        assert "no_such_key" in text(await client.call("remora", {"action": "health"}))
        assert "no_such_key" in client.greeting["instructions"] or "config" in client.greeting["instructions"]
    code, _, err = await home.cli("serve")
    assert code == 3
    assert "no_such_key" in err
    home.configure({"up": control.server("up")})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__echo")
    home.config.write_text("no_such_key = 1\n")
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__echo")
        assert text(await client.call("up__echo", {"text": "as before"})) == "as before"


async def test_environment_goes_before_the_file(home: Home, control: Control) -> None:
    home.configure({name: control.server(name) for name in ("one", "two", "three")})
    env = {"REMORA_SERVERS__TWO__ENABLED": "false", "remora_catalog__page_size": "5"}
    async with front(home, "stdio-handshake", env=env) as client:
        tools = await client.tools_with("one__echo", "three__echo")
        assert not [name for name in tools if name.startswith("two__")]
        assert len((await client.result("tools/list"))["tools"]) == 5


async def test_values_are_expanded(home: Home, control: Control) -> None:
    secret = home.folder / "secret.txt"
    secret.write_text("from a file\n")
    values = {
        "A": "${GIVEN}", "B": "${env:GIVEN}!", "C": "${MISSING:-fallback}", "D": f"${{file:{secret}}}",
        "E": "$NOT ${GIVEN}/${GIVEN}",
    }  # fmt: skip
    home.configure(
        {"up": control.server("up", env=values), "lost": control.server("lost", env={"X": "${NOWHERE_SET}"})}
    )
    async with front(home, "stdio-handshake", env={"GIVEN": "here", "PRIVATE_THING": "x"}) as client:
        await client.tools_with("up__environment")
        env = json.loads(text(await client.call("up__environment")))
        assert [env[key].strip() for key in "ABCDE"] == ["here", "here!", "fallback", "from a file", "$NOT here/here"]
        assert "PRIVATE_THING" not in env
        assert not [key for key in env if key.startswith("REMORA_")]
        assert env["HOME"] == str(home.folder)
        assert "PATH" in env
        assert "NOWHERE_SET" in text(await client.call("remora", {"action": "health"}))
        assert not control.seen("start", name="lost")


async def test_dangerous_environment_is_refused(home: Home, control: Control) -> None:
    bad = {"LD_PRELOAD": "/tmp/x.so"}
    allowed = control.server("allowed", env={"PYTHONPATH": "/x"}, allow_dangerous_env=True)
    home.configure({"up": control.server("up"), "allowed": allowed})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("allowed__environment", "up__echo")
        assert json.loads(text(await client.call("allowed__environment")))["PYTHONPATH"] == "/x"
    home.configure({"up": control.server("up"), "bad": control.server("bad", env=bad)})
    code, out, err = await home.cli("config", "validate")
    assert code == 3
    assert "LD_PRELOAD" in out + err
