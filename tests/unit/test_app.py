from __future__ import annotations

import asyncio
import logging
import os
import stat
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from remora.app import App, new_token, opened, watcher
from remora.config.load import Loaded, Paths, load
from remora.config.problems import Problem
from remora.config.watch import Reload
from remora.gateway.session import LOCAL_USER, Principal, Session, ViewKey
from remora.storage.sqlite.connection import StateUnavailable

GIT = '[servers.git]\ncommand = "/no/such/program"\nstart = "lazy"\n'
Configure = Callable[[str], Loaded]


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    def write(text: str) -> Loaded:
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(text)
        return load(home, environ={})

    return write


@pytest.fixture
def start(configure: Configure) -> Callable[[str], AbstractAsyncContextManager[App]]:
    return lambda text="": opened(configure(text), dict(os.environ))


Start = Callable[..., AbstractAsyncContextManager[App]]


async def test_everything_is_there_and_for_our_user_alone(start: Start) -> None:
    async with start() as app:
        listed = [tool["name"] for tool in app.gateway.own.definitions(ViewKey())]
        assert listed == ["remora", "read_more", "feedback"]
        assert set(listed) < set(app.gateway.own.names)
        await app.state.run(lambda db: None)
        assert stat.S_IMODE(app.paths.state_db.stat().st_mode) == 0o600
        for folder in (app.paths.run, app.paths.logs, app.paths.config_backups):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_nothing_is_left_running(start: Start) -> None:
    before = asyncio.all_tasks()
    program = f'[servers.notes]\ncommand = "{sys.executable}"\nargs = ["-m", "remora.demo.notes"]\nstart = "eager"\n'
    async with start(program) as app:
        await app.gateway.servers["notes"].upstream(None).ready_link()
        listener = app.gateway.listeners.add(Session("http"), lambda method, params: None, frozenset())
        assert asyncio.all_tasks() > before
    assert asyncio.all_tasks() == before
    assert listener.ended.is_set()


async def test_it_is_closed_in_good_order_when_its_user_fails(start: Start) -> None:
    with pytest.raises(KeyError):
        async with start() as app:
            raise KeyError("of the user's")
    with pytest.raises(StateUnavailable, match="is closed"):
        await app.state.run(lambda db: None)


async def test_two_engines_may_share_one_home(start: Start) -> None:
    async with start() as one, start() as other:
        one.gateway.metrics.record_tool_defs("a", 1, 1, 1)
        other.gateway.metrics.record_tool_defs("b", 1, 1, 1)
        await one.metrics.flush()
        await other.metrics.flush()
        rows = await one.state.read(lambda db: [session for (session,) in db.execute("SELECT session FROM tool_defs")])
    assert sorted(rows) == ["a", "b"]


async def test_who_asks_is_the_session_where_there_is_one(start: Start) -> None:
    somebody = Principal("somebody", "read")
    async with start() as app:
        assert app.context().principal == LOCAL_USER
        assert app.context(principal=somebody).principal == somebody
        session = Session("http", somebody)
        assert (app.context(session).principal, app.context(session).session) == (somebody, session)
        assert app.context(session, LOCAL_USER).principal == somebody


async def test_the_tool_remora_works_on_this_very_gateway(start: Start) -> None:
    from types import SimpleNamespace

    async with start(GIT) as app:
        front = SimpleNamespace(session=Session("stdio"))
        result = await app.gateway.own.call("remora", {"action": "status"}, front)  # type: ignore[arg-type]
    assert list(result["structuredContent"]["servers"]) == ["git"]


# -- reload ---------------------------------------------------------------------------------------------------------


async def test_an_edited_file_is_taken_up(start: Start, configure: Configure) -> None:
    async with start() as app:
        await app.reloaded(Reload(configure(GIT)))
        assert list(app.gateway.servers) == ["git"]


async def test_a_broken_file_changes_nothing_and_is_told(
    start: Start, configure: Configure, caplog: pytest.LogCaptureFixture
) -> None:
    async with start(GIT) as app:
        before = app.gateway.loaded
        with caplog.at_level(logging.ERROR):
            await app.reloaded(Reload(configure(""), (Problem("/h/config.toml", 7, "max", "unknown key", ""),)))
        assert app.gateway.loaded is before
        assert list(app.gateway.servers) == ["git"]
    assert any("config.toml:7" in record.getMessage() for record in caplog.records)


async def test_what_needs_a_restart_is_said(
    start: Start, configure: Configure, caplog: pytest.LogCaptureFixture
) -> None:
    async with start() as app:
        with caplog.at_level(logging.WARNING):
            await app.reloaded(Reload(configure("[http]\nport = 1\n"), (), ("http.port",), ("http.port",)))
    assert "needs a restart: http.port" in caplog.text


async def test_the_watcher_brings_an_edit_to_the_gateway(start: Start, configure: Configure) -> None:
    async with start() as app:
        watch = watcher(app, lambda: load(app.paths.home, environ={}))
        configure(GIT)
        watch.nudge()
        await watch.look()
        assert list(app.gateway.servers) == ["git"]
        (app.paths.config).write_text("nonsense = 1\n")
        watch.nudge()
        await watch.look()
        assert list(app.gateway.servers) == ["git"]


# -- the local login ------------------------------------------------------------------------------------------------


def test_the_token_is_made_once_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    paths = Paths(tmp_path)
    paths.create()
    token = new_token(paths)
    assert len(token) >= 43  # 256 bits as base64url
    assert stat.S_IMODE((tmp_path / "run" / "token").stat().st_mode) == 0o600
    assert new_token(paths) == token


def test_each_home_has_a_token_of_its_own(tmp_path: Path) -> None:
    tokens = set()
    for name in ("a", "b"):
        Paths(tmp_path / name).create()
        tokens.add(new_token(Paths(tmp_path / name)))
    assert len(tokens) == 2


@pytest.mark.parametrize("content", ["", " \n"])
def test_an_empty_token_file_does_not_open_the_door(tmp_path: Path, content: str) -> None:
    paths = Paths(tmp_path)
    paths.create()
    (paths.run / "token").write_text(content)
    token = new_token(paths)
    assert token.strip()
    assert (paths.run / "token").read_text() == token


def test_a_token_somebody_wrote_is_used_without_its_newline(tmp_path: Path) -> None:
    paths = Paths(tmp_path)
    paths.create()
    (paths.run / "token").write_text("sesame\n")
    assert new_token(paths) == "sesame"
