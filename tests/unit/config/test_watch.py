import asyncio
from functools import partial

import pytest

from remora.config.load import load
from remora.config.watch import Watcher, changed_keys


@pytest.fixture
def home(tmp_path):
    (tmp_path / "config.toml").write_text('[servers.a]\ncommand = "x"\n')
    return tmp_path


@pytest.fixture
def told():
    return []


@pytest.fixture
def watcher(home, told):
    read = partial(load, home, environ={})

    async def tell(reload):
        told.append(reload)

    return Watcher(read(), read, tell, interval=0.01)


async def test_an_untouched_file_is_not_read(watcher, told):
    await watcher.look()
    assert told == []


async def test_a_change_is_told_and_in_force(home, watcher, told):
    (home / "config.toml").write_text('[http]\nport = 1\n[servers.b]\ncommand = "x"\n')
    await watcher.look()
    [reload] = told
    assert list(watcher.loaded.config.servers) == ["b"]
    assert reload.loaded is watcher.loaded
    assert {"http.port", "servers.a.command", "servers.b.command"} < set(reload.changed)
    assert reload.needs_restart == ("http.port",)
    assert (home / "run" / "config.last-good.json").exists()
    await watcher.look()
    assert len(told) == 1


async def test_a_broken_file_changes_nothing_and_is_told_once(home, watcher, told):
    (home / "config.toml").write_text("[http]\nprot = 1\n")
    await watcher.look()
    await watcher.look()
    [reload] = told
    assert [str(problem).split(":", 1)[1] for problem in reload.problems] == [
        '2: http.prot: unknown key "prot" (did you mean "port"?)'
    ]
    assert reload.changed == ()
    assert list(watcher.loaded.config.servers) == list(reload.loaded.config.servers) == ["a"]


async def test_a_nudge_reads_the_file_in_any_case(watcher, told):
    watcher.nudge()
    await watcher.look()
    await watcher.look()
    assert [reload.changed for reload in told] == [()]


async def test_a_file_moved_away_for_a_moment_is_not_gone(home, watcher, told):
    file = home / "config.toml"
    file.rename(home / "moved")
    await watcher.look()
    assert told == []
    (home / "moved").rename(file)
    await watcher.look()
    assert told == []


async def test_a_file_that_stays_away_means_defaults(home, watcher, told):
    (home / "config.toml").unlink()
    await watcher.look()
    await watcher.look()
    await watcher.look()
    assert len(told) == 1
    assert watcher.loaded.config.servers == {}


async def test_a_named_file_that_is_gone_is_a_problem(home, told):
    named = home / "named.toml"
    named.write_text('[servers.n]\ncommand = "x"\n')
    read = partial(load, home, named, environ={})

    async def tell(reload):
        told.append(reload)

    watcher = Watcher(read(), read, tell)
    named.unlink()
    await watcher.look()
    await watcher.look()
    assert "there is no file" in str(told[0].problems[0])
    assert list(watcher.loaded.config.servers) == ["n"]


async def test_it_runs_until_cancelled(home, watcher):
    seen = asyncio.Event()

    async def tell(reload):
        seen.set()

    watcher._tell = tell
    async with asyncio.timeout(10):
        task = asyncio.create_task(watcher.run())
        (home / "config.toml").write_text("log_level = 'debug'\n")
        await seen.wait()
        seen.clear()
        watcher.nudge()
        await seen.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert watcher.loaded.config.log_level == "debug"


def test_changed_keys(home):
    before = load(home, environ={}).config
    after = load(home, environ={"REMORA_SERVERS__A__ARGS": '["y"]', "REMORA_SERVERS__A__ENV__K": "v"}).config
    assert changed_keys(before, before) == ()
    assert set(changed_keys(before, after)) == {"servers.a.args", "servers.a.env", "servers.a.env.K"}
