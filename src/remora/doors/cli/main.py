"""`remora COMMAND …`: finds the command, runs it, and turns whatever goes wrong into a message and an exit code."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import click

from remora.doors.cli.terminal import Terminal, common
from remora.errors import RemoraError, UsageError

INTERRUPTED = 130


class Entry(NamedTuple):
    """Where a command is, and its line in the help: known without importing it."""

    where: str
    summary: str


_AT = "remora.doors.cli."
SECTIONS: Mapping[str, Mapping[str, Entry]] = {
    "Begin": {
        "demo": Entry(_AT + "demo:demo", "Show the gateway at work, with two servers of its own."),
        "add": Entry(_AT + "servers:add", "Put an MCP server behind the gateway."),
        "serve": Entry(_AT + "run:serve", "Serve MCP over HTTP, in the foreground."),
        "mcp": Entry(_AT + "run:mcp", "Serve MCP on stdin and stdout: what an agent starts."),
    },
    "Servers": {
        "list": Entry(_AT + "servers:list_command", "List the configured servers."),
        "enable": Entry(_AT + "servers:enable", "Serve a server again."),
        "disable": Entry(_AT + "servers:disable", "Keep a server, but do not serve it."),
        "remove": Entry(_AT + "servers:remove", "Take a server out of the configuration."),
        "call": Entry(_AT + "call:call", "Call one tool, as an agent would."),
    },
    "Memory": {
        "mem": Entry(_AT + "mem:mem", "The long-term memory: everything there is to do with it."),
        "remember": Entry(_AT + "mem_write:store", "Keep a statement."),
        "recall": Entry(_AT + "mem_read:search", "Find memories."),
        "forget": Entry(_AT + "mem_write:forget", "Put a memory away, or erase it."),
        "show": Entry(_AT + "mem_read:show", "Show one memory."),
        "history": Entry(_AT + "mem_read:history", "Show every version of a memory."),
        "undo": Entry(_AT + "mem_write:undo", "Take back what was done to the memory."),
        "graph": Entry(_AT + "mem_judge:graph", "Show, make and remove relations between memories."),
        "pending": Entry(_AT + "mem_judge:pending", "What waits for approval."),
        "about": Entry(_AT + "mem_read:about", "What is known about you."),
    },
    "See": {
        "status": Entry(_AT + "look:status", "Show the running gateway: servers, sessions, errors."),
        "health": Entry(_AT + "look:health", "Ask every server whether it is there."),
        "stats": Entry(_AT + "look:stats", "Count calls, errors, sizes and latencies."),
        "doctor": Entry(_AT + "doctor:doctor", "Check everything, and say how to mend what is wrong."),
    },
    "Small": {
        "compress": Entry(_AT + "compress:compress", "Make a text small, without an agent and without a server."),
        "stash": Entry(_AT + "stored:stash", "Show and clear the originals of what was made small."),
        "cache": Entry(_AT + "stored:cache", "Clear the kept results of tools."),
        "tune": Entry(_AT + "tune:tune", "Find better settings in what was recorded; apply and undo them."),
    },
    "Set up": {
        "config": Entry(_AT + "settings:config", "Show, check and change the configuration."),
        "version": Entry(_AT + "version:version", "Show the version, and those of what it runs on."),
    },
}
COMMANDS: Mapping[str, Entry] = {name: entry for section in SECTIONS.values() for name, entry in section.items()}
ALIASES = {"memory": "mem"}


class Program(click.Group):
    """Imports a command's module when the command is asked for, so that the others cost nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (entry := COMMANDS.get(ALIASES.get(cmd_name, cmd_name))) is None:
            return None
        module, _, name = entry.where.partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in {*COMMANDS, *ALIASES} and not args[0].startswith("-"):
            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f'; did you mean "{close[0]}"?' if close else ""
            raise click.UsageError(f'there is no command "{args[0]}"{hint}', ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                # One width for all sections: the longest name is padded by hand.
                formatter.write_dl([(name.ljust(8), entry.summary) for name, entry in commands.items()])


@click.command(
    cls=Program,
    invoke_without_command=True,
    help="Remora rides between an AI agent and its tools: one MCP connection to any number of servers.",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Without a command, and with a pipe on stdin, it serves MCP like `remora mcp`.",
)
@click.option("--version", "show_version", is_flag=True, help="Show the version and exit.")
@common
@click.pass_context
def program(ctx: click.Context, show_version: bool) -> int:
    if show_version:
        from remora.doors.cli.version import version

        code: int = ctx.invoke(version)
        ctx.exit(code)
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    before_rest = arguments[: arguments.index("--")] if "--" in arguments else arguments
    terminal = Terminal(as_json="--json" in before_rest)  # also if the arguments turn out to be wrong
    try:
        code = program.main(args=arguments, prog_name="remora", standalone_mode=False, obj=terminal)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.ClickException as problem:
        where = problem.ctx.command_path if isinstance(problem, click.UsageError) and problem.ctx else "remora"
        terminal.failed(UsageError(problem.format_message()), hint=f"see: {where} --help")
        return UsageError.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except RemoraError as problem:
        terminal.failed(problem, hint=problem.hint or "")
        return problem.exit_code
    except BrokenPipeError:
        # The reader has had enough; what is still buffered must not fail once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except OSError as problem:
        terminal.failed(RemoraError(f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem)))
        return RemoraError.exit_code
