"""`remora version`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import click

from remora import __version__
from remora.doors.cli.terminal import Terminal, common

EXTRAS = {"otel": "opentelemetry.exporter.otlp.proto.http"}


@click.command(help="Show the version; with --json also those of what it runs on.")
@common
@click.pass_obj
def version(terminal: Terminal) -> int:
    terminal.show(
        versions() if terminal.as_json else {"remora": __version__}, lambda found: f"remora {found['remora']}"
    )
    return 0


def versions() -> dict[str, Any]:
    import platform

    import apsw

    from remora.gateway.eras import HANDSHAKE, MODERN

    return {
        "remora": __version__,
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "protocols": [*HANDSHAKE, *MODERN],
        "extras": {name: installed(module) for name, module in EXTRAS.items()},
    }


def installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # one of the packages above it is not there
        return False
