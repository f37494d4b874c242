"""What the commands of the memory share: the store they work on, and how they ask and answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from remora.doors.cli.terminal import Terminal

Result = dict[str, Any]
F = TypeVar("F", bound=Callable[..., Any])
FILE = click.Path(path_type=Path)


def store_option(command: F) -> F:
    return click.option("--store", type=FILE, metavar="FILE", help="Another store than the home's memory.db.")(command)


def store_argument(command: F) -> F:
    return click.argument("store", required=False, type=FILE, metavar="[PATH]")(command)


def place(terminal: Terminal, store: Path | None) -> Path:
    return (store or terminal.loaded().paths.memory_db).expanduser().absolute()


def ask(terminal: Terminal, store: Path | None, *calls: tuple[str, Mapping[str, Any]]) -> list[Result]:
    """Operations on the memory, one after the other, each with the arguments that were given."""
    return asyncio.run(_ask(terminal, store, calls))


async def _ask(
    terminal: Terminal, store: Path | None, calls: tuple[tuple[str, Mapping[str, Any]], ...]
) -> list[Result]:
    from remora.doors.cli.engine import files_only
    from remora.operations import memory, memory_care, memory_history  # noqa: F401 - they register their operations
    from remora.operations.memory_room import MemoryRoom
    from remora.operations.registry import run

    loaded = terminal.loaded()
    loaded.paths.create()
    path = (store or loaded.paths.memory_db).expanduser().absolute()
    room = MemoryRoom(path, lambda: loaded.config, terminal.surroundings().variables)
    try:
        async with files_only(loaded) as context:
            here = replace(context, memory=room)
            return [await run(here, name, _given(arguments)) for name, arguments in calls]
    finally:
        await room.close()


def _given(arguments: Mapping[str, Any]) -> Result:
    """Without options that were not used; lists for click's tuples."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in arguments.items()
        if value is not None and value != ()
    }


def tell(terminal: Terminal, document: Mapping[str, Any], render: Callable[[Any], str]) -> None:
    """Memories as they are: what is secret in them was blacked out when they were kept."""
    for warning in _warnings(document):
        terminal.note(f"warning: {warning}")
    terminal.print_json(document) if terminal.as_json else click.echo(render(document))


def _warnings(document: Mapping[str, Any]) -> list[str]:
    found = list(document.get("warnings") or ())
    for item in document.get("items") or ():
        found += (item or {}).get("warnings", ())
    return found
