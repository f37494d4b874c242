import json
from types import SimpleNamespace
from typing import Any

import pytest

from remora.config.model import Config
from remora.errors import RefusedError, UsageError
from remora.gateway.session import Principal
from remora.gateway.stages.workers import Workers
from remora.gateway.stash.store import Stash
from remora.operations.registry import Context, registered, run
from remora.operations.text import stash_list_text
from remora.storage.sqlite.state import StateDb

TEXT = json.dumps([{"id": i, "name": f"user{i}"} for i in range(3000)])
registered()


class Cache:
    async def clear(self, server: str, tool: str) -> int:
        return len(server + tool)


@pytest.fixture
async def context(tmp_path):
    state, workers, recoveries = StateDb(tmp_path / "state.db"), Workers(), []
    gateway: Any = SimpleNamespace(
        stash=Stash(state, Config().stash), config=Config(), parts=SimpleNamespace(workers=workers), cache=Cache(),
        metrics=SimpleNamespace(record_recovery=lambda *row: recoveries.append(row)), recoveries=recoveries,
    )  # fmt: skip
    yield Context(gateway, state, None, Principal("local", "admin"))  # type: ignore[arg-type]
    await workers.close()
    await state.close()


async def kept(context: Context) -> str:
    return await context.gateway.stash.put(TEXT, principal="local", kind="json", tool="users")


async def test_every_way_of_reading_is_counted_as_a_recovery(context):
    handle = await kept(context)
    ways = [("", ""), ("1-1", ""), ("$[7].name", ""), ("user77", "search"), ("user12[0-9]+", "grep"), ("?", "section")]
    for q, mode in ways:
        answer = await run(context, "stash.read", {"handle": handle, "q": q, "mode": mode})
        assert not answer["error"], answer["text"]
    modes = [row[2] for row in context.gateway.recoveries]
    assert modes == ["range", "lines", "jsonpath", "search", "grep", "section"]
    assert all(row[3] > 0 for row in context.gateway.recoveries)


async def test_an_answer_is_at_most_as_large_as_a_result(context):
    handle = await kept(context)
    usual = await run(context, "stash.read", {"handle": handle})
    assert usual["tokens"] <= 4600
    assert (await run(context, "stash.read", {"handle": handle, "limit": 10**9}))["tokens"] <= 25_100


async def test_an_unknown_handle_is_an_error_and_no_recovery(context):
    answer = await run(context, "stash.read", {"handle": "f" * 16})
    assert answer["error"]
    assert "not found or expired (kept 7 days)" in answer["text"]
    assert context.gateway.recoveries == []
    with pytest.raises(UsageError):
        await run(context, "stash.show", {"handle": "f" * 16})


async def test_looking_after_what_is_kept(context):
    assert stash_list_text(await run(context, "stash.list", {})).startswith("Nothing is kept")
    handle = await kept(context)
    assert (await run(context, "stash.show", {"handle": handle}))["text"] == TEXT
    listed = await run(context, "stash.list", {})
    assert (listed["entries"][0]["handle"], listed["entries"][0]["tool"]) == (handle, "users")
    assert handle in stash_list_text(listed)
    assert await run(context, "stash.clear", {}) == {"cleared": 1}
    assert await run(context, "cache.clear", {"server": "ab", "tool": "c"}) == {"cleared": 3}


async def test_only_an_administrator_forgets(context):
    reader = Context(context.gateway, context.state, context.paths, Principal("r", "read"))
    with pytest.raises(RefusedError):
        await run(reader, "stash.clear", {})
