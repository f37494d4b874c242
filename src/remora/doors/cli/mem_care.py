"""`remora mem init|stats|verify|reembed`: looking after the store."""

from __future__ import annotations

from pathlib import Path

import click

from remora.doors.cli.mem_store import ask, place, store_argument, tell
from remora.doors.cli.terminal import Terminal, common


@click.command(help="Make the store. It is also made when something is first stored.")
@store_argument
@click.option("--force", is_flag=True, help="Bring an existing store up to date; nothing in it is lost.")
@common
@click.pass_obj
def init(terminal: Terminal, store: Path | None, force: bool) -> int:
    path = place(terminal, store)
    if path.exists() and not force:
        tell(terminal, {"path": str(path), "made": False}, lambda told: f"There is a memory at {told['path']} already")
        return 1
    ask(terminal, store, ("memory.stats", {}))
    tell(terminal, {"path": str(path), "made": True}, lambda told: f"Initialized remora at {told['path']}")
    return 0


@click.command(help="Count memories, and tell what finds them.")
@store_argument
@common
@click.pass_obj
def stats(terminal: Terminal, store: Path | None) -> int:
    from remora.operations.memory_text import stats_text

    tell(terminal, ask(terminal, store, ("memory.stats", {}))[0], stats_text)
    return 0


@click.command(help="Check the store. Exit 1 if something is wrong.")
@store_argument
@click.option("--deep", is_flag=True, help="Check every rule, row by row.")
@click.option("--repair", is_flag=True, help="Make what is derived from the memories anew; they stay as they are.")
@common
@click.pass_obj
def verify(terminal: Terminal, store: Path | None, deep: bool, repair: bool) -> int:
    from remora.operations.memory_text import verified_text

    (found,) = ask(terminal, store, ("memory.verify", {"deep": deep, "repair": repair}))
    tell(terminal, found, verified_text)
    return int(any(status == "FAIL" for status, _, _ in found["checks"]))


@click.command(help="Give every memory its vector now, and wait for it.")
@store_argument
@common
@click.pass_obj
def reembed(terminal: Terminal, store: Path | None) -> int:
    from remora.operations.memory_text import spaces_text

    tell(terminal, ask(terminal, store, ("memory.reembed", {}))[0], spaces_text)
    return 0
