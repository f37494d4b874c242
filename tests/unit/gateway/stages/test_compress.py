import json
import time
from types import SimpleNamespace
from typing import Any

import pytest

from remora.config.model import Config
from remora.gateway.catalog import Entry, Source
from remora.gateway.manifest import Manifest
from remora.gateway.pipeline import Call
from remora.gateway.session import Caller, Principal, Session
from remora.gateway.stages import compress
from remora.gateway.stages.compress import CompressStage
from remora.gateway.stages.workers import Workers
from remora.gateway.stash.store import NotKept, Stash
from remora.gateway.view import View
from remora.storage.sqlite.state import StateDb

LOG = "\n".join(
    f"2026-01-01 10:{i // 60 % 60:02}:{i % 60:02} INFO step {i} of run {i * 7919 % 977}" for i in range(900)
)
ADMIN = Principal("local", "admin")


def call(own: tuple[str, ...] = ("read_more",), query: str = "", **pipeline: Any) -> Call:
    config = Config.model_validate(
        {"servers": {"s": {"command": "x"}}, "pipeline": {"max_result_tokens": 500, **pipeline}}
    )
    entry = Entry("s__t", Source("s", "s", config.server("s"), Manifest("f", False, "1")), "t", {"name": "t"})
    view = View(config=config, settings={"s": config.server("s")}, own=list(own))
    front: Any = SimpleNamespace(session=Session("stdio"), caller=Caller(False, "1"))
    return Call(entry, {}, query, front, view)


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **more}


@pytest.fixture
async def stash(tmp_path):
    state = StateDb(tmp_path / "state.db")
    yield Stash(state, Config().stash)
    await state.close()


@pytest.fixture
async def workers():
    made = Workers()
    yield made
    await made.close()


async def test_what_is_left_out_can_be_read_on(stash, workers):
    given = call(query="step 77")
    made = await CompressStage(stash, workers)(given, said(LOG, _meta={"a": 1}))
    report = given.report
    assert made["_meta"] == {"a": 1, "remora/pipeline": report.told()}
    assert (await stash.get(report.handle, ADMIN)).text == LOG
    assert (report.kind, report.query_source, report.fallback) == ("log", "context", None)
    assert report.tokens_out <= 500 < report.tokens_in
    assert report.columns()["units_total"] > report.columns()["units_kept"]


async def test_what_nothing_is_done_to_is_the_same_object(stash, workers):
    stage = CompressStage(stash, workers)
    for result in (said("few words"), said("x y " * 300), {"content": "no list"}, {}):
        assert await stage(call(), result) is result


async def test_an_answer_of_ours_that_comes_back_stays(stash, workers):
    stage = CompressStage(stash, workers)
    body = (await stage(call(), said(LOG)))["content"][0]["text"]
    tight = call(max_result_tokens=200, min_tokens=100)
    again = said(body)
    assert await stage(tight, again) is again
    strange = said(body.replace('read_more("', 'read_more("0'))
    assert await stage(tight, strange) is not strange


class Full(Stash):
    async def put(self, text: str, **_: Any) -> str:
        raise NotKept("no room")


@pytest.mark.parametrize("own", [("read_more",), ()])
async def test_nothing_is_left_out_that_could_not_be_read_on(stash, workers, own):
    store = Full(stash._state, stash.config) if own else stash
    given = call(own)
    result = said(LOG)
    assert await CompressStage(store, workers)(given, result) is result
    rows = [{"id": i, "state": "done", "url": f"https://example.com/items/{i}"} for i in range(200)]
    text = json.dumps(rows, indent=2)
    made = await CompressStage(store, workers)(call(own, max_result_tokens=2500), said(text))
    assert "read_more" not in json.dumps(made)
    assert given.report.fallback == ("stash" if own else None)


async def test_what_takes_too_long_is_cut(stash, workers, monkeypatch):
    monkeypatch.setattr(compress, "reduce", lambda text, order: time.sleep(0.2))
    given = call(time_limit_ms=20, pass_through_max_tokens=300)
    made = await CompressStage(stash, workers)(given, said(LOG[:20_000]))
    assert given.report.strategy == "auto→timeout_fallback"
    assert given.report.fallback == "timeout_fallback"
    assert len(made["content"][0]["text"]) < 2000
    result = said(LOG[:20_000])
    assert await CompressStage(stash, workers)(call(time_limit_ms=20), result) is result


async def test_a_summary_stands_in_for_the_text_or_says_why_not(stash, workers):
    async def summarise(given: Call, text: str, limit: int) -> tuple[str | None, str]:
        return (
            ("in short", "llm_summary")
            if "no model" not in given.context_query
            else (None, "llm_summary→no_config_fallback")
        )

    stage = CompressStage(stash, workers, summarise)
    given = call(compression="llm_summary")
    assert (await stage(given, said(LOG)))["content"][0]["text"] == "in short"
    assert (await stash.get(given.report.handle, ADMIN)).text == LOG
    given = call(compression="llm_summary", query="no model")
    assert "read_more" in (await stage(given, said(LOG)))["content"][0]["text"]
    assert given.report.strategy == "llm_summary→no_config_fallback"
