"""Nothing is left behind: processes, file descriptors, sessions, run files; however the gateway ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest
from tests.support.client import EVERYTHING, text
from tests.support.control import Control
from tests.support.fronts import front
from tests.support.home import Home

CYCLES = int(os.environ.get("REMORA_TEST_CYCLES", "1000"))


def children(pid: int) -> set[int]:
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        found |= {int(child) for child in (task / "children").read_text().split()}
    return found


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


SERVERS = [("plain",), ("parent", "--child"), ("stubborn", "--stubborn"), ("hanging", "--start", "hang", "--child")]


async def started(control: Control) -> None:
    for name, *_ in SERVERS:
        await control.until("start", name=name)
    await control.until("start", name="parent-child")
    await control.until("start", name="hanging-child")


@pytest.mark.parametrize("door", ["stdio", "http"])
async def test_a_killed_gateway_leaves_no_process(home: Home, control: Control, door: str) -> None:
    servers = {name: control.server(name, *options) for name, *options in SERVERS}
    home.configure(servers, catalog={"first_list_wait_seconds": 0.1})
    if door == "stdio":
        async with front(home, "stdio-handshake") as client:
            await client.tools_with("plain__echo")
            await started(control)
            client.process.kill()  # type: ignore[attr-defined]
            await control.all_ended()
    else:
        async with home.serve() as gateway:
            await started(control)
            gateway.process.kill()
            await control.all_ended()


async def test_leaving_ends_every_server(home: Home, control: Control) -> None:
    """End of input, then SIGTERM to the group, then SIGKILL: grandchildren and the stubborn included."""
    servers = {name: control.server(name, *options) for name, *options in SERVERS}
    home.configure(servers, catalog={"first_list_wait_seconds": 0.1})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("plain__echo")
        await started(control)
    await control.all_ended()
    assert control.seen("eof", name="plain")  # asked politely first


async def test_a_disabled_server_takes_its_children_along(home: Home, control: Control) -> None:
    parent = control.server("parent", "--child", "--stubborn")
    home.configure({"parent": parent, "other": control.server("other")})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("parent__echo", "other__echo")
        await control.until("start", name="parent-child")
        pids = control.alive("parent") | control.alive("parent-child")
        assert len(pids) == 2
        home.configure({"parent": {**parent, "enabled": False}, "other": control.server("other")})
        await control.ended(*pids)
        assert len(control.alive("other")) == 1


async def test_a_crashed_server_takes_its_children_along(home: Home, control: Control) -> None:
    home.configure({"parent": control.server("parent", "--child", reconnect_delay_seconds=0.05)})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("parent__crash")
        await control.until("start", name="parent-child")
        (orphan,) = control.alive("parent-child")
        await client.call("parent__crash")
        await control.ended(orphan)
        assert text(await client.call("parent__echo", {"text": "on"})) == "on"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("door", ["stdio", "http"])
async def test_a_polite_signal_lets_calls_finish(
    home: Home, control: Control, door: str, number: signal.Signals
) -> None:
    home.configure({"up": control.server("up")})
    async with home.stdio() if door == "stdio" else home.serve() as gateway:
        client = gateway if door == "stdio" else gateway.client()
        if door == "http":
            await client.connect()
        await client.open()
        await client.tools_with("up__block")
        identity = await client.send("tools/call", {"name": "up__block", "arguments": {}})
        await control.until("blocked")
        gateway.process.send_signal(number)
        await control.tell("up", "release")
        assert text((await client.answer(identity))["result"]) == "released"
        assert await asyncio.wait_for(gateway.process.wait(), 20) == 0
        await control.all_ended()
        assert not (home.path / "run" / "daemon.json").exists()
        client.session = ""
        await client.close()


async def test_listen_streams_are_completed_at_the_end(home: Home) -> None:
    home.configure({})
    async with home.serve() as gateway, gateway.client(era="modern") as client:
        await client.open()
        listen = await client.watch("tools")
        assert listen is not None
        gateway.process.terminate()
        result = (await client.answer(listen))["result"]
        assert result["resultType"] == "complete"
        assert await asyncio.wait_for(gateway.process.wait(), 20) == 0


async def test_a_second_signal_ends_at_once(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with home.serve() as gateway, gateway.client() as client:
        await client.open()
        await client.tools_with("up__block")
        await client.send("tools/call", {"name": "up__block", "arguments": {}})
        await control.until("blocked")
        gateway.process.terminate()
        # The first signal closes the door: once that is seen, the second one is sent.
        host, port = gateway.root.removeprefix("http://").split(":")
        while True:
            try:
                _, writer = await asyncio.open_connection(host, int(port))
                writer.close()
                await asyncio.sleep(0.01)  # the door has no event of its own to wait for
            except OSError:
                break
        gateway.process.terminate()
        assert await asyncio.wait_for(gateway.process.wait(), 20) == 130
        client.session = ""
    await control.all_ended()


async def test_hangup_reads_the_config_again(home: Home, control: Control) -> None:
    home.configure({})
    async with home.serve() as gateway, gateway.client() as client:
        await client.open()
        home.configure({"up": control.server("up")})
        gateway.process.send_signal(signal.SIGHUP)
        await client.tools_with("up__echo")


async def test_run_files_of_a_killed_gateway_are_no_obstacle(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with home.serve() as gateway:
        await control.until("start", name="up")
        gateway.process.kill()
        await gateway.process.wait()
        await control.all_ended()
        assert (home.path / "run" / "daemon.json").exists()
    async with front(home, "http-handshake") as client:
        await client.tools_with("up__echo")


async def test_connecting_and_leaving_a_thousand_times(home: Home, control: Control) -> None:
    """Of every kind of front: process, children, descriptors and memory are afterwards what they were."""
    home.configure({"up": control.server("up")})
    async with home.serve() as gateway:
        pid = gateway.process.pid

        async def cycle(n: int) -> None:
            era = ("handshake", "modern")[n % 2]
            async with gateway.client(era=era, capabilities=EVERYTHING) as client:
                await client.open()
                if n % 4 < 2:
                    await client.call("up__echo", {"text": str(n)})
                if n % 8 == 3:
                    await client.watch()  # a listen stream cut off in the middle

        async def batch(first: int, count: int) -> None:
            for start in range(first, first + count, 8):
                await asyncio.gather(*(cycle(n) for n in range(start, min(start + 8, first + count))))

        async with gateway.client() as first:
            await first.open()
            await first.tools_with("up__echo")
        await batch(0, 64)
        before = (children(pid), descriptors(pid), resident_kb(pid))
        await batch(64, CYCLES)
        async with gateway.client() as last:
            await last.open()
            health = text(await last.call("remora", {"action": "health"}))
            assert "up" in health
        assert children(pid) == before[0]
        assert descriptors(pid) <= before[1] + 8  # keep-alive connections about to close
        assert resident_kb(pid) <= before[2] * 1.1 + 4096
        assert len(control.alive("up")) == 1
        assert len(control.seen("start", name="up")) == 1


async def test_stdio_fronts_leave_nothing_behind(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up", "--child")})
    for _ in range(10):
        async with front(home, "stdio-handshake") as client:
            await client.tools_with("up__echo")
            await client.call("up__echo", {"text": "x"})
    await control.all_ended()
    known = home.path / "run" / "upstreams.json"
    assert not known.exists() or not json.dumps(json.loads(known.read_text())).count('"pid"')
