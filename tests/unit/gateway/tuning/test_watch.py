from __future__ import annotations

import fcntl
from collections.abc import Callable

from tests.unit.gateway.tuning.conftest import CONFIG, Calls

from remora.config.load import Loaded, load
from remora.gateway.tuning.changes import Changes
from remora.gateway.tuning.watch import Tuner
from remora.storage.sqlite.state import StateDb


def tuner(state: StateDb, loaded: Loaded) -> Tuner:
    async def flush() -> None:
        return None

    loaded.paths.create()
    return Tuner(state, lambda: load(loaded.paths.home, environ={}), flush)


async def test_it_applies_nothing_unless_it_may(state: StateDb, loaded: Loaded, calls: Calls) -> None:
    await calls(20, recovered=10)
    await tuner(state, loaded).once()
    assert loaded.path.read_text() == CONFIG


async def test_it_applies_what_is_certain_if_it_may(
    state: StateDb, write: Callable[[str], Loaded], calls: Calls
) -> None:
    loaded = write(f"{CONFIG}[tuner]\nauto_apply = true\n")
    await calls(20, recovered=10)
    await tuner(state, loaded).once()
    assert "max_result_tokens = 6750" in loaded.path.read_text()


async def test_it_takes_back_what_made_it_worse(state: StateDb, loaded: Loaded, calls: Calls) -> None:
    await calls(20, recovered=5)
    changes = Changes(state, loaded)
    await changes.apply((await changes.recommended(0))[1])
    await calls(20, recovered=20, ago=-10)
    await tuner(state, loaded).once()
    assert loaded.path.read_text() == CONFIG


async def test_one_engine_of_a_home_does_it(state: StateDb, write: Callable[[str], Loaded], calls: Calls) -> None:
    loaded = write(f"{CONFIG}[tuner]\nauto_apply = true\n")
    await calls(20, recovered=10)
    ours = tuner(state, loaded)
    with (loaded.paths.run / "jobs.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        await ours.once()
        assert "6750" not in loaded.path.read_text()
    await ours.once()
    assert "6750" in loaded.path.read_text()


async def test_switched_off_it_does_nothing(state: StateDb, write: Callable[[str], Loaded], calls: Calls) -> None:
    loaded = write(f"{CONFIG}[tuner]\nauto_apply = true\nenabled = false\n")
    await calls(20, recovered=10)
    await tuner(state, loaded).once()
    assert "6750" not in loaded.path.read_text()
