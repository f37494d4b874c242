from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from remora.gateway.children import Children, started_at


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "999"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "run" / "upstreams.json"


def dead_engine(**children):
    """An engine that is no more: its process id belongs to one that began at another time."""
    return {str(os.getpid()): {"started": "0", "children": children}}


def write(ledger, engines):
    ledger.parent.mkdir()
    ledger.write_text(json.dumps(engines))


async def test_children_stand_in_the_ledger_as_long_as_they_live(ledger, sleeper):
    children = Children(ledger)
    children.add(sleeper.pid)
    await next(iter(children._tasks))
    (engine,) = json.loads(ledger.read_text()).values()
    assert engine == {"started": started_at(os.getpid()), "children": {str(sleeper.pid): started_at(sleeper.pid)}}
    assert ledger.stat().st_mode & 0o777 == 0o600
    children.remove(sleeper.pid)
    await children.close()
    assert json.loads(ledger.read_text()) == {}
    assert sleeper.poll() is None


async def test_what_a_dead_engine_left_behind_is_ended(ledger, sleeper, caplog):
    write(ledger, dead_engine(**{str(sleeper.pid): started_at(sleeper.pid)}))
    await Children(ledger).end_orphans()
    assert sleeper.wait() == -signal.SIGKILL
    assert json.loads(ledger.read_text()) == {}
    assert f"ended process {sleeper.pid}" in caplog.text


async def test_a_process_that_only_has_the_number_is_left_alone(ledger, sleeper):
    write(ledger, dead_engine(**{str(sleeper.pid): "0"}))
    await Children(ledger).end_orphans()
    assert sleeper.poll() is None


async def test_children_of_a_living_engine_are_left_alone(ledger, sleeper):
    living = {str(os.getppid()): {"started": started_at(os.getppid()), "children": {str(sleeper.pid): "0"}}}
    write(ledger, living)
    children = Children(ledger)
    await children.end_orphans()
    children.add(sleeper.pid)
    children.remove(sleeper.pid)
    await children.close()
    assert json.loads(ledger.read_text()) == living
    assert sleeper.poll() is None


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "5", '{"x": {}}', '{"1": 5}', '{"1": {"children": []}}', '{"1": {"children": {"x": ""}}}', '{"1": {}}'],
)
async def test_a_damaged_ledger_is_written_anew(ledger, text, sleeper):
    ledger.parent.mkdir()
    ledger.write_text(text)
    children = Children(ledger)
    await children.end_orphans()
    children.add(sleeper.pid)
    await next(iter(children._tasks))
    assert str(sleeper.pid) in json.loads(ledger.read_text())[str(os.getpid())]["children"]
    children.remove(sleeper.pid)
    await children.close()


async def test_a_ledger_that_cannot_be_written_stops_nobody(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    children = Children(tmp_path / "file" / "upstreams.json")
    await children.end_orphans()
    await children.close()
    assert "cannot write" in caplog.text


def test_when_a_process_began():
    assert started_at(os.getpid()) == started_at(os.getpid()) is not None
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert started_at(ended.pid) is None
