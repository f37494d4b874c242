from __future__ import annotations

import pytest
from tests.unit.gateway.tuning.conftest import Calls

from remora.config.load import Loaded
from remora.errors import UsageError
from remora.gateway.tuning.feedback import Given, counts, named, record
from remora.storage.sqlite.state import StateDb


async def test_it_belongs_to_the_newest_reduced_answer_of_the_session(
    state: StateDb, loaded: Loaded, calls: Calls
) -> None:
    await calls(1, session="s1", trace="mine")
    await calls(1, ago=30, session="s2", trace="other")
    config = loaded.config
    assert await record(state, config, Given("git", "log", "the error", "truncated", session="s1")) == "mine"
    assert await record(state, config, Given("git", "log", "the error", session="s9")) == "other"
    assert await record(state, config, Given("git", "log", "the error", trace_id="given")) == "given"
    assert await record(state, config, Given("git", "diff", "the error")) is None
    assert await counts(state) == [
        ("git", "diff", "other", 1),
        ("git", "log", "other", 2),
        ("git", "log", "truncated", 1),
    ]
    assert await counts(state, tool="git/diff") == [("git", "diff", "other", 1)]


async def test_what_is_older_than_half_an_hour_or_whole_is_not_meant(
    state: StateDb, loaded: Loaded, calls: Calls
) -> None:
    await calls(1, ago=1_900)
    await calls(1, strategy="none")
    await calls(1, strategy="auto→lossless")
    assert await record(state, loaded.config, Given("git", "log", "the error")) is None


async def test_secrets_are_not_kept(state: StateDb, loaded: Loaded) -> None:
    await record(state, loaded.config, Given("git", "log", "missing: AKIAIOSFODNN7EXAMPLQ and password=q8Zr5Tn2Wv9X"))
    kept = await state.read(lambda db: next(iter(db.execute("SELECT missing FROM compression_feedback")))[0])
    assert "AKIAIOSFODNN7EXAMPLQ" not in kept
    assert "q8Zr5Tn2Wv9X" not in kept


@pytest.mark.parametrize(
    ("missing", "kind", "told"),
    [("x", "bad", "truncated, missing_example, missing_metadata, wrong_topic, other"), (" ", "other", "missing"),
     ("x" * 2001, "other", "2,000")],
)  # fmt: skip
async def test_what_cannot_be_taken(state: StateDb, loaded: Loaded, missing: str, kind: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        await record(state, loaded.config, Given("git", "log", missing, kind))


def test_a_prefix_and_a_served_name_will_do(write) -> None:  # type: ignore[no-untyped-def]
    config = write('[servers.github]\ncommand = "x"\nprefix = "gh"\n').config
    assert named(config, "gh", "gh__issues") == ("github", "issues")
    assert named(config, "github", "issues") == ("github", "issues")
    assert named(config, "else", "else__a") == ("else", "a")
