from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.fixtures import control, home

__all__ = ["control", "home", "installed"]

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Installed:
    """Where install.sh puts the real servers and clients."""

    cache: Path

    @property
    def bin(self) -> Path:
        return self.cache / "npm" / "node_modules" / ".bin"

    @property
    def path(self) -> str:
        """PATH with the Node the npm programs need in front."""
        return f"{self.bin}{os.pathsep}{os.environ['PATH']}"

    def python_tool(self, name: str) -> str:
        return str(self.cache / "py" / "bin" / name)

    @property
    def old_python(self) -> str:
        return str(self.cache / "old" / "bin" / "python")


@pytest.fixture(scope="session")
def installed() -> Installed:
    """Real servers and clients, installed on first use."""
    subprocess.run([str(Path(__file__).with_name("install.sh"))], check=True)
    return Installed(Path(os.environ.get("REMORA_E2E_CACHE", REPOSITORY / ".cache" / "e2e")))
