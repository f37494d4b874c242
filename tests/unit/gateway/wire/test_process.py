from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.unit.gateway.fakes import Events

from remora.gateway.wire import process
from remora.gateway.wire.link import Exchange, LinkLost
from remora.gateway.wire.process import CannotStart, Command, ProcessLink, Watcher

ANSWER = 'echo \'{"jsonrpc":"2.0","id":1,"result":{"ok":1}}\''
Start = Callable[..., "asyncio.Future[ProcessLink]"]


class Owner(Events):
    def __init__(self) -> None:
        super().__init__()
        self.stderr = asyncio.Queue[bytes]()
        self.gone = asyncio.Event()
        self.started: list[int] = []
        self.ended: list[int] = []

    def link_lost(self, reason: str) -> None:
        super().link_lost(reason)
        self.gone.set()


@pytest.fixture
def owner() -> Owner:
    return Owner()


@pytest.fixture
async def start(owner: Owner) -> AsyncIterator[Start]:
    links: list[ProcessLink] = []

    async def start_one(*argv: str, env: dict[str, str] | None = None, cwd: str | None = None, limit: int = 1 << 20):
        command = Command(argv, {"PATH": os.environ["PATH"], **(env or {})}, cwd, limit)
        links.append(
            await process.start(command, owner, owner.stderr.put_nowait, owner.started.append, owner.ended.append)
        )
        return links[-1]

    yield start_one
    for link in links:
        if link.pid not in owner.ended:
            await link.close()


async def end_of(path: Path) -> asyncio.StreamReader:
    """A FIFO's reading end: it comes to its end when the last process that holds the other one is gone."""
    reader = asyncio.StreamReader()
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    return reader


async def test_a_child_is_spoken_to_in_lines(start, owner, tmp_path):
    link = await start("sh", "-c", f"read line; {ANSWER}; echo $WHO in $PWD >&2; cat", env={"WHO": "me"}, cwd=tmp_path)
    assert await link.request("ping", None, Exchange()) == {"ok": 1}
    assert await owner.stderr.get() == f"me in {tmp_path}\n".encode()
    assert owner.started == [link.pid]
    assert os.getpgid(link.pid) == link.pid  # a group of its own, so that all of it can be ended


async def test_only_the_given_environment_is_inherited(start, owner):
    os.environ["REMORA_TEST_SECRET"] = "x"
    try:
        await start("sh", "-c", "env >&2", env={"GIVEN": "1"})
        await owner.gone.wait()
    finally:
        del os.environ["REMORA_TEST_SECRET"]
    names = {line.partition(b"=")[0] for line in (await owner.stderr.get()).splitlines()}
    assert names <= {b"PATH", b"GIVEN", b"PWD", b"OLDPWD", b"SHLVL", b"_"}


async def test_a_program_that_is_missing_or_cannot_run(start, owner, tmp_path):
    with pytest.raises(CannotStart, match="cannot start 'no-such-program': not found") as refused:
        await start("no-such-program")
    assert refused.value.missing
    (tmp_path / "text").write_text("no program")
    with pytest.raises(CannotStart, match="Permission denied") as refused:
        await start(str(tmp_path / "text"))
    assert not refused.value.missing
    assert owner.started == []


@pytest.mark.parametrize("way", ["exit 3", "exec >&-; cat"], ids=["the child ends", "its stdout ends"])
async def test_the_end_of_a_child_is_noticed_at_once(start, owner, way):
    link = await start("sh", "-c", f"read line; {way}")
    with pytest.raises(LinkLost, match="the server ended"):
        await link.request("ping", None, Exchange())
    assert owner.lost == ["the server ended"]


async def test_a_line_too_long_is_skipped(start, owner):
    long = "import json; print(json.dumps(dict(jsonrpc='2.0', method='x', params=dict(a='y' * 9999)))); print()"
    link = await start("sh", "-c", f'read line; {sys.executable} -S -c "{long}"; {ANSWER}; cat', limit=5000)
    with pytest.raises(Exception, match="larger than max_message_bytes"):
        await link.request("ping", None, Exchange())
    assert link.lost is None


async def test_a_child_that_ends_with_its_input_is_not_killed(start, owner, tmp_path):
    link = await start("sh", "-c", f"cat; echo done > {tmp_path}/said")
    await link.close()
    assert (tmp_path / "said").read_text() == "done\n"
    assert (owner.ended, owner.lost) == ([link.pid], ["stopped by the gateway"])


async def test_a_stubborn_child_and_its_own_children_are_ended(start, owner, tmp_path, monkeypatch):
    monkeypatch.setattr(process, "CLOSE_SECONDS", 0.05)
    monkeypatch.setattr(process, "TERM_SECONDS", 0.05)
    os.mkfifo(tmp_path / "held")
    holding = await end_of(tmp_path / "held")
    script = f"trap '' TERM; exec 3>{tmp_path}/held; sleep 999 & echo up >&3; while :; do sleep 999; done"
    link = await start("sh", "-c", script)
    assert await holding.readline() == b"up\n"
    await link.close()
    assert await asyncio.wait_for(holding.read(), 10) == b""
    assert owner.ended == [link.pid]


async def test_children_that_outlive_their_parent_are_ended_too(start, owner, tmp_path):
    os.mkfifo(tmp_path / "held")
    holding = await end_of(tmp_path / "held")
    link = await start("sh", "-c", f"exec 3>{tmp_path}/held; sleep 999 >/dev/null 2>&1 </dev/null & echo up >&3; cat")
    assert await holding.readline() == b"up\n"
    await link.close()
    assert await asyncio.wait_for(holding.read(), 10) == b""


def test_the_watcher_ends_what_is_left_when_it_is_left_itself():
    left, removed = (subprocess.Popen(["sleep", "999"], start_new_session=True) for _ in range(2))
    watcher = Watcher()
    watcher.add(left.pid)
    watcher.add(removed.pid)
    watcher.remove(removed.pid)
    watcher.close()
    assert left.wait() == -signal.SIGKILL
    assert removed.poll() is None
    removed.kill()
    removed.wait()


def test_the_watcher_knows_groups_by_their_whole_number():
    told = "+ 12\n+ 123\n+ 1\n+ 3\n- 12\n- 7\n- 3\n+ 5\n"
    shell = ["/bin/sh", "-c", f'kill() {{ echo "$@"; }}; {process._WATCH}'.replace("2>/dev/null", "")]
    killed = subprocess.run(shell, input=told, capture_output=True, text=True, check=False).stdout
    assert killed.split("\n") == ["-9 -123", "-9 -1", "-9 -5", ""]


def test_a_watcher_that_was_never_needed_costs_nothing():
    watcher = Watcher()
    watcher.remove(5)
    watcher.close()
    assert watcher._process is None
