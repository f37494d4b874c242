"""`remora status`, `health` and `stats`: what the gateway says of itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from remora.doors.cli.terminal import Terminal, common

if TYPE_CHECKING:
    from remora.config.load import Loaded
    from remora.doors.cli.engine import Running

Result = dict[str, Any]
ALL_FAILED, PARTLY_FAILED = 1, 4


@click.command(help="Show the running gateway: servers, sessions, errors. Without one, what is configured.")
@common
@click.pass_obj
def status(terminal: Terminal) -> int:
    from remora.doors.cli.engine import running

    loaded = terminal.loaded()
    engine = running(loaded, terminal.surroundings())
    found = engine.ask("status", {}) if engine else asyncio.run(_configured(loaded))
    enabled = any(server.enabled for server in loaded.config.servers.values())
    document = {"config_path": found["config_path"], "enabled": enabled, "daemon": _daemon(engine, found), **found}
    terminal.show(document, _status_text)
    return 0


def _daemon(engine: Running | None, found: Result) -> Result | None:
    if engine is None:
        return None
    return {"pid": engine.pid, "version": engine.version, "uptime_seconds": found.get("uptime_seconds"),
            "doors": {"http": f"{engine.url}/mcp"}, "started_by": engine.started_by}  # fmt: skip


async def _configured(loaded: Loaded) -> Result:
    """What there is to say without a running gateway."""
    from remora.doors.cli.engine import offline

    listed = await offline(loaded, "servers.list", {"names": True})
    rows = {
        name: {
            "state": "failed" if "problem" in row else "idle" if row["enabled"] else "disabled",
            "transport": row["transport"],
            "tools": len(row["names"]),
            "last_error": row.get("problem"),
        }
        for name, row in listed["servers"].items()
    }
    return {"config_path": listed["config_path"], "servers": rows, "sessions": []}


def _status_text(document: Result) -> str:
    from remora.operations.text import status_text

    daemon = document["daemon"]
    if daemon is None:
        running = "not running (agents start their own with `remora mcp`; `remora serve` starts one for all)"
    else:
        running = f"pid {daemon['pid']}, {daemon['version']}, {daemon['doors']['http']}"
    return f"engine    {running}\n{status_text(document)}"


@click.command(help="Ask every server whether it is there, or only those named. Exit 4: some failed, 1: all.")
@click.argument("names", nargs=-1)
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True, max=300), default=10.0, show_default=True,
              help="Seconds to wait for each.")  # fmt: skip
@click.option("--names", "show_names", is_flag=True, help="Show every tool's own name and the one it is served by.")
@click.option("--refresh", is_flag=True, help="Read their lists again.")
@common
@click.pass_obj
def health(terminal: Terminal, names: tuple[str, ...], timeout: float, show_names: bool, refresh: bool) -> int:
    from remora.doors.cli.engine import running
    from remora.operations.text import health_text

    loaded = terminal.loaded()
    asked = {"names": list(names), "timeout": timeout, "show_names": show_names, "refresh": refresh}
    engine = running(loaded, terminal.surroundings())
    found = engine.ask("health", asked) if engine else asyncio.run(_own_health(terminal, loaded, asked))
    terminal.show(found, health_text)
    return exit_code(found, names)


async def _own_health(terminal: Terminal, loaded: Loaded, asked: Result) -> Result:
    from remora.doors.cli.engine import own_engine
    from remora.operations.registry import run

    terminal.start_logging(loaded)
    known = {*loaded.config.servers, *loaded.broken_servers}
    only = asked["names"] if known.issuperset(asked["names"]) else ()
    async with own_engine(loaded, terminal.surroundings(), only) as app:
        return await run(app.context(), "gateway.health", asked)


def exit_code(found: Result, named: tuple[str, ...] = ()) -> int:
    """A server that is switched off has not failed, unless it was asked for by name."""
    rows = [row for row in found["servers"].values() if named or row["state"] != "disabled"]
    well = sum(row["connected"] for row in rows)
    if well == len(rows):
        return 0
    return PARTLY_FAILED if well else ALL_FAILED


@click.command(help="Count calls, errors, sizes and latencies.")
@click.option("--since", metavar="7d", default="7d", show_default=True, help="How far back: 90s, 15m, 24h, 7d, 2w.")
@click.option(
    "--by", type=click.Choice(["server", "tool", "client", "project", "strategy", "day"]), help="A row for each."
)
@click.option("--session", metavar="ID", default="", help="One session alone.")
@click.option("--tool-defs", is_flag=True, help="What the tool lists of each session cost.")
@common
@click.pass_obj
def stats(terminal: Terminal, since: str, by: str | None, session: str, tool_defs: bool) -> int:
    from remora.doors.cli.engine import offline
    from remora.operations.text import stats_text

    asked = {"since": since, "by": by, "session_id": session, "tool_defs": tool_defs}
    terminal.show(asyncio.run(offline(terminal.loaded(), "gateway.stats", asked)), stats_text)
    return 0
