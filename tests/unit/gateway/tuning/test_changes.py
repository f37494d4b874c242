from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from tests.unit.gateway.tuning.conftest import CONFIG, Calls

from remora.config.edit import set_value
from remora.config.load import Loaded, load
from remora.errors import RemoraError
from remora.gateway.tuning import changes as module
from remora.gateway.tuning.changes import Changes
from remora.storage.sqlite.state import StateDb

KEY = "servers.git.tools.log.max_result_tokens"


def reread(loaded: Loaded) -> Loaded:
    return load(loaded.paths.home, environ={})


async def recommended(changes: Changes) -> list[module.Recommendation]:
    return (await changes.recommended(0))[1]


async def test_applied_and_taken_back_byte_for_byte(state: StateDb, loaded: Loaded, calls: Calls) -> None:
    await calls(20, recovered=10)
    changes = Changes(state, loaded)
    (applied,) = await changes.apply(await recommended(changes))
    assert reread(loaded).config.servers["git"].tools["log"].max_result_tokens == applied.new == 6_750
    assert (applied.old, applied.status, applied.rule, applied.by) == (None, "applied", "R1", "user")
    assert applied.evidence["rate"] == 0.5
    assert len(list(loaded.paths.config_backups.glob("*-config.toml"))) == 1
    taken = await changes.roll_back("last")
    assert (taken.status, taken.id) == ("rolled_back", applied.id)
    assert loaded.path.read_text() == CONFIG
    with pytest.raises(RemoraError, match="nothing is applied"):
        await changes.roll_back("last")


@pytest.mark.parametrize("line", ["max_result_tokens = 4_000 # mine", "max_result_tokens=4000"])
async def test_a_value_that_was_set_comes_back_as_it_was_written(
    state: StateDb, write: Callable[[str], Loaded], calls: Calls, line: str
) -> None:
    text = f"{CONFIG}[servers.git.tools.log]\n{line}\n"
    await calls(20, recovered=10)
    changes = Changes(state, write(text))
    (applied,) = await changes.apply(await recommended(changes))
    assert (applied.old, applied.new) == (4_000, 6_000)
    await changes.roll_back(str(applied.id))
    assert changes.loaded.path.read_text() == text


async def test_other_edits_since_stay(state: StateDb, loaded: Loaded, calls: Calls) -> None:
    await calls(20, recovered=10)
    changes = Changes(state, loaded)
    await changes.apply(await recommended(changes))
    set_value(loaded.path, "cache.enabled", False)
    await changes.roll_back("last")
    config = reread(loaded).config
    assert config.cache.enabled is False
    assert config.server("git").tools.get("log") is None or config.servers["git"].tools["log"].max_result_tokens is None


async def test_a_value_changed_by_hand_is_not_taken_back(state: StateDb, loaded: Loaded, calls: Calls) -> None:
    await calls(20, recovered=10)
    changes = Changes(state, loaded)
    await changes.apply(await recommended(changes))
    set_value(loaded.path, KEY, 9_000)
    with pytest.raises(RemoraError, match="is 9000 by now"):
        await changes.roll_back("last")
    assert reread(loaded).config.servers["git"].tools["log"].max_result_tokens == 9_000
    with pytest.raises(RemoraError, match="number 77"):
        await changes.roll_back("77")


async def test_the_log_outlives_the_database(state: StateDb, loaded: Loaded, calls: Calls) -> None:
    await calls(20, recovered=10)
    changes = Changes(state, loaded)
    await changes.apply(await recommended(changes))
    before = await changes.history()
    await state.run(lambda db: db.execute("DELETE FROM tuning_log") and None)
    assert await changes.history() == before
    await changes.roll_back("last")
    assert loaded.path.read_text() == CONFIG


async def test_what_made_it_worse_is_taken_back_and_rests(state: StateDb, loaded: Loaded, calls: Calls) -> None:
    await calls(20, recovered=5)
    changes = Changes(state, loaded)
    await changes.apply(await recommended(changes))
    await calls(19, recovered=19, ago=-10)
    assert await changes.guard() == []
    await calls(1, ago=-11)
    (taken,) = await Changes(state, reread(loaded)).guard()
    assert taken.status == "auto_rolled_back"
    assert loaded.path.read_text() == CONFIG
    assert await recommended(changes) == []
    await state.run(lambda db: db.execute("UPDATE tuning_log SET ended = ended - 8 * 86400") and None)
    assert len(await recommended(changes)) == 1


async def test_what_is_no_worse_stays(state: StateDb, loaded: Loaded, calls: Calls) -> None:
    await calls(20, recovered=10)
    changes = Changes(state, loaded)
    await changes.apply(await recommended(changes))
    await calls(20, recovered=11, ago=-10)
    assert await changes.guard() == []


async def test_only_what_is_certain_is_applied_without_asking(
    state: StateDb, write: Callable[[str], Loaded], calls: Calls
) -> None:
    loaded = write(f"{CONFIG}[servers.git.tools.show]\nmax_result_tokens = 4000\n")
    changes = Changes(state, loaded)
    await calls(19, recovered=19)
    assert await changes.automatic(0) == []
    await calls(1)
    await calls(20, recovered=20, tool="show")  # its budget was set by hand
    (applied,) = await changes.automatic(0)
    assert (applied.tool, applied.by) == ("log", "auto")
    assert await Changes(state, reread(loaded)).automatic(0) == []  # one a day
    later = time.time() - 2 * 86_400
    await state.run(lambda db: db.execute("UPDATE tuning_log SET ts = ?", (later,)) and None)
    (again,) = await Changes(state, reread(loaded)).automatic(0)
    assert (again.old, again.new) == (6_750, 10_125)
