from __future__ import annotations

from tests.unit.gateway.tuning.conftest import Calls

from remora.config.load import Loaded
from remora.gateway.tuning.evidence import collect, first_after
from remora.gateway.tuning.feedback import Given, record
from remora.storage.sqlite.state import StateDb


async def test_nothing_recorded_is_no_evidence(state: StateDb) -> None:
    assert await collect(state, 0) == []


async def test_what_was_read_on_or_asked_again_counts_once(state: StateDb, loaded: Loaded, calls: Calls) -> None:
    await calls(8, recovered=2)
    await calls(2, ago=50, key="same")  # one asked, asked again
    await calls(1, ago=40, recovered=1, key="alone")
    await record(state, loaded.config, Given("git", "log", "x", "truncated"))
    (found,) = await collect(state, 0)
    assert (found.reduced, found.recovered, found.repeated, found.again) == (11, 3, 1, 4)
    assert (found.feedback, found.complaints) == ({"truncated": 1}, 1)
    assert (found.tokens_in, found.tokens_out, found.kept_share) == ((20_000, 20_000), (4_000, 4_000), 0.2)
    assert (found.type, found.strategy, found.ms_p95, found.kilobytes_p95) == ("log", "auto→log", 5.0, 60.0)
    assert round(found.rate, 3) == round(5 / 11, 3)


async def test_the_same_call_much_later_is_no_repetition(state: StateDb, calls: Calls) -> None:
    await calls(1, ago=1_000, key="k")
    await calls(1, ago=10, key="k")
    assert (await collect(state, 0))[0].repeated == 0


async def test_one_tool_and_one_window(state: StateDb, calls: Calls) -> None:
    await calls(3)
    await calls(2, tool="diff")
    assert [(each.tool, each.reduced) for each in await collect(state, 0)] == [("log", 3), ("diff", 2)]
    assert [each.tool for each in await collect(state, 0, "git/diff")] == ["diff"]
    assert [each.tool for each in await collect(state, 0, "log")] == ["log"]
    assert await collect(state, 4e9) == []


async def test_the_first_answers_after_a_moment(state: StateDb, calls: Calls) -> None:
    await calls(3, ago=100)
    await calls(3, recovered=3, ago=50)
    assert await first_after(state, "git", "log", 0, 7) is None
    first = await first_after(state, "git", "log", 0, 3)
    assert first is not None
    assert (first.reduced, first.again) == (3, 0)
