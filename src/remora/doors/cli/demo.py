"""`remora demo`: the gateway at work, told in a page."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import click

from remora.doors.cli.run import program_path
from remora.doors.cli.terminal import Terminal, common

Result = dict[str, Any]
LABEL, WIDTH = 10, 100
SPEAKS = {True: "stateless", False: "with a handshake"}


@click.command(
    help="Show the gateway at work: two small MCP servers that come along, real calls through it, and what happened. "
    "In a temporary home; nothing of yours is read or changed.",
)
@common
@click.pass_obj
def demo(terminal: Terminal) -> int:
    from remora.demo.client import Failed
    from remora.demo.tour import tour
    from remora.errors import RemoraError

    try:
        seen = asyncio.run(tour(terminal.surroundings().variables))
    except Failed as problem:
        raise RemoraError(f"the tour broke off: {problem}") from problem
    if terminal.as_json:
        terminal.print_json(seen)
    else:
        click.echo(page(terminal, seen))
    return 0


def page(terminal: Terminal, seen: Result) -> str:
    start, parallel, recovery = seen["start"], seen["parallel"], seen["recovery"]
    latency, stats = seen["latency"], seen["stats"]
    told = {
        "start": [
            f"The gateway answered after {start['initialize_s']:.2f} s, and listed the tools of both servers "
            f"after {start['first_list_s']:.2f} s."
        ],
        "servers": _servers(seen["catalog"]),
        "calls": [line for call in seen["calls"] for line in _call(terminal, call)],
        "at once": [
            f"{parallel['calls']} calls of {parallel['each_ms']} ms each took {parallel['seconds']:.2f} s together."
        ],
        "kill -9": [
            f"Process {recovery['killed_pid']} ({recovery['server']}) was killed. The next call was answered by "
            f"process {recovery['new_pid']}, {recovery['call']['ms']:.0f} ms later."
        ],
        "cost": [
            f"Median of {latency['calls']} calls: {latency['direct_p50_ms']:.2f} ms direct, "
            f"{latency['gateway_p50_ms']:.2f} ms through Remora."
        ],
        "record": [
            f"{stats['calls']} calls, {stats['errors']['total']} error, "
            f"{stats['latency_ms']['own']['p50']:.2f} ms of Remora's own time at the median: see `remora stats`."
        ],
        "next": [
            "remora add NAME -- COMMAND ARG…    puts a server of yours behind it; then let an agent start it:",
            f"claude mcp add rem -- {program_path()} mcp",
        ],
    }
    title = "Two MCP servers behind one connection, in a temporary home. Nothing of yours is read or changed."
    return "\n\n".join([title, *(_section(terminal, label, lines) for label, lines in told.items())])


def _section(terminal: Terminal, label: str, lines: list[str]) -> str:
    indented = f"\n{'':{LABEL}}".join(lines)
    return terminal.paint(label.ljust(LABEL), "cyan") + indented


def _servers(catalog: Result) -> list[str]:
    rows = []
    for server in catalog["servers"]:
        tools = ", ".join(name.partition("__")[2] for name in server["tools"])
        how = SPEAKS[server["protocol"] >= "2026"]
        rows.append(f"{server['name']:<8} speaks {server['protocol']}, {how:<17} {tools}")
    same = "the same" if catalog["same_for_both_eras"] else "not the same"
    return [*rows, f"A client of either protocol generation sees {same} {catalog['tools']} tools."]


def _call(terminal: Terminal, call: Result) -> list[str]:
    told = f"{call['tool']} {json.dumps(call['arguments'], ensure_ascii=False)}"
    outcome = terminal.paint(call["outcome"].ljust(5), "green" if call["outcome"] == "ok" else "red")
    lines = [f"{_cut(told, 78):<78}  {outcome} {call['ms']:>6.1f} ms"]
    if call["progress"]:
        lines.append(f"  progress {', '.join(call['progress'])}")
    return [*lines, f"  {_cut(call['text'], WIDTH - LABEL)}"]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
