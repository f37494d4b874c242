"""`remora mem pending|conflicts|tags|graph`: what a person decides about memories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from remora.doors.cli.mem_store import ask, store_option, tell
from remora.doors.cli.terminal import Terminal, common


@click.group(help="What waits for approval: list, approve, reject.", invoke_without_command=True)
@store_option
@common
@click.pass_context
def pending(ctx: click.Context, store: Path | None) -> int:
    from remora.operations.memory_text import listed_text

    if ctx.invoked_subcommand is None:
        tell(ctx.obj, ask(ctx.obj, store, ("memory.pending", {"namespace": "*"}))[0], listed_text)
    return 0


@pending.command(help="Keep what waits.")
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@store_option
@click.option("--text", "content", metavar="TEXT", help="In these words instead.")
@common
@click.pass_obj
def approve(terminal: Terminal, store: Path | None, ids: tuple[str, ...], content: str | None) -> int:
    from remora.operations.memory_text import stored_text

    given = {"ids": ids, "approve": True, "content": content}
    tell(terminal, ask(terminal, store, ("memory.review", given))[0], stored_text)
    return 0


@pending.command(help="Put away what waits; undo brings it back.")
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@store_option
@common
@click.pass_obj
def reject(terminal: Terminal, store: Path | None, ids: tuple[str, ...]) -> int:
    (done,) = ask(terminal, store, ("memory.review", {"ids": ids, "approve": False}))
    tell(terminal, done, lambda shown: "\n".join(f"Rejected {one['id']}" for one in shown["items"]))
    return 0


@click.command(help="Statements that disagree; * marks the one that seems right.")
@store_option
@click.option(
    "--status", type=click.Choice(["open", "resolved", "dismissed", "all"]), default="open", help="Which ones."
)
@common
@click.pass_obj
def conflicts(terminal: Terminal, store: Path | None, status: str) -> int:
    from remora.operations.memory_text import conflicts_text

    tell(terminal, ask(terminal, store, ("memory.conflicts", {"status": status}))[0], conflicts_text)
    return 0


@click.command(help="Decide between two statements: WINNER takes the place of LOSER.")
@click.argument("winner")
@click.argument("loser")
@store_option
@click.option("--keep-both", "how", flag_value="keep_both", help="Both are right.")
@click.option("--text", metavar="TEXT", help="What is right, written into the winner.")
@common
@click.pass_obj
def resolve(terminal: Terminal, /, store: Path | None, **given: Any) -> int:
    tell(
        terminal,
        ask(terminal, store, ("memory.resolve", given))[0],
        lambda done: f"Resolved (batch {done['batch_id']})",
    )
    return 0


@click.group(help="Count the tags; rename, merge or remove them.", invoke_without_command=True)
@store_option
@click.option("--namespace", metavar="NAME", help="Look only here; * = everywhere.")
@common
@click.pass_context
def tags(ctx: click.Context, store: Path | None, namespace: str | None) -> int:
    from remora.operations.memory_text import tags_text

    if ctx.invoked_subcommand is None:
        tell(ctx.obj, ask(ctx.obj, store, ("memory.tags", {"namespace": namespace}))[0], tags_text)
    return 0


@tags.command(help="Give a tag another name; if there is one of that name they become one.")
@click.argument("old")
@click.argument("new")
@store_option
@common
@click.pass_obj
def rename(terminal: Terminal, store: Path | None, old: str, new: str) -> int:
    return _retag(terminal, store, {"rename": {old.lower(): new}})


@tags.command(help="Put one tag in the place of several.")
@click.argument("old", nargs=-1, required=True, metavar="OLD…")
@click.argument("new")
@store_option
@common
@click.pass_obj
def merge(terminal: Terminal, store: Path | None, old: tuple[str, ...], new: str) -> int:
    return _retag(terminal, store, {"rename": {tag.lower(): new for tag in old}})


@tags.command("rm", help="Take a tag off every memory that has it.")
@click.argument("tag")
@store_option
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@common
@click.pass_obj
def remove(terminal: Terminal, store: Path | None, tag: str, yes: bool) -> int:
    terminal.confirm(f'Take the tag "{tag}" off every memory?', yes)
    return _retag(terminal, store, {"tags": [tag], "remove": [tag.lower()]})


def _retag(terminal: Terminal, store: Path | None, given: dict[str, Any]) -> int:
    from remora.operations.memory_text import counted

    (done,) = ask(terminal, store, ("memory.retag", {**given, "namespace": "*", "include_archived": True}))
    tell(terminal, done, lambda shown: f"Changed {counted(shown['count'])} (batch {shown['batch_id']})")
    return 0


@click.group(help="Show, make and remove relations between memories.")
def graph() -> None:
    pass


@graph.command("list", help="Show the relations of a memory.")
@click.argument("src", metavar="ID")
@store_option
@click.option("--type", metavar="TYPE", help="Only of this type.")
@common
@click.pass_obj
def graph_list(terminal: Terminal, /, store: Path | None, **given: Any) -> int:
    return _connect(terminal, store, "list", given)


@graph.command("add", help="Relate two memories.")
@click.argument("src", metavar="FROM")
@click.argument("dst", metavar="TO")
@store_option
@click.option(
    "--type", metavar="TYPE", default="related", show_default=True, help="causes, fixes, supports, follows, …"
)
@click.option("--weight", type=float, help="From 0 to 1.")
@common
@click.pass_obj
def graph_add(terminal: Terminal, /, store: Path | None, **given: Any) -> int:
    return _connect(terminal, store, "add", given)


@graph.command("rm", help="Take the relations between two memories away; undo brings them back.")
@click.argument("src", metavar="FROM")
@click.argument("dst", metavar="TO")
@store_option
@click.option("--type", metavar="TYPE", help="Only of this type.")
@common
@click.pass_obj
def graph_remove(terminal: Terminal, /, store: Path | None, **given: Any) -> int:
    return _connect(terminal, store, "remove", given)


def _connect(terminal: Terminal, store: Path | None, action: str, given: dict[str, Any]) -> int:
    from remora.operations.memory_text import edges_text

    tell(terminal, ask(terminal, store, ("memory.connect", {**given, "action": action}))[0], edges_text)
    return 0


@click.command(help="Show what agents may do with the memory, or set it: off, recall, confirm, auto.")
@click.argument("mode", required=False, type=click.Choice(["off", "recall", "confirm", "auto"]), metavar="[MODE]")
@common
@click.pass_obj
def mode(terminal: Terminal, mode: str | None) -> int:
    if mode is not None:
        from remora.config.edit import set_value
        from remora.config.load import places

        paths, file = places(terminal.home, terminal.config)
        set_value(file, "memory.mode", mode, backups=paths.config_backups)
    now = terminal.loaded().config.memory.mode
    tell(terminal, {"mode": now}, lambda told: f"memory mode {told['mode']}")
    return 0
