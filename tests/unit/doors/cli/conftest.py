from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from remora.doors.cli.main import main


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


Run = Callable[..., Done]
DEMO = {name: [sys.executable, "-m", f"remora.demo.{name}"] for name in ("notes", "tickets")}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of our own, in an environment that says nothing else."""
    from remora.config.load import os as surrounding

    for name in list(surrounding.environ):
        if name.startswith(("REMORA_", "CLAUDE")):
            monkeypatch.delenv(name)
    folder = tmp_path / "home"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("REMORA_HOME", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """The program in this process."""

    def call(*arguments: str) -> Done:
        capsys.readouterr()
        code = main(arguments)
        told = capsys.readouterr()
        return Done(code, told.out, told.err)

    return call


@pytest.fixture
def config(home: Path) -> Callable[[str], Path]:
    """Write the configuration file."""

    def write(text: str) -> Path:
        home.mkdir(mode=0o700, exist_ok=True)
        (home / "config.toml").write_text(text)
        (home / "config.toml").chmod(0o600)
        return home / "config.toml"

    return write


@pytest.fixture
def words_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory without an encoder: it opens faster."""
    monkeypatch.setenv("REMORA_EMBEDDING__PROVIDER", "none")
