"""`remora mem …`: the long-term memory. Works on the store itself; no gateway need run."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import click

_AT = "remora.doors.cli."
COMMANDS: Mapping[str, str] = {
    "init": "mem_care:init",
    "list": "mem_read:list_command",
    "search": "mem_read:search",
    "recall": "mem_read:search",
    "show": "mem_read:show",
    "store": "mem_write:store",
    "update": "mem_write:update",
    "forget": "mem_write:forget",
    "forget-prefix": "mem_write:forget_prefix",
    "restore": "mem_write:restore",
    "undo": "mem_write:undo",
    "history": "mem_read:history",
    "blame": "mem_read:blame",
    "audit": "mem_read:audit",
    "as-of": "mem_read:as_of",
    "about": "mem_read:about",
    "graph": "mem_judge:graph",
    "conflicts": "mem_judge:conflicts",
    "resolve": "mem_judge:resolve",
    "pending": "mem_judge:pending",
    "tags": "mem_judge:tags",
    "mode": "mem_judge:mode",
    "verify": "mem_care:verify",
    "stats": "mem_care:stats",
    "reembed": "mem_care:reembed",
    "export": "mem_transfer:export",
    "import": "mem_transfer:import_command",
    "import_data": "mem_transfer:import_data",
    "backup": "mem_transfer:backup",
    "start": "run:mcp",
}


class Verbs(click.Group):
    """Imports a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (where := COMMANDS.get(cmd_name)) is None:
            return None
        module, _, name = where.partition(":")
        command: click.Command = getattr(importlib.import_module(_AT + module), name)
        return command


@click.group(cls=Verbs, help="The long-term memory: everything there is to do with it.")
def mem() -> None:
    pass
