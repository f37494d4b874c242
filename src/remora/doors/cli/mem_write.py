"""`remora mem store|update|forget|…`: changing what is remembered."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from remora.doors.cli.mem_store import FILE, ask, store_option, tell
from remora.doors.cli.terminal import Terminal, common


@click.command("store", help="Keep a statement; `-` reads it from stdin.")
@click.argument("text", required=False)
@store_option
@click.option("--from-file", type=FILE, metavar="FILE", help="Read the text from a file; - = stdin.")
@click.option("--kind", metavar="KIND", help="What it is: fact, decision, lesson, event, …")
@click.option(
    "--key", "subject_key", metavar="KEY", help="What it is about, such as user.theme; same key = new version."
)
@click.option("--importance", type=float, help="From 0 to 1.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag; may be repeated.")
@click.option("--namespace", metavar="NAME", help="Where to keep it.")
@click.option("--scope", metavar="GLOB", help="Paths it is about, such as src/billing/**.")
@click.option("--supersedes", multiple=True, metavar="ID", help="A memory it replaces; may be repeated.")
@click.option("--ttl", metavar="SPAN", help="Hide it after this time, such as 30d.")
@click.option("--valid-from", metavar="WHEN", help="From when it is true.")
@click.option("--valid-to", metavar="WHEN", help="Until when it is true.")
@click.option(
    "--trigger", "triggers", multiple=True, metavar="TYPE:VALUE", help="What brings it up, such as path:db/**."
)
@click.option("--metadata", metavar="JSON", help="An object of further fields.")
@click.option("--conversation", "conversation_id", metavar="ID", help="The conversation it belongs to.")
@click.option("--pinned", is_flag=True, help="Never replaced or put away by itself.")
@click.option("--private", "sensitivity", flag_value="private", help="Never sent to a remote encoder.")
@common
@click.pass_obj
def store(terminal: Terminal, /, **given: Any) -> int:
    from remora.operations.memory_text import stored_text

    path, file, text = given.pop("store"), given.pop("from_file"), given.pop("text")
    if (text is None) == (file is None):
        raise click.UsageError("give a text or --from-file")
    if file is not None and str(file) != "-":
        text = file.read_text(encoding="utf-8")
    elif file is not None or text == "-":
        text = sys.stdin.read()
    given["metadata"] = _object(given["metadata"])
    given["pinned"] = given["pinned"] or None
    tell(terminal, ask(terminal, path, ("memory.remember", {**given, "content": text}))[0], stored_text)
    return 0


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        found = json.loads(text)
    except ValueError as problem:
        raise click.UsageError(f"--metadata is not JSON: {problem}") from problem
    if not isinstance(found, dict):
        raise click.UsageError("--metadata wants a JSON object")
    return found


@click.command(help="Change fields of a memory; the old state stays in its history.")
@click.argument("id")
@click.argument("text", required=False)
@store_option
@click.option("--kind", metavar="KIND", help="Another kind.")
@click.option("--key", "subject_key", metavar="KEY", help="Another key; empty = none.")
@click.option("--importance", type=float, help="From 0 to 1.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="These tags instead; may be repeated.")
@click.option("--add-tag", "add_tags", multiple=True, metavar="TAG", help="One more tag; may be repeated.")
@click.option("--remove-tag", "remove_tags", multiple=True, metavar="TAG", help="One tag less; may be repeated.")
@click.option("--metadata", metavar="JSON", help="Fields to lay over its metadata; null takes one away.")
@click.option("--valid-from", metavar="WHEN", help="From when it is true.")
@click.option("--valid-to", metavar="WHEN", help="Until when it is true.")
@click.option("--pin/--unpin", "pinned", default=None, help="Never replaced or put away by itself, or again so.")
@click.option("--reason", metavar="TEXT", help="Why; kept in the history.")
@click.option("--if-version", type=int, metavar="N", help="Only if it is still at this version.")
@common
@click.pass_obj
def update(terminal: Terminal, /, **given: Any) -> int:
    from remora.operations.memory_text import updated_text

    path, given["content"] = given.pop("store"), given.pop("text")
    given["metadata"] = _object(given["metadata"])
    tell(terminal, ask(terminal, path, ("memory.update", given))[0], updated_text)
    return 0


@click.command(help="Put a memory away: restore and undo bring it back. With --hard it is erased for good.")
@click.argument("id")
@store_option
@click.option("--archive", is_flag=True, help="Only out of sight, and kept for ever.")
@click.option("--hard", is_flag=True, help="Erase text and history; nothing brings them back.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@common
@click.pass_obj
def forget(terminal: Terminal, store: Path | None, id: str, archive: bool, hard: bool, yes: bool) -> int:
    from remora.operations.memory_text import forgotten_text

    if hard:
        terminal.confirm(f"Erase {id} and its history for good?", yes)
    given = {"ids": [id], "archive": archive, "hard": hard}
    tell(terminal, ask(terminal, store, ("memory.forget", given))[0], forgotten_text)
    return 0


@click.command("forget-prefix", help="Archive everything below a key: `user.` means user and all of user.…")
@click.argument("prefix")
@store_option
@click.option("--hard", is_flag=True, help="Erase texts and history; nothing brings them back.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@common
@click.pass_obj
def forget_prefix(terminal: Terminal, store: Path | None, prefix: str, hard: bool, yes: bool) -> int:
    from remora.operations.memory_text import counted, forgotten_text

    if not prefix.strip(". "):
        raise click.UsageError("an empty prefix would mean everything")
    given = {"subject_key_prefix": prefix, "archive": not hard, "hard": hard}
    if hard:
        (seen,) = ask(terminal, store, ("memory.forget", {**given, "dry_run": True}))
        terminal.confirm(f"Erase {counted(seen['count'])} and their history for good?", yes)
        given["confirm_count"] = seen["count"]
    tell(terminal, ask(terminal, store, ("memory.forget", given))[0], forgotten_text)
    return 0


@click.command(help="Bring back what was archived or deleted: memories, or the batch that took them away.")
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@store_option
@click.option("--drop-key", is_flag=True, help="Without its key, where another memory has it now.")
@common
@click.pass_obj
def restore(terminal: Terminal, store: Path | None, ids: tuple[str, ...], drop_key: bool) -> int:
    from remora.operations.memory_text import restored_text

    tell(terminal, ask(terminal, store, ("memory.restore", {"ids": ids, "drop_key": drop_key}))[0], restored_text)
    return 0


@click.command(help="Take back an operation or a batch; without one the last that was done from here.")
@click.argument("operation", required=False)
@store_option
@click.option("--last", type=click.IntRange(1, 1000), default=1, show_default=True, help="How many, without OPERATION.")
@click.option("--force", is_flag=True, help="Even where the same fields were changed since.")
@common
@click.pass_obj
def undo(terminal: Terminal, store: Path | None, operation: str | None, last: int, force: bool) -> int:
    from remora.operations.memory_text import undone_text

    given = {"op_id": operation, "last": last, "force": force}
    tell(terminal, ask(terminal, store, ("memory.undo", given))[0], undone_text)
    return 0
