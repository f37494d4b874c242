"""`remora call TOOL [JSON]`: one tool call, as an agent would make it."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remora.doors.cli.terminal import Terminal, common
from remora.errors import RpcError, UsageError

if TYPE_CHECKING:
    from remora.config.load import Loaded, Surroundings
    from remora.gateway.session import Caller, Params, Session, ViewKey

Result = dict[str, Any]


@click.command(
    help="Call one tool by its served name; the arguments are a JSON object, or - to read it from stdin. "
    "Through `remora serve` if it runs, else with an engine of its own. Exit 1 if the tool fails.",
    epilog='remora call git__git_log \'{"repo_path": ".", "max_count": 3}\'',
)
@click.argument("tool")
@click.argument("arguments", metavar="[JSON]", default="{}")
@click.option("--raw", is_flag=True, help="Print the whole result as JSON.")
@click.option(
    "--profile", metavar="NAME", default="", help="A profile of the config: which servers and tools are seen."
)
@click.option(
    "--project", metavar="FOLDER", default="", help="Project folder (default: found from the working directory)."
)
@common
@click.pass_obj
def call(terminal: Terminal, tool: str, arguments: str, raw: bool, profile: str, project: str) -> int:
    given = _object(sys.stdin.read() if arguments == "-" else arguments)
    from remora.doors.cli.engine import running
    from remora.doors.serve import view_key

    loaded, around = terminal.loaded(), terminal.surroundings()
    view = view_key(around, profile, project, "", Path.cwd())
    engine = running(loaded, around)
    try:
        if engine is not None:
            query = {"profile": view.profile, "project": str(view.project or "")}
            result = engine.call(tool, given, query)
        else:
            result = asyncio.run(_own_call(terminal, loaded, around, view, tool, given))
    except RpcError as problem:
        return _refused(terminal, problem, raw)
    return _answered(terminal, result, raw)


def _object(text: str) -> Result:
    try:
        value = json.loads(text)
    except ValueError as problem:
        raise UsageError(f"the arguments are not JSON: {problem}") from problem
    if not isinstance(value, dict):
        raise UsageError('the arguments must be a JSON object, such as {"query": "x"}')
    return value


def _answered(terminal: Terminal, result: Result, raw: bool) -> int:
    from remora.doors.cli.engine import texts

    failed = result.get("isError") is True
    if raw:
        terminal.print_json(result)
    elif failed and terminal.as_json:
        ours = (result.get("_meta") or {}).get("remora/error") or {}
        terminal.show({"error": ours.get("code", "is_error"), "message": texts(result), "result": result}, str)
    elif terminal.as_json:
        terminal.show(result, str)
    elif failed:
        click.echo(texts(result), err=True)
    else:
        text = texts(result)
        structured = result.get("structuredContent")
        click.echo(text if text or structured is None else json.dumps(structured, indent=2, ensure_ascii=False))
    return int(failed)


def _refused(terminal: Terminal, problem: RpcError, raw: bool) -> int:
    """A JSON-RPC error: nothing like a result came back."""
    if raw:
        terminal.print_json(problem.to_wire())
        return problem.exit_code
    similar = problem.data.get("similar") if isinstance(problem.data, dict) else None
    terminal.failed(problem, hint=f"did you mean {' or '.join(similar)}?" if similar else "")
    return problem.exit_code


class _Front:
    """The asking side of an engine of our own: shows progress, can be asked nothing."""

    def __init__(self, session: Session, caller: Caller, terminal: Terminal) -> None:
        self.session = session
        self.caller = caller
        self.request_id = 1
        self._terminal = terminal

    def notify(self, method: str, params: Params) -> None:
        if method == "notifications/progress":
            total = f"/{params['total']}" if "total" in params else ""
            self._terminal.note(f"{params.get('progress')}{total} {params.get('message', '')}".rstrip())

    async def ask(self, method: str, params: Params) -> Params:
        from remora.gateway.wire import jsonrpc

        raise RpcError(jsonrpc.METHOD_NOT_FOUND, "nobody can be asked on the command line")

    def close_stream(self) -> None:
        """There is none."""


async def _own_call(
    terminal: Terminal, loaded: Loaded, around: Surroundings, view: ViewKey, tool: str, arguments: Result
) -> Result:
    from remora.doors.cli.engine import CLIENT_INFO, own_engine
    from remora.gateway import eras
    from remora.gateway.session import Caller, Session

    terminal.start_logging(loaded)
    async with own_engine(loaded, around) as app:
        session = Session("in_process", view=view, key=around.session)
        session.caller = Caller(True, eras.LATEST_MODERN, CLIENT_INFO)
        app.gateway.open_session(session)
        front = _Front(session, session.caller, terminal)
        if tool not in app.gateway.view(session).callable:
            await app.gateway.handle(front, "tools/list", {})  # waits for servers that nobody has asked yet
        meta = {"progressToken": 1} if terminal.verbose else {}
        return await app.gateway.handle(front, "tools/call", {"name": tool, "arguments": arguments, "_meta": meta})
