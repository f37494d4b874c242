"""`remora list`, `add`, `remove`, `enable`, `disable`: editing which servers there are."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from remora.doors.cli.terminal import Terminal, common, secrets_option
from remora.errors import RemoraError

if TYPE_CHECKING:
    from remora.config.load import Loaded

Result = dict[str, Any]


@click.command("list", help="List the configured servers. Reads files only.")
@click.option("--names", is_flag=True, help="Show every tool's own name and the one it is served by.")
@secrets_option
@common
@click.pass_obj
def list_command(terminal: Terminal, names: bool) -> int:
    loaded = terminal.loaded()
    _run(terminal, loaded, "servers.list", {"names": names})
    return 0


@click.command(
    help="Put an MCP server behind the gateway.",
    epilog="remora add git -- uvx mcp-server-git   |   remora add docs --url https://example.com/mcp",
)
@click.argument("name")
@click.argument("words", nargs=-1, metavar="[-- COMMAND [ARG]...]")
@click.option("--command", metavar="C", default="", help="Program to start.")
@click.option("--arg", "args", multiple=True, metavar="A", help="An argument for it; may be repeated.")
@click.option("--args", "line", metavar="LINE", default="", help="Its arguments in one text, split like a shell does.")
@click.option("--url", metavar="U", default="", help="Address of a server reached over HTTP.")
@click.option("--transport", metavar="T", help="stdio, http or sse (default: by command or url).")
@click.option("--header", "headers", multiple=True, metavar="K=V", help="A header to send; may be repeated.")
@click.option("--env", multiple=True, metavar="K=V", help="A variable for its environment; may be repeated.")
@click.option("--cwd", metavar="D", default="", help="Its working directory.")
@click.option("--prefix", metavar="P", default="", help="First part of its tools' names (default: from NAME).")
@click.option("--scope", type=click.Choice(["auto", "shared", "project", "session"]), help="Who shares a connection.")
@click.option("--probe", "--validate", is_flag=True, help="Connect and list first; if that fails, write nothing.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=10.0, show_default=True,
              help="Seconds for --probe.")  # fmt: skip
@click.option("--disabled", is_flag=True, help="Add it, but do not serve it yet.")
@click.option("--force", is_flag=True, help="Replace a server of that name.")
@common
@click.pass_obj
def add(terminal: Terminal, /, **given: Any) -> int:
    arguments = _server_of(given)
    loaded = terminal.loaded()
    probed = asyncio.run(_probe(terminal, loaded, arguments, given["timeout"])) if given["probe"] else None
    from remora.operations.servers import add_text

    def told(result: Result) -> str:
        if probed is None:
            return add_text(result)
        return f"{add_text(result)} ({probed['tools']} tools, {probed['era']}, {probed['latency_ms']:g} ms)"

    from remora.doors.cli.engine import offline

    result = asyncio.run(offline(loaded, "servers.add", arguments))
    for warning in result["warnings"]:
        terminal.note(f"warning: {warning}")
    terminal.show({**result, "probe": probed}, told)
    return 0


def _server_of(given: Mapping[str, Any]) -> Result:
    """The operation's input, from options and from the words after `--`."""
    if given["words"] and (given["command"] or given["url"]):
        raise click.UsageError("give either a command after --, or --command or --url")
    if bool(given["words"] or given["command"]) == bool(given["url"]):
        raise click.UsageError("give a command (remora add NAME -- COMMAND ARG…) or --url")
    command, *rest = given["words"] or (given["command"],)
    taken = {key: given[key] for key in ("name", "url", "cwd", "prefix", "disabled", "force")}
    transport = given["transport"]
    return {
        **taken,
        "command": command,
        "args": [*rest, *given["args"], *_split(given["line"])],
        "env": _pairs(given["env"], "--env"),
        "headers": _pairs(given["headers"], "--header"),
        "scope": given["scope"] or "",
        "transport": "http" if transport in ("streamable_http", "streamable-http") else transport,
    }


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as problem:
        raise click.UsageError(f"--args: {problem}") from problem


def _pairs(words: tuple[str, ...], option: str) -> dict[str, str]:
    pairs = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key:
            raise click.UsageError(
                f"{option} wants KEY=VALUE, not {word!r}" if not sign else f"{option}: a key is missing"
            )
        pairs[key.strip()] = value
    return pairs


async def _probe(terminal: Terminal, loaded: Loaded, arguments: Result, timeout: float) -> Result:
    """Connect to the server as it would be; what it offers is kept, so that its tools are there at once."""
    from remora.doors.cli.engine import own_engine
    from remora.operations.registry import run
    from remora.operations.servers import AddServer, checked

    server = checked(AddServer.model_validate(arguments)).model_copy(update={"enabled": True})
    name = arguments["name"]
    alone = replace(loaded, config=loaded.config.model_copy(update={"servers": {name: server}}), broken_servers={})
    terminal.start_logging(loaded)
    async with own_engine(alone, terminal.surroundings()) as app:
        found = await run(app.context(), "gateway.health", {"names": [name], "timeout": timeout})
    row: Result = found["servers"][name]
    if not row["connected"]:
        raise RemoraError(f"{name} was not added: {row['error']}")
    return row


@click.command(help="Take a server out of the configuration. Its recorded calls stay.")
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@common
@click.pass_obj
def remove(terminal: Terminal, name: str, yes: bool, dry_run: bool) -> int:
    loaded = terminal.loaded()
    from remora.operations.servers import known

    known(loaded, name)
    if not dry_run:
        terminal.confirm(f'Remove the server "{name}" from {loaded.path}?', yes)
    _run(terminal, loaded, "servers.remove", {"name": name, "dry_run": dry_run})
    return 0


@click.command(help="Serve a server again.")
@click.argument("name")
@common
@click.pass_obj
def enable(terminal: Terminal, name: str) -> int:
    _run(terminal, terminal.loaded(), "servers.enable", {"name": name})
    return 0


@click.command(help="Keep a server, but do not serve it.")
@click.argument("name")
@common
@click.pass_obj
def disable(terminal: Terminal, name: str) -> int:
    _run(terminal, terminal.loaded(), "servers.disable", {"name": name})
    return 0


def _run(terminal: Terminal, loaded: Loaded, operation: str, arguments: Result) -> None:
    from remora.doors.cli.engine import offline

    result = asyncio.run(offline(loaded, operation, arguments))
    for warning in result.get("warnings", ()):
        terminal.note(f"warning: {warning}")
    from remora.operations.registry import OPERATIONS

    terminal.show(result, OPERATIONS[operation].render)
