"""What `remora` (alias `rem`) does: MCP on a pipe, else the command line. Nothing heavy is imported before."""

from __future__ import annotations

import os
import select
import stat
import sys

ENDPOINT_OPTIONS = ("--profile", "--project", "--catalog")


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    if not arguments or arguments[0] in ENDPOINT_OPTIONS:
        if _is_pipe() and not _at_end():
            arguments = ["mcp", *arguments]
        elif not sys.stdin.isatty():
            return 0  # </dev/null, or a client that has gone
    if arguments[:1] == ["mcp"]:
        from remora.doors.mcp.command import run

        return run(arguments[1:])
    from remora.doors.cli.main import main as command_line

    return command_line(arguments)


def _is_pipe() -> bool:
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _at_end() -> bool:
    """Whether a pipe has been closed already without anything in it."""
    if sys.platform == "win32":
        return False
    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    events = dict(poll.poll(0)).get(0, 0)
    return bool(events & select.POLLHUP) and not events & select.POLLIN


if __name__ == "__main__":
    sys.exit(main())
