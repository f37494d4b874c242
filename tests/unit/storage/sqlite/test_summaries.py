from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from remora.storage.sqlite import summaries
from remora.storage.sqlite.state import StateDb
from remora.storage.sqlite.summaries import Summaries


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[StateDb]:
    state = StateDb(tmp_path / "state.db")
    yield state
    await state.close()


async def test_kept_and_found_again(state: StateDb) -> None:
    kept = Summaries(state, 1)
    assert await kept.get("a") is None
    await kept.put("a", "first")
    await kept.put("a", "second")
    assert await kept.get("a") == "second"


async def test_not_longer_than_originals(state: StateDb) -> None:
    await Summaries(state, 1).put("a", "text")
    await state.run(lambda db: db.execute("UPDATE summaries SET ts = ts - 3700"))
    assert await Summaries(state, 1).get("a") is None
    assert await Summaries(state, 2).get("a") == "text"


async def test_only_the_newest(state: StateDb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summaries, "MOST", 2)
    kept = Summaries(state, 1)
    for key in "abc":
        await kept.put(key, key)
        await state.run(lambda db: db.execute("UPDATE summaries SET ts = ts - 1"))
    assert [await kept.get(key) for key in "abc"] == [None, "b", "c"]
