from __future__ import annotations

import click
import pytest
from tests.unit.doors.cli.conftest import Run

from remora.doors.cli.mem import COMMANDS, mem


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_found(name: str) -> None:
    assert mem.get_command(click.Context(mem), name) is not None


def test_memory_is_another_name(run: Run) -> None:
    assert run("memory", "--help").out == run("mem", "--help").out.replace("remora mem ", "remora memory ")
    assert run("mem", "nonsense").code == 2
