from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.gateway.gateways import NoState

from remora.config.model import Config
from remora.config.results import StashConfig
from remora.errors import RefusedError, UsageError
from remora.gateway.session import Principal, Session
from remora.gateway.stages.workers import Workers
from remora.gateway.stash.store import Stash
from remora.operations import stash
from remora.operations.registry import Context, run
from remora.storage.sqlite.state import StateDb

TEXT = "\n".join(f"line {i} of the report about step {i * 7}" for i in range(1, 5001))
UNKNOWN = "0" * 16


class Hurried(Workers):
    """Nothing is ever finished here; `alone` is noted."""

    def __init__(self) -> None:
        super().__init__()
        self.alone_for: list[float] = []

    async def run(self, *_: Any) -> Any:
        raise TimeoutError

    async def alone(self, limit: float, *_: Any) -> Any:
        self.alone_for.append(limit)
        raise TimeoutError


class Desk:
    """Where operations are run, with a stash, and what they leave behind."""

    def __init__(self, state: StateDb, workers: Workers) -> None:
        config = Config.model_validate({"pipeline": {"max_result_tokens": 300}})
        self.recovered: list[Any] = []
        self.cleared: list[Any] = []
        self.stash = Stash(state, StashConfig())
        self.gateway: Any = SimpleNamespace(
            stash=self.stash, config=config, view=lambda session: SimpleNamespace(config=config),
            metrics=SimpleNamespace(record_recovery=lambda *told: self.recovered.append(told)),
            parts=SimpleNamespace(workers=workers), cache=SimpleNamespace(clear=self._clear),
        )  # fmt: skip

    async def _clear(self, *given: str) -> int:
        self.cleared.append(given)
        return 3

    async def run(self, name: str, by: Principal | None = None, session: Session | None = None, **given: Any) -> Any:
        by = by or Principal("me", "admin")
        return await run(Context(self.gateway, NoState(), Path(), by, session), name, given)  # type: ignore[arg-type]

    async def put(self, text: str = TEXT, **more: Any) -> str:
        return await self.stash.put(text, principal="me", server="s", tool="t", **more)


@pytest.fixture
async def desk(tmp_path):
    state, workers = StateDb(tmp_path / "state.db"), Workers()
    yield Desk(state, workers)
    await workers.close()
    await state.close()


async def test_reading_on_until_the_end_gives_the_whole_text(desk):
    handle, read, offset = await desk.put(), "", 0
    while True:
        found = await desk.run("stash.read", handle=handle, offset=offset, limit=50_000)
        body, _, tail = found["text"].rpartition("\n[rem: chars ")
        read += body
        if "next:" not in tail:
            break
        offset = int(tail.rpartition("offset=")[2].rstrip(")]"))
    assert read == TEXT


async def test_an_answer_fits_the_budget_and_is_told_to_the_metrics(desk):
    handle = await desk.put()
    found = await desk.run("stash.read", session=Session("stdio", key="k"), handle=handle)
    assert found["mode"] == "range"
    assert 0 < found["tokens"] <= 350
    assert desk.recovered == [(handle, "k", "range", found["tokens"])]
    most = await desk.run("stash.read", handle=await desk.put(TEXT * 5), limit=10**9)
    assert 20_000 < most["tokens"] <= stash.MOST_TOKENS + 100


async def test_the_mode_follows_from_what_is_asked(desk):
    handle = await desk.put()
    found = await desk.run("stash.read", handle=handle, q="7-8")
    assert (found["mode"], found["error"]) == ("lines", False)
    assert "line 8 of" in found["text"]
    assert "line 9 of" not in found["text"]


async def test_raw_is_what_the_server_sent(desk):
    handle = await desk.put("<p>Hello</p>", cleaned="Hello")
    assert (await desk.run("stash.read", handle=handle))["text"].startswith("Hello")
    assert (await desk.run("stash.read", handle=handle, raw=True))["text"].startswith("<p>Hello</p>")


async def test_what_is_unknown_and_what_is_somebody_elses_sound_the_same(desk):
    handle = await desk.put()
    found = [await desk.run("stash.read", Principal("you", "read"), handle=each) for each in (handle, UNKNOWN)]
    texts = {each["text"].replace(handle, UNKNOWN) for each in found}
    assert all(each["error"] for each in found)
    assert len(texts) == 1
    assert "call the original tool again" in texts.pop()
    assert desk.recovered == []
    with pytest.raises(UsageError, match="not found or expired"):
        await desk.run("stash.show", Principal("you", "read"), handle=handle)


async def test_what_takes_too_long_is_said_in_words(desk):
    handle, hurried = await desk.put(), Hurried()
    desk.gateway.parts.workers = hurried
    slow = await desk.run("stash.read", handle=handle, mode="grep", q="(a+)+b")
    plain = await desk.run("stash.read", handle=handle, mode="grep", q="step 77")
    assert "not finished within" in slow["text"]
    assert slow["error"]
    assert plain["error"]
    assert hurried.alone_for == [stash.GREP_SECONDS]  # only a pattern that can run wild has a process to end


@pytest.mark.parametrize("given", [{"mode": "guess"}, {"offset": -1}, {"context": 101}, {"more": 1}])
async def test_values_that_no_reading_has_are_refused(desk, given):
    with pytest.raises(UsageError):
        await desk.run("stash.read", handle=UNKNOWN, **given)


async def test_looking_after_what_is_kept(desk):
    plain, secret = await desk.put(), await desk.put("a secret", secret=True)
    listed = (await desk.run("stash.list"))["entries"]
    assert {row["handle"]: row["until_restart"] for row in listed} == {plain: False, secret: True}
    assert len((await desk.run("stash.list", limit=1))["entries"]) == 1
    assert (await desk.run("stash.show", handle=plain))["text"] == TEXT
    assert await desk.run("stash.clear", handle=plain) == {"cleared": 1}
    assert [row["handle"] for row in (await desk.run("stash.list"))["entries"]] == [secret]
    assert await desk.run("stash.clear") == {"cleared": 1}
    for name in ("stash.list", "stash.clear"):
        with pytest.raises(RefusedError):
            await desk.run(name, Principal("you", "write"))


async def test_kept_answers_are_forgotten_by_server_and_tool(desk):
    assert await desk.run("cache.clear", server="s", tool="t") == {"cleared": 3}
    assert desk.cleared == [("s", "t")]
    with pytest.raises(RefusedError):
        await desk.run("cache.clear", Principal("you", "read"))
