from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.doors.fakes import INITIALIZE, rpc, soon

from remora.config.load import Loaded, Surroundings, load
from remora.doors import serve
from remora.doors.serve import running_engine, serve_http, serve_stdio, single_engine, view_key
from remora.gateway.children import started_at
from remora.gateway.session import ViewKey
from remora.gateway.wire import jsonrpc

ENVIRON = {key: value for key, value in os.environ.items() if not key.startswith(("REMORA_", "CLAUDE"))}


def loaded(tmp_path: Path, text: str = "[http]\nport = 0\n") -> Loaded:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(text)
    return load(home, environ={})


def around(**more: Any) -> Surroundings:
    return Surroundings(variables=ENVIRON, **more)


def said(**more: Any) -> dict[str, Any]:
    """What a live engine writes into its run file; this very process stands for it."""
    return {"pid": os.getpid(), "start_time": started_at(os.getpid()), "http_url": "http://127.0.0.1:1", **more}


# -- what a session sees --------------------------------------------------------------------------------------------


def test_what_is_given_wins_over_the_environment_over_the_working_directory(tmp_path: Path) -> None:
    given, inherited, cwd = (tmp_path / name for name in ("given", "inherited", "cwd"))
    for folder in (given, inherited, cwd):
        folder.mkdir()
    env = around(profile="env", project=str(inherited))
    assert view_key(env, "flag", str(given), "lazy", cwd) == ViewKey("flag", given, "lazy")
    assert view_key(env, "", "", "", cwd) == ViewKey("env", inherited, "")
    assert view_key(around(), "", "", "", cwd) == ViewKey("", cwd, "")
    assert view_key(around(), "", "", "", None) == ViewKey()


def test_the_project_is_the_nearest_folder_that_is_marked_as_one(tmp_path: Path) -> None:
    deep = tmp_path / "code" / "src" / "deep"
    deep.mkdir(parents=True)
    (tmp_path / "code" / ".git").mkdir()
    assert view_key(around(), "", str(deep), "", None).project == tmp_path / "code"


def test_the_home_folder_is_no_project(tmp_path: Path) -> None:
    env = Surroundings(variables={"HOME": str(tmp_path)})
    assert view_key(env, "", "", "", tmp_path).project is None
    assert view_key(env, "", "/", "", tmp_path).project is None


# -- one engine per home --------------------------------------------------------------------------------------------


def test_the_first_holds_the_lock_and_the_second_is_told_of_it(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with single_engine(run) as nobody:
        assert nobody is None
        assert stat.S_IMODE((run / "daemon.lock").stat().st_mode) == 0o600
        with single_engine(run) as other:
            assert other == {"pid": None, "http_url": None}  # it is only starting
        (run / "daemon.json").write_text(json.dumps(said()))
        with single_engine(run) as other:
            assert other == said()
    with single_engine(run) as nobody:
        assert nobody is None


@pytest.mark.parametrize(
    "content",
    ["", "no json", "[]", "null", "{}", '{"pid": 1}', json.dumps(said(start_time="long ago")),
     json.dumps(said(pid=2**22 + 1)), json.dumps(said(pid="1"))],
)  # fmt: skip
def test_a_run_file_that_nobody_stands_behind_is_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "daemon.json").write_text(content)
    assert running_engine(tmp_path) is None


def test_a_live_engine_is_believed(tmp_path: Path) -> None:
    assert running_engine(tmp_path) is None
    (tmp_path / "daemon.json").write_text(json.dumps(said()))
    assert running_engine(tmp_path) == said()


def test_the_second_engine_ends_with_5_and_names_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = loaded(tmp_path)
    with single_engine(config.paths.run):
        (config.paths.run / "daemon.json").write_text(json.dumps(said()))
        assert serve.main_http(config, around(), lambda url: pytest.fail("it must not serve")) == 5
    told = capsys.readouterr()
    assert (told.out, f"pid {os.getpid()}, http://127.0.0.1:1" in told.err) == ("", True)


# -- in the foreground ----------------------------------------------------------------------------------------------


async def test_http_is_served_until_a_signal_and_leaves_no_run_file(tmp_path: Path) -> None:
    config, announced = loaded(tmp_path), asyncio.Event()
    run_file = config.paths.run / "daemon.json"
    described: dict[str, Any] = {}

    def announce(url: str) -> None:
        described.update(json.loads(run_file.read_text()), announced=url, mode=stat.S_IMODE(run_file.stat().st_mode))
        announced.set()

    serving = asyncio.create_task(serve_http(config, around(), announce))
    await soon(announced.wait())
    assert described["http_url"] == described["announced"]
    assert (described["pid"], described["start_time"]) == (os.getpid(), started_at(os.getpid()))
    assert (described["started_by"], described["mode"]) == ("serve", 0o600)
    os.kill(os.getpid(), signal.SIGTERM)
    assert await soon(serving) == 0
    assert not run_file.exists()


async def test_stdio_is_served_until_the_end_of_input(tmp_path: Path) -> None:
    (stdin, write), (read, stdout) = os.pipe(), os.pipe()
    os.write(write, jsonrpc.encode(rpc("initialize", INITIALIZE)) + b"\n")
    os.close(write)
    assert await soon(serve_stdio(loaded(tmp_path), around(), ViewKey(), (stdin, stdout))) == 0
    with os.fdopen(read, "rb") as answers:
        assert json.loads(answers.read())["result"]["serverInfo"]["name"] == "remora"


async def test_stdio_is_served_until_a_signal(tmp_path: Path) -> None:
    (stdin, write), (read, stdout) = os.pipe(), os.pipe()
    reader = asyncio.StreamReader()
    answers, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read, "rb", buffering=0)
    )
    serving = asyncio.create_task(serve_stdio(loaded(tmp_path), around(), ViewKey(), (stdin, stdout)))
    os.write(write, jsonrpc.encode(rpc("ping")) + b"\n")
    assert json.loads(await soon(reader.readline()))["result"] == {}
    os.kill(os.getpid(), signal.SIGINT)
    assert await soon(serving) == 0
    answers.close()
    os.close(write)


async def test_sighup_reads_the_file_again(tmp_path: Path) -> None:
    config, announced = loaded(tmp_path), asyncio.Event()
    taken = asyncio.Event()

    async def reloaded(self: Any, change: Any) -> None:
        taken.set()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serve.App, "reloaded", reloaded)
        serving = asyncio.create_task(serve_http(config, around(), lambda url: announced.set()))
        await soon(announced.wait())
        os.kill(os.getpid(), signal.SIGHUP)
        await soon(taken.wait())
        os.kill(os.getpid(), signal.SIGTERM)
        await soon(serving)


def test_the_second_signal_ends_at_once() -> None:
    program = (
        "import asyncio, os, signal\nfrom remora.doors.serve import _on_signals\n"
        "async def main():\n"
        "    asked = asyncio.Event()\n"
        "    with _on_signals(asked.set):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        await asked.wait()\n"
        "        print('first', flush=True)\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(main())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (130, "first\n")


async def test_a_background_task_that_fails_begins_anew_and_disturbs_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(serve, "RESTART_SECONDS", 0)
    failures, again = [KeyError("once")], asyncio.Event()

    async def fail() -> None:
        if failures:
            raise failures.pop()
        again.set()

    with caplog.at_level(logging.ERROR):
        async with serve._background(fail, asyncio.Event().wait):  # type: ignore[arg-type]
            await soon(again.wait())
    assert [record.exc_info is not None for record in caplog.records] == [True]


async def test_background_tasks_end_with_their_owner() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with serve._background(work):
        await soon(begun.wait())
        assert not ended.is_set()
    assert ended.is_set()


def test_an_unknown_profile_is_said_before_anything_is_served(tmp_path: Path) -> None:
    config = loaded(tmp_path)
    program = (
        "import sys\nfrom pathlib import Path\nfrom remora.doors.mcp.command import run\n"
        f"sys.exit(run(['--home', {str(config.paths.home)!r}, '--profile', 'nobody']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input="", capture_output=True, text=True, env=ENVIRON, timeout=30, check=False
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert 'remora: unknown profile "nobody"' in done.stderr
