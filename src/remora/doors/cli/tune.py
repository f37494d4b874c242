"""`remora tune`: better settings from what was recorded; applied and taken back on request."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from remora.doors.cli.terminal import Terminal, common

Result = dict[str, Any]


@click.command(
    help="Recommend settings by what agents had to ask for again; apply them, take them back. "
    "Without --apply, --rollback or --history nothing is changed.",
    epilog="remora tune --since 7d --apply 3fa9c1d2",
)
@click.argument("ids", nargs=-1, metavar="[IDS]...")
@click.option("--since", metavar="24h", default="24h", show_default=True, help="How far back: 90s, 15m, 24h, 7d, 2w.")
@click.option("--tool", metavar="S/T", default="", help="One tool alone.")
@click.option("--apply", "apply_them", is_flag=True, help="Write the recommendations with these IDS, or all of them.")
@click.option("--rollback", metavar="ID|last", default="", help="Take back one change by its number, or the last.")
@click.option("--history", is_flag=True, help="Show what was applied and taken back.")
@common
@click.pass_obj
def tune(
    terminal: Terminal, ids: tuple[str, ...], since: str, tool: str, apply_them: bool, rollback: str, history: bool
) -> int:
    if sum((apply_them, bool(rollback), history)) > 1:
        raise click.UsageError("--apply, --rollback and --history exclude each other")
    if ids and not apply_them:
        raise click.UsageError("IDS are for --apply")
    window: Result = {"since": since, "tool": tool}
    if apply_them:
        chosen = [one for word in ids for one in word.split(",") if one]
        return _do(terminal, "tuning.apply", {**window, "ids": chosen})
    if rollback:
        return _do(terminal, "tuning.rollback", {"change": rollback})
    return _do(terminal, "tuning.history", {}) if history else _do(terminal, "tuning.recommend", window)


def _do(terminal: Terminal, operation: str, asked: Result) -> int:
    from remora.doors.cli.engine import offline
    from remora.operations.registry import OPERATIONS

    found = asyncio.run(offline(terminal.loaded(), operation, asked))
    terminal.show(found, OPERATIONS[operation].render)
    return 0
