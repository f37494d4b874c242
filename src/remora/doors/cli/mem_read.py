"""`remora mem search|list|show|history|…`: looking into the memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from remora.doors.cli.mem_store import ask, place, store_argument, store_option, tell
from remora.doors.cli.terminal import Terminal, common

F = TypeVar("F", bound=Callable[..., Any])


def filters(command: F) -> F:
    """Options that narrow what is looked at; the operation knows them by these names."""
    for option in (
        click.option("--archived", "include_archived", is_flag=True, help="Archived memories too."),
        click.option("--superseded", "include_superseded", is_flag=True, help="Memories that were replaced too."),
        click.option("--namespace", metavar="NAME", help="Look only here; * = everywhere."),
        click.option("--key", "subject_key_prefix", metavar="PREFIX", help="Only below this key."),
        click.option("--time", metavar="WHEN", help='Only from then, such as "last week" or 2026-03.'),
        click.option("--all-tags", "tag_match", flag_value="all", help="Only with every tag given."),
        click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only with this tag; may be repeated."),
        click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only this kind; may be repeated."),
    ):
        command = option(command)
    return command


@click.command("list", help="List memories, newest first.")
@store_argument
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many.")
@click.option("--as-of", metavar="WHEN", help="As it was then.")
@filters
@common
@click.pass_obj
def list_command(terminal: Terminal, /, store: Path | None, **given: Any) -> int:
    from remora.operations.memory_text import NO_MATCHES, NOTHING_YET, lines

    chosen = {name: value for name, value in given.items() if value not in (None, (), False) and name != "limit"}
    found: dict[str, Any] = {"memories": []}
    if place(terminal, store).exists():  # looking makes no store
        (found,) = ask(terminal, store, ("memory.recall", given))
    tell(terminal, found, lambda shown: lines(shown["memories"]) or (NO_MATCHES if chosen else NOTHING_YET))
    return 0


@click.command("search", help="Find memories that answer a question, best first.")
@click.argument("query")
@store_option
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many.")
@click.option("--mode", type=click.Choice(["hybrid", "semantic", "exact"]), help="How to search.")
@click.option("--min-score", type=float, help="Only this likely to answer (0 to 1), or more.")
@click.option("--as-of", metavar="WHEN", help="As it was then.")
@click.option("--cursor", help="Go on where the last page ended.")
@click.option("--explain", is_flag=True, help="Say why each was found.")
@filters
@common
@click.pass_obj
def search(terminal: Terminal, /, store: Path | None, explain: bool, **given: Any) -> int:
    from remora.operations.memory_text import NO_MATCHES, lines

    (found,) = ask(terminal, store, ("memory.recall", given))
    tell(terminal, found, lambda shown: lines(shown["memories"], ranked=True, explain=explain) or NO_MATCHES)
    if found.get("next_cursor"):
        terminal.note(f"more: --cursor {found['next_cursor']}")
    return 0


@click.command(help="Show one memory.")
@click.argument("id")
@store_option
@click.option("--all", "everything", is_flag=True, help="Relations and versions too.")
@click.option("--as-of", metavar="WHEN", help="As it was then.")
@common
@click.pass_obj
def show(terminal: Terminal, store: Path | None, id: str, everything: bool, as_of: str | None) -> int:
    from remora.operations.memory_text import full

    calls: list[tuple[str, dict[str, Any]]] = [("memory.get", {"id": id, "as_of": as_of})]
    calls += [("memory.history", {"id": id})] if everything else []
    found, *more = ask(terminal, store, *calls)
    tell(terminal, found | (more[0] if more else {}), lambda shown: full(shown, everything=everything))
    return 0


@click.command(help="Show every version of a memory: what changed, when, and by whom.")
@click.argument("id")
@store_option
@click.option("--diff", is_flag=True, help="Show changed words instead of whole texts.")
@common
@click.pass_obj
def history(terminal: Terminal, store: Path | None, id: str, diff: bool) -> int:
    from remora.operations.memory_text import history_text

    (found,) = ask(terminal, store, ("memory.history", {"id": id}))
    tell(terminal, found, lambda shown: history_text(shown, diff=diff))
    return 0


@click.command(help="Show for each sentence of a memory the operation that brought it in.")
@click.argument("id")
@store_option
@common
@click.pass_obj
def blame(terminal: Terminal, store: Path | None, id: str) -> int:
    from remora.operations.memory_text import blame_text

    tell(terminal, ask(terminal, store, ("memory.blame", {"id": id}))[0], blame_text)
    return 0


@click.command(help="Show the log of operations, newest first.")
@store_option
@click.option("--since", metavar="WHEN", help="Only from then on.")
@click.option("--until", metavar="WHEN", help="Only before.")
@click.option("--kind", metavar="WHAT", help="Only such operations: create, update, delete, …")
@click.option("--id", metavar="ID", help="Only of this memory.")
@click.option("--limit", type=click.IntRange(1, 100000), default=100, show_default=True, help="How many.")
@common
@click.pass_obj
def audit(terminal: Terminal, /, store: Path | None, **given: Any) -> int:
    from remora.operations.memory_text import audit_text

    tell(terminal, ask(terminal, store, ("memory.audit", given))[0], audit_text)
    return 0


@click.command(help="What is known about you, and what happened last.")
@store_argument
@common
@click.pass_obj
def about(terminal: Terminal, store: Path | None) -> int:
    from remora.operations.memory_text import about_text

    tell(terminal, ask(terminal, store, ("memory.about", {}))[0], about_text)
    return 0


@click.command("as-of", help="Run list, search or show on the memory as it was at a time.",
               context_settings={"ignore_unknown_options": True})  # fmt: skip
@click.argument("when")
@click.argument("command", type=click.Choice(["list", "search", "recall", "show"]))
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@common
@click.pass_obj
def as_of(terminal: Terminal, when: str, command: str, words: tuple[str, ...]) -> int:
    chosen = {"list": list_command, "search": search, "recall": search, "show": show}[command]
    code: int = chosen.main(args=[*words, "--as-of", when], prog_name=f"remora mem {command}", standalone_mode=False,
                            obj=terminal)  # fmt: skip
    return code
