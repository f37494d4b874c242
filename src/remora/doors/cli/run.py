"""`remora serve` and `remora mcp`: the gateway itself."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import click

from remora import __version__
from remora.config.problems import InvalidConfig
from remora.doors.cli.terminal import Terminal, common
from remora.errors import UnavailableError


@click.command(help="Serve MCP over HTTP, in the foreground, until Ctrl-C. One per home folder.")
@common
@click.pass_obj
def serve(terminal: Terminal) -> int:
    from remora.config.load import load_for_gateway
    from remora.doors.cli.engine import running
    from remora.doors.serve import main_http

    loaded, around = load_for_gateway(terminal.home, terminal.config), terminal.surroundings()
    if loaded.mode == "safe":
        raise InvalidConfig(loaded.problems, path=str(loaded.path))
    if other := running(loaded, around):
        raise UnavailableError(f"`remora serve` runs already (pid {other.pid}, {other.url})")
    token = None if around.token else loaded.paths.run / "token"

    def announce(url: str) -> None:
        described = {"url": f"{url}/mcp", "version": __version__, "servers": list(loaded.config.servers),
                     "login_file": str(token) if token else None}  # fmt: skip
        terminal.show(described, greeting)
        sys.stdout.flush()

    return main_http(loaded, around, announce)


def greeting(described: dict[str, Any]) -> str:
    """What to do now that it runs."""
    servers, url = described["servers"], described["url"]
    token = f"$(cat {described['login_file']})" if described["login_file"] else "$REMORA_TOKEN"
    count = (
        f"{len(servers)} server{'' if len(servers) == 1 else 's'}" if servers else "no server yet: remora add --help"
    )
    return "\n".join(
        [
            f"Remora {described['version']} serves MCP at {url} ({count})",
            f"token          {described['login_file'] or 'REMORA_TOKEN'}",
            "",
            f'Claude Code    claude mcp add --transport http rem {url} --header "Authorization: Bearer {token}"',
            f"               or, without this process: claude mcp add rem -- {program_path()} mcp",
            f'other agents   {{"mcpServers": {{"rem": {{"command": "{program_path()}", "args": ["mcp"]}}}}}}',
            "",
            "Ctrl-C stops it.",
        ]
    )


def program_path() -> str:
    """The absolute path of this program, which is what an agent's configuration needs."""
    beside = Path(sys.executable).with_name("remora")
    return str(beside) if beside.exists() else shutil.which("remora") or "remora"


@click.command(help="Serve MCP on stdin and stdout: what an agent starts.")
@click.option(
    "--profile", metavar="NAME", default="", help="A profile of the config: which servers and tools are seen."
)
@click.option(
    "--project", metavar="FOLDER", default="", help="Project folder (default: found from the working directory)."
)
@click.option("--catalog", type=click.Choice(["slim", "full", "lazy"]), help="How tools are listed.")
@common
@click.pass_obj
def mcp(terminal: Terminal, profile: str, project: str, catalog: str | None) -> int:
    from remora.doors.mcp.command import run

    named = {"--home": terminal.home, "--config": terminal.config, "--profile": profile, "--project": project,
             "--catalog": catalog}  # fmt: skip
    return run([word for option, value in named.items() if value for word in (option, str(value))])
