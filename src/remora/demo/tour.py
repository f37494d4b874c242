"""The tour of `remora demo`: real processes, real pipes, real numbers, all of it gone at the end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remora.demo.client import Client, connected, text_of
from remora.demo.server import PID_KEY, Message

SERVERS = ("notes", "tickets")
ROUNDS, TURN = 10, 30  # latency: turns of calls, direct and through the gateway by turns
PARALLEL, EACH_MS = 20, 100

# What an agent might do about a customer who cannot pay.
STORY: tuple[tuple[str, Message], ...] = (
    ("tickets__find_tickets", {"state": "open"}),
    ("notes__search_notes", {"query": "checkout"}),
    ("notes__add_note", {"title": "T-7", "text": "Pool size was 1 in the new region."}),
    ("notes__tidy_notes", {}),
    ("tickets__close_ticket", {"id": "T-9"}),
)


def command(server: str) -> list[str]:
    return [sys.executable, "-m", f"remora.demo.{server}"]


async def tour(environ: Mapping[str, str]) -> Message:
    """Everything that happened, as one document."""
    with tempfile.TemporaryDirectory(prefix="remora-demo-") as folder:
        home = Path(folder) / "home"
        env = {name: value for name, value in environ.items() if not name.startswith("REMORA_")}
        env |= {"REMORA_HOME": str(home), "REMORA_DAEMON": "off"}
        _configure(home)
        began = time.perf_counter()
        async with connected([sys.executable, "-m", "remora", "mcp"], env, folder) as gateway:
            hello = await gateway.initialize()
            answered = time.perf_counter() - began
            found = await _catalog(gateway)
            listed = time.perf_counter() - began
            return {
                "remora": hello["serverInfo"]["version"],
                "start": {"initialize_s": round(answered, 3), "first_list_s": round(listed, 3)},
                "catalog": found,
                "calls": (calls := [await _call(gateway, tool, arguments) for tool, arguments in STORY]),
                "parallel": await _parallel(gateway),
                "recovery": await _recovery(gateway, calls[-1]["pid"]),
                "stats": (await gateway.call("remora", {"action": "stats", "by": "tool"}))["structuredContent"],
                "latency": await _latency(gateway, env, folder),
            }


def _configure(home: Path) -> None:
    home.mkdir(mode=0o700)
    tables = []
    for name in SERVERS:
        program, *arguments = command(name)
        tables.append(f"[servers.{name}]\ncommand = {_toml(program)}\nargs = {_toml(arguments)}")
    (home / "config.toml").write_text("\n\n".join(tables) + "\n", encoding="utf-8")


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)  # TOML writes texts and lists of texts like JSON does


async def _catalog(gateway: Client) -> Message:
    """The same tools for a client of either era, on one and the same connection."""
    names: dict[bool, list[str]] = {}
    for modern in (False, True):
        listed = await gateway.request("tools/list", modern=modern)
        names[modern] = [tool["name"] for tool in listed["tools"]]
    status = (await gateway.call("remora", {"action": "status"}))["structuredContent"]["servers"]
    servers = [
        {"name": name, "protocol": row["era"], "tools": [tool for tool in names[True] if tool.startswith(f"{name}__")]}
        for name, row in status.items()
    ]
    return {"servers": servers, "tools": len(names[True]), "same_for_both_eras": names[False] == names[True]}


async def _call(gateway: Client, tool: str, arguments: Message) -> Message:
    gateway.progress.clear()
    began = time.perf_counter()
    result = await gateway.call(tool, arguments)
    took = round((time.perf_counter() - began) * 1000, 2)
    return {
        "tool": tool,
        "arguments": arguments,
        "outcome": "error" if result.get("isError") else "ok",
        "text": text_of(result),
        "structured": result.get("structuredContent"),
        "progress": list(gateway.progress),
        "pid": (result.get("_meta") or {}).get(PID_KEY),
        "ms": took,
    }


async def _parallel(gateway: Client) -> Message:
    began = time.perf_counter()
    await asyncio.gather(*(gateway.call("tickets__wait_for_reply", {"ms": EACH_MS}) for _ in range(PARALLEL)))
    return {"calls": PARALLEL, "each_ms": EACH_MS, "seconds": round(time.perf_counter() - began, 3)}


async def _recovery(gateway: Client, victim: int) -> Message:
    """Kill a server the hard way; the next call gets its answer all the same."""
    os.kill(victim, signal.SIGKILL)
    call = await _call(gateway, "tickets__find_tickets", {})
    return {"server": "tickets", "killed_pid": victim, "new_pid": call["pid"], "call": call}


async def _latency(gateway: Client, env: Mapping[str, str], folder: str) -> Message:
    """The same small call, direct and through the gateway by turns, so that both meet the same machine."""
    direct_ms, gateway_ms, added = list[float](), list[float](), list[float]()
    async with connected(command("notes"), env, folder) as direct:
        await direct.initialize()
        for _ in range(ROUNDS):
            one, other = await _turn(direct, "search_notes"), await _turn(gateway, "notes__search_notes")
            direct_ms += one
            gateway_ms += other
            added.append(statistics.median(other) - statistics.median(one))
    return {
        "calls": ROUNDS * TURN,
        "direct_p50_ms": round(statistics.median(direct_ms), 3),
        "gateway_p50_ms": round(statistics.median(gateway_ms), 3),
        "added_p50_ms": round(statistics.median(added), 3),
    }


async def _turn(client: Client, tool: str) -> list[float]:
    times = []
    for _ in range(TURN):
        began = time.perf_counter()
        await client.call(tool, {"query": "deploy"})
        times.append((time.perf_counter() - began) * 1000)
    return times
