from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.gateway.gateways import NoState

from remora.config.results import CacheConfig
from remora.gateway.cache import store
from remora.gateway.cache.store import Answer, AnswerStore, size_of
from remora.storage.sqlite.state import StateDb

RESULT: dict[str, Any] = {"content": [{"type": "text", "text": "é"}]}


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[StateDb]:
    state = StateDb(tmp_path / "state.db")
    yield state
    await state.close()


def answer(created: float = 100.0, expires: float | None = 200.0, server: str = "s", tool: str = "t") -> Answer:
    return Answer(RESULT, created, expires, server, tool, size_of(RESULT))


async def test_kept_in_memory_and_in_the_file(state: StateDb) -> None:
    kept = AnswerStore(state, CacheConfig())
    await kept.keep("k", answer())
    held = kept.held("k", 150)
    assert held is not None
    assert held.result is RESULT
    other = AnswerStore(state, CacheConfig())
    assert other.held("k", 150) is None
    found = await other.load("k", "s", "t", 150)
    assert found is not None
    assert (found.result, found.created, found.expires, found.size) == (RESULT, 100.0, 200.0, size_of(RESULT))
    assert other.held("k", 150) is found


async def test_nothing_outlives_its_time_and_some_have_none(state: StateDb) -> None:
    kept = AnswerStore(state, CacheConfig())
    await kept.keep("k", answer())
    await kept.keep("ever", answer(expires=None))
    assert kept.held("k", 200) is None
    assert await kept.load("k", "s", "t", 200) is None
    assert kept.held("ever", 1e12) is not None
    assert await AnswerStore(state, CacheConfig()).load("ever", "s", "t", 1e12) is not None


async def test_what_is_too_large_is_not_kept(state: StateDb) -> None:
    kept = AnswerStore(state, CacheConfig(max_entry_bytes=5))
    await kept.keep("k", answer())
    assert kept.held("k", 150) is None
    assert await kept.load("k", "s", "t", 150) is None


async def test_the_least_recently_used_goes_first(state: StateDb) -> None:
    kept = AnswerStore(state, CacheConfig(max_entries=2))
    for key in "ab":
        await kept.keep(key, answer())
    assert kept.held("a", 150)
    await kept.keep("c", answer())
    assert [kept.held(key, 150) is not None for key in "abc"] == [True, False, True]


async def test_large_answers_come_back_as_they_were_sent(state: StateDb) -> None:
    large = {"content": [{"type": "text", "text": "x" * store.INLINE_BYTES}]}
    await AnswerStore(state, CacheConfig()).keep("k", Answer(large, 1.0, None, "s", "t", size_of(large)))
    found = await AnswerStore(state, CacheConfig()).load("k", "s", "t", 2)
    assert found is not None
    assert (found.result, found.size) == (large, size_of(large))


async def test_forgetting_all_or_those_of_a_server_or_tool(state: StateDb) -> None:
    kept = AnswerStore(state, CacheConfig())
    for key, server, tool in (("a", "s", "t"), ("b", "s", "u"), ("c", "r", "t")):
        await kept.keep(key, answer(server=server, tool=tool))
    assert await kept.clear("s", "u") == 1
    assert [kept.held(key, 150) is not None for key in "abc"] == [True, False, True]
    assert await kept.clear() == 2
    assert await kept.load("a", "s", "t", 150) is None


async def test_without_a_file_memory_is_enough() -> None:
    kept = AnswerStore(NoState(), CacheConfig())  # type: ignore[arg-type]
    assert await kept.load("k", "s", "t", 150) is None
    await kept.keep("k", answer())
    assert kept.held("k", 150) is not None
