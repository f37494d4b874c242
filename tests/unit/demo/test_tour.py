from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from remora.demo import tour as module
from remora.demo.client import connected
from remora.demo.tour import SERVERS, command, tour


def test_the_configuration_is_valid_toml_whatever_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.sys, "executable", '/opt/my "python"\\bin/python')
    module._configure(tmp_path / "home")
    servers = tomllib.loads((tmp_path / "home" / "config.toml").read_text())["servers"]
    assert tuple(servers) == SERVERS
    assert servers["notes"] == {"command": '/opt/my "python"\\bin/python', "args": ["-m", "remora.demo.notes"]}


async def test_a_call_is_told_with_its_outcome(tmp_path: Path) -> None:
    async with connected(command("notes"), os.environ, str(tmp_path)) as client:
        await client.initialize()
        told = await module._call(client, "tidy_notes", {})
    assert (told["outcome"], told["structured"], len(told["progress"])) == ("ok", {"tidied": 3}, 3)
    assert told["pid"] == client.process.pid


async def test_the_tour_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(module, "ROUNDS", 1)
    seen: Any = await tour({**os.environ, "REMORA_CONFIG": "/nonexistent"})
    assert os.listdir(tmp_path) == []
    assert seen["recovery"]["new_pid"] != seen["recovery"]["killed_pid"]
