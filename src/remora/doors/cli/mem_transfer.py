"""`remora mem export|import|backup`: memories on the way out, in, and to a safe place."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from remora.doors.cli.mem_store import FILE, ask, store_argument, store_option, tell
from remora.doors.cli.terminal import Terminal, common

SYSTEMS = ["auto", "remora", "mcp-memory-service", "memento"]


@click.command(help="Write memories as JSON lines to stdout, or to a file. `remora mem import` reads them back.")
@store_argument
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Write there; .gz compresses.")
@click.option("--history", is_flag=True, help="Former versions too.")
@click.option("--no-private", "private", is_flag=True, flag_value=False, default=True,
              help="Leave out what is marked private.")  # fmt: skip
@click.option("--namespace", metavar="NAME", help="Only from here.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only this kind; may be repeated.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only with this tag; may be repeated.")
@common
@click.pass_obj
def export(terminal: Terminal, /, store: Path | None, output: Path | None, **given: Any) -> int:
    from remora.operations.memory_text import counted

    if output is not None:
        (done,) = ask(terminal, store, ("memory.export", {**given, "target": str(output.absolute())}))
        tell(terminal, done, lambda told: f"Exported {counted(told['count'])} to {told['target']}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "export.jsonl"
        (done,) = ask(terminal, store, ("memory.export", {**given, "target": str(target)}))
        sys.stdout.write(target.read_text(encoding="utf-8"))
    terminal.note(f"exported {counted(done['count'])}")
    return 0


@click.command("import", help="Take memories over from an export or from another program's store.")
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="[PATH] FILE")
@click.option("--from", "system", type=click.Choice(SYSTEMS), help="Whose it is; otherwise found out.")
@click.option("--namespace", metavar="NAME", help="Where to keep them.")
@click.option("--dry-run", is_flag=True, help="Say what would come in, and take nothing.")
@common
@click.pass_obj
def import_command(terminal: Terminal, /, files: tuple[Path, ...], **given: Any) -> int:
    if len(files) > 2:
        raise click.UsageError("one file at a time; before it may stand the store to import into")
    return _take(terminal, files[0] if len(files) == 2 else None, files[-1], given)


@click.command("import_data", help="Take an export over into the store PATH.")
@click.argument("store", type=FILE, metavar="PATH")
@click.argument("file", type=FILE)
@click.option("--dry-run", is_flag=True, help="Say what would come in, and take nothing.")
@common
@click.pass_obj
def import_data(terminal: Terminal, store: Path, file: Path, dry_run: bool) -> int:
    return _take(terminal, store, file, {"dry_run": dry_run})


def _take(terminal: Terminal, store: Path | None, file: Path, given: dict[str, Any]) -> int:
    from remora.operations.memory_text import imported_text

    (done,) = ask(terminal, store, ("memory.import", {**given, "path": str(file.expanduser().absolute())}))
    tell(terminal, done, imported_text)
    return 0


@click.group(help="Copies of the store: make, list, check, put back.")
def backup() -> None:
    pass


@backup.command(help="Copy the store, and check the copy.")
@store_option
@common
@click.pass_obj
def now(terminal: Terminal, store: Path | None) -> int:
    tell(terminal, ask(terminal, store, ("memory.backup", {}))[0], lambda done: f"Backed up to {done['path']}")
    return 0


@backup.command("list", help="List the copies, newest first.")
@store_option
@common
@click.pass_obj
def list_backups(terminal: Terminal, store: Path | None) -> int:
    from remora.operations.memory_text import backups_text

    tell(terminal, ask(terminal, store, ("memory.backups", {}))[0], backups_text)
    return 0


@backup.command("verify", help="Check a copy. Exit 1 if something is wrong with it.")
@click.argument("copy", type=FILE)
@common
@click.pass_obj
def verify_backup(terminal: Terminal, copy: Path) -> int:
    from remora.operations.memory_text import verified_text

    (found,) = ask(terminal, None, ("memory.verify_backup", {"path": str(copy)}))
    tell(terminal, found, verified_text)
    return int(any(status == "FAIL" for status, _, _ in found["checks"]))


@backup.command("restore", help="Put a copy in the store's place; what is there is copied first.")
@click.argument("copy", type=FILE)
@store_option
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@common
@click.pass_obj
def restore_backup(terminal: Terminal, store: Path | None, copy: Path, yes: bool) -> int:
    from remora.operations.memory_text import replaced_text

    terminal.confirm(f"Put {copy} in the place of the present memory?", yes)
    tell(terminal, ask(terminal, store, ("memory.restore_backup", {"path": str(copy)}))[0], replaced_text)
    return 0
