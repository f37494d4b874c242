"""`remora stash` and `remora cache`: what is kept of results, shown and forgotten."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import click

from remora.doors.cli.terminal import Terminal, common

if TYPE_CHECKING:
    from remora.config.load import Loaded

Result = dict[str, Any]


@click.group(help="The originals of results that were made small: list them, show one, forget them.")
def stash() -> None: ...


@stash.command("list", help="List what is kept, the last used first. Originals with secrets are in no file: not here.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="How many at most.")
@common
@click.pass_obj
def list_command(terminal: Terminal, limit: int) -> int:
    from remora.doors.cli.engine import offline
    from remora.operations.text import stash_list_text

    terminal.show(asyncio.run(offline(terminal.loaded(), "stash.list", {"limit": limit})), stash_list_text)
    return 0


@stash.command(help="Print an original in full, as the server sent it.")
@click.argument("handle")
@common
@click.pass_obj
def show(terminal: Terminal, handle: str) -> int:
    from remora.doors.cli.engine import offline

    found = asyncio.run(offline(terminal.loaded(), "stash.show", {"handle": handle}))
    if terminal.as_json:
        from remora.privacy.output import redact_text

        terminal.print_json({**found, "text": redact_text(found["text"], personal=False)})
    else:
        click.echo(found["text"], nl=sys.stdout.isatty() and not found["text"].endswith("\n"))
    return 0


@stash.command(help="Forget one original, or all: what was left out of earlier results cannot be read any more.")
@click.argument("handle", default="", metavar="[HANDLE]")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what would be forgotten, and change nothing.")
@common
@click.pass_obj
def clear(terminal: Terminal, handle: str, yes: bool, dry_run: bool) -> int:
    from remora.doors.cli.engine import offline

    loaded = terminal.loaded()
    if dry_run:
        kept = asyncio.run(offline(loaded, "stash.list", {"limit": 10_000}))["entries"]
        would = sum(1 for entry in kept if not handle or entry["handle"] == handle)
        terminal.show(
            {"cleared": 0, "would_clear": would}, lambda shown: f"{shown['would_clear']:,} would be forgotten"
        )
        return 0
    terminal.confirm(f"Forget {f'the original {handle}' if handle else 'all originals'}?", yes)
    done = _told(terminal, loaded, "stash.clear", {"handle": handle})
    terminal.show(done, lambda shown: f"{shown['cleared']:,} forgotten")
    return 0


@click.group(help="The kept results of read-only tools.")
def cache() -> None: ...


@cache.command("clear", help="Forget kept results: of one server, of one tool, or all. The next call asks the server.")
@click.option("--server", metavar="NAME", default="", help="One server alone.")
@click.option("--tool", metavar="NAME", default="", help="One tool alone, by the server's own name for it.")
@common
@click.pass_obj
def clear_cache(terminal: Terminal, server: str, tool: str) -> int:
    done = _told(terminal, terminal.loaded(), "cache.clear", {"server": server, "tool": tool})
    terminal.show(done, lambda shown: f"{shown['cleared']:,} forgotten")
    return 0


def _told(terminal: Terminal, loaded: Loaded, operation: str, asked: Result) -> Result:
    """Through the running engine, whose memory has some of it too; else in the files."""
    from remora.doors.cli.engine import offline, running

    engine = running(loaded, terminal.surroundings())
    if engine is not None:
        return engine.ask(operation.replace(".", "_"), {name: value for name, value in asked.items() if value})
    return asyncio.run(offline(loaded, operation, asked))
