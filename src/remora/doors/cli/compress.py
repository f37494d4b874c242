"""`remora compress FILE`: what the pipeline makes of a text, without an agent and without a server."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from remora.doors.cli.terminal import Terminal, common
from remora.errors import UsageError


@click.command(
    help="Make a text small, as the pipeline would: the result on stdout, strategy, ratio and time on stderr. "
    "Nothing is stored and no server is asked; FILE may be - for stdin.",
    epilog='remora compress build.log --budget 800 --query "why did the link step fail"',
)
@click.argument("file", metavar="FILE|-")
@click.option("--budget", type=click.IntRange(min=1), metavar="TOKENS", help="Most tokens of the result, estimated.")
@click.option("--ratio", type=click.FloatRange(0, 1, min_open=True), metavar="R",
              help="Most characters of the result, as a share of the text.")  # fmt: skip
@click.option("--query", metavar="Q", default="", help="What is looked for.")
@click.option("--strategy", metavar="S", default="auto", show_default=True,
              help="auto, lossless, table, log, truncate, extract_fields, schema_pruning, skeleton, hybrid, selective, "
                   "progressive or none.")  # fmt: skip
@click.option("--explain", is_flag=True, help="Tell on stderr how the text was taken, line by line.")
@common
@click.pass_obj
def compress(
    terminal: Terminal, file: str, budget: int | None, ratio: float | None, query: str, strategy: str, explain: bool
) -> int:
    from remora.doors.cli.engine import offline
    from remora.operations.compress import compress_text

    asked = {"text": _read(file), "budget": budget, "ratio": ratio, "query": query, "strategy": strategy,
             "path": "" if file == "-" else file}  # fmt: skip
    made = asyncio.run(offline(terminal.loaded(), "pipeline.compress", asked))
    if terminal.as_json:
        from remora.privacy.output import redact_text

        terminal.print_json({**made, "text": redact_text(made["text"], personal=False)})
    else:  # as it is: a secret in the file is in the result, and a missing final newline stays missing in a pipe
        click.echo(made["text"], nl=sys.stdout.isatty() and not made["text"].endswith("\n"))
    if explain and not terminal.as_json:
        click.echo(compress_text(made), err=True)
    else:
        terminal.note(
            f"{made['strategy']}, {made['tokens_in']:,} -> {made['tokens_out']:,} tokens ({made['ratio']:.1%}), "
            f"{made['ms']:,.0f} ms"
        )
    return 0


def _read(file: str) -> str:
    """The text with its line ends as they are."""
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise UsageError(f"{file} is no UTF-8 text: {problem.reason} at byte {problem.start}") from problem
