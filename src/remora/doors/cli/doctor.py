"""`remora doctor`: everything that can be wrong, and what to do about each."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remora.doors.cli.terminal import Terminal, common
from remora.errors import RemoraError

if TYPE_CHECKING:
    from remora.config.load import Loaded, Surroundings
    from remora.doors.cli.checks import Finding, Patient
    from remora.doors.cli.engine import Running
    from remora.gateway.manifest import Manifest

COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command(help="Check everything, and say how to mend what is wrong. Exit 1 if something fails.")
@click.option("--fix", is_flag=True, help="Mend what can be mended safely: permissions, leftover files.")
@common
@click.pass_obj
def doctor(terminal: Terminal, fix: bool) -> int:
    from remora.doors.cli.checks import all_findings, database
    from remora.doors.cli.memory_checks import memory

    loaded = _loaded(terminal)
    patient = asyncio.run(_examine(terminal, loaded, terminal.surroundings()))
    found = [*all_findings(patient), database(loaded.paths.state_db), *memory(loaded)]
    if fix:
        found = [_mended(each) for each in found]
    document = {"config_path": str(loaded.path), "checks": [each.shown() for each in found]}
    terminal.show(document, lambda shown: _text(terminal, shown["checks"]))
    return int(any(each.status == "fail" for each in found))


def _loaded(terminal: Terminal) -> Loaded:
    """Also an invalid configuration: what is wrong with it is a finding."""
    from remora.config.load import load, load_for_gateway
    from remora.config.problems import InvalidConfig

    try:
        return load(terminal.home, terminal.config)
    except InvalidConfig:
        return load_for_gateway(terminal.home, terminal.config)


async def _examine(terminal: Terminal, loaded: Loaded, around: Surroundings) -> Patient:
    from remora.doors.cli.checks import Patient
    from remora.doors.cli.engine import files_only, own_engine, running
    from remora.operations.registry import run
    from remora.operations.servers import stored_manifests

    health: dict[str, Any] = {}
    if (engine := running(loaded, around)) is not None:
        health = _ask(engine)
    elif loaded.config.servers:
        terminal.start_logging(loaded)
        async with own_engine(loaded, around) as app:
            health = (await run(app.context(), "gateway.health", {}))["servers"]
    manifests: dict[str, Manifest] = {}
    if loaded.paths.state_db.exists():
        async with files_only(loaded) as context:
            manifests = await stored_manifests(context)
    return Patient(loaded, around, engine, manifests, health, Path.cwd())


def _ask(engine: Running) -> dict[str, Any]:
    try:
        found: dict[str, Any] = engine.ask("health", {})["servers"]
        return found
    except RemoraError:
        return {}  # told by each server's own finding: it was not asked


def _mended(finding: Finding) -> Finding:
    from dataclasses import replace

    if finding.mend is None:
        return finding
    finding.mend()
    return replace(finding, status="ok", detail=f"{finding.detail}: mended", fix=None, mend=None)


def _text(terminal: Terminal, checks: list[dict[str, Any]]) -> str:
    width = max(len(check["id"]) for check in checks)
    lines = []
    for check in checks:
        status = terminal.paint(check["status"].ljust(4), COLOURS[check["status"]])
        lines.append(f"{status}  {check['id'].ljust(width)}  {check['detail']}")
        if check["fix"]:
            lines.append(f"{'':6}{'':{width}}  → {check['fix']}")
    bad = sum(check["status"] != "ok" for check in checks)
    return "\n".join([*lines, "", "Everything is in order." if not bad else f"{bad} of {len(checks)} need attention."])
