from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from remora.config.model import Config
from remora.errors import RefusedError, UsageError
from remora.gateway.session import Principal
from remora.gateway.stages.workers import Workers
from remora.gateway.stash.store import Stash
from remora.operations.registry import Context, registered, run
from remora.storage.sqlite.state import StateDb

TEXT = "\n".join(f"line {i} of the text" for i in range(1, 301))
registered()


@pytest.fixture
async def contexts(tmp_path: Path) -> AsyncIterator[Any]:
    """Contexts of any principal around one stash; `recovered` is what the metrics heard."""
    state, config, workers = StateDb(tmp_path / "state.db"), Config(), Workers()
    recovered: list[Any] = []
    metrics = SimpleNamespace(record_recovery=lambda *what: recovered.append(what))

    async def clear(server: str, tool: str) -> int:
        return len(server) + len(tool)

    gateway: Any = SimpleNamespace(
        stash=Stash(state, config.stash),
        config=config,
        metrics=metrics,
        parts=SimpleNamespace(workers=workers),
        cache=SimpleNamespace(clear=clear),
    )

    def make(name: str = "me", scope: Any = "admin") -> Context:
        return Context(gateway, state, None, Principal(name, scope))  # type: ignore[arg-type]

    yield SimpleNamespace(make=make, stash=gateway.stash, recovered=recovered)
    await workers.close()
    await state.close()


async def test_reading_on_is_answered_and_counted(contexts: Any) -> None:
    handle = await contexts.stash.put(TEXT, principal="me", kind="log")
    answer = await run(contexts.make(scope="read"), "stash.read", {"handle": handle, "q": "7-8"})
    assert (answer["text"], answer["mode"], answer["error"]) == (
        "line 7 of the text\nline 8 of the text",
        "lines",
        False,
    )
    assert contexts.recovered == [(handle, None, "lines", answer["tokens"])]


async def test_raw_is_what_the_server_sent(contexts: Any) -> None:
    handle = await contexts.stash.put("<b>sent</b>", principal="me", cleaned="sent")
    asked = {"handle": handle}
    assert (await run(contexts.make(), "stash.read", asked))["text"].startswith("sent\n")
    assert (await run(contexts.make(), "stash.read", {**asked, "raw": True}))["text"].startswith("<b>sent</b>\n")


async def test_what_is_not_there_or_somebody_elses_is_said_in_the_same_words(contexts: Any) -> None:
    handle = await contexts.stash.put(TEXT, principal="me")
    told = [await run(contexts.make("other", "read"), "stash.read", {"handle": each}) for each in (handle, "0" * 16)]
    assert all(answer["error"] for answer in told)
    assert told[0]["text"].replace(handle, "") == told[1]["text"].replace("0" * 16, "")
    assert contexts.recovered == []


async def test_a_wrong_question_is_named(contexts: Any) -> None:
    handle = await contexts.stash.put(TEXT, principal="me")
    answer = await run(contexts.make(), "stash.read", {"handle": handle, "mode": "grep", "q": "(a+)+"})
    assert (answer["error"], answer["text"]) == (
        True,
        "rem: bad pattern: nested repetition at 4: repeat one thing only",
    )
    with pytest.raises(UsageError, match="mode"):
        await run(contexts.make(), "stash.read", {"handle": handle, "mode": "odd"})


async def test_looking_after_what_is_kept(contexts: Any) -> None:
    handle = await contexts.stash.put(TEXT, principal="me", server="s", tool="t", kind="log")
    (entry,) = (await run(contexts.make(), "stash.list", {}))["entries"]
    assert (entry["handle"], entry["chars"], entry["type"], entry["until_restart"]) == (handle, len(TEXT), "log", False)
    assert (await run(contexts.make(), "stash.show", {"handle": handle}))["text"] == TEXT
    assert await run(contexts.make(), "stash.clear", {}) == {"cleared": 1}
    with pytest.raises(UsageError, match="not found or expired"):
        await run(contexts.make(), "stash.show", {"handle": handle})


async def test_forgetting_needs_more_than_reading(contexts: Any) -> None:
    for name in ("stash.clear", "stash.list", "cache.clear"):
        with pytest.raises(RefusedError, match="needs the scope"):
            await run(contexts.make(scope="read"), name, {})
    assert await run(contexts.make(scope="write"), "cache.clear", {"server": "ab", "tool": "c"}) == {"cleared": 3}
