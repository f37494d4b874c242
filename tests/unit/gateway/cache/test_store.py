from typing import Any

import pytest

from remora.config.results import CacheConfig
from remora.gateway.cache.store import Answer, AnswerStore, size_of
from remora.gateway.wire import jsonrpc
from remora.gateway.wire.jsonrpc import RawResult
from remora.storage.sqlite.state import StateDb

NOW = 1_000.0


@pytest.fixture
async def state(tmp_path):
    made = StateDb(tmp_path / "state.db")
    yield made
    await made.close()


def answer(word: str = "x", expires: float | None = NOW + 60, tool: str = "t") -> Answer:
    result = {"content": [{"type": "text", "text": word}]}
    return Answer(result, NOW, expires, "s", tool, size_of(result))


def len_of(db: Any) -> int:
    """How many there are, once everything that was handed over is written."""
    return int(next(iter(db.execute("SELECT count(*) FROM cache")))[0])


async def test_an_answer_comes_from_memory_and_from_the_file(state):
    store = AnswerStore(state, CacheConfig())
    await store.keep("k", answer())
    assert store.held("k", NOW).result == answer().result
    await state.run(len_of)
    other = AnswerStore(state, CacheConfig())
    assert other.held("k", NOW) is None
    assert (await other.load("k", "s", "t", NOW)).result == answer().result
    assert other.held("k", NOW)
    assert await other.load("l", "s", "t", NOW) is None


async def test_life_is_looked_at_when_reading(state):
    store = AnswerStore(state, CacheConfig())
    await store.keep("short", answer())
    await store.keep("long", answer(expires=None))
    assert store.held("short", NOW + 61) is None
    assert await store.load("short", "s", "t", NOW + 61) is None
    assert store.held("long", NOW + 10**9)


async def test_a_large_result_keeps_its_own_bytes(state):
    raw = jsonrpc.encode({"content": [{"type": "text", "text": "x" * 70_000}], "n": 1.0})
    result = RawResult(content=[{"type": "text", "text": "x" * 70_000}], n=1.0)
    result.raw = raw
    await AnswerStore(state, CacheConfig()).keep("k", Answer(result, NOW, None, "s", "t", size_of(result)))
    await state.run(len_of)
    found = (await AnswerStore(state, CacheConfig()).load("k", "s", "t", NOW)).result
    assert type(found) is RawResult
    assert found.raw == raw
    assert found == result


async def test_quotas(state):
    store = AnswerStore(state, CacheConfig(max_entries=3, max_entry_bytes=100))
    await store.keep("large", answer("y" * 200))
    assert await AnswerStore(state, CacheConfig()).load("large", "s", "t", NOW) is None
    for n in range(201):
        await store.keep(f"k{n}", answer(str(n)))
    assert await state.run(len_of) == 3


async def test_clearing_by_server_and_tool(state):
    store = AnswerStore(state, CacheConfig())
    for tool in ("t", "u"):
        await store.keep(tool, answer(tool=tool))
    assert await store.clear("s", "u") == 1
    assert store.held("u", NOW) is None
    assert store.held("t", NOW)
    assert await store.clear("other") == 0
    assert await store.clear() == 1


async def test_a_file_that_cannot_be_used_is_an_empty_cache(state):
    store = AnswerStore(state, CacheConfig())
    await state.close()
    assert await store.load("k", "s", "t", NOW) is None
