import logging
from typing import Any

import pytest
from tests.unit.gateway.fakes import FakeFront
from tests.unit.gateway.gateways import NoState

from remora.config.model import Config
from remora.config.results import StashConfig
from remora.gateway.catalog import Entry, Source
from remora.gateway.manifest import Manifest
from remora.gateway.pipeline import Call
from remora.gateway.session import Principal
from remora.gateway.stages import compress
from remora.gateway.stages.compress import CompressStage
from remora.gateway.stages.workers import Workers
from remora.gateway.stash.store import Stash
from remora.gateway.view import View
from remora.storage.sqlite.state import StateDb

LOG = "\n".join(f"2026-01-01 10:{i // 60:02}:{i % 60:02} INFO step {i} of run {i * 7919 % 977}" for i in range(900))


class Slow(Workers):
    """Whatever is looked at takes too long; cutting does not."""

    async def run(self, size: int, limit: float, work: Any, *given: Any) -> Any:
        if work is compress.reduce:
            raise TimeoutError
        return work(*given)


@pytest.fixture
async def stash(tmp_path):
    state = StateDb(tmp_path / "state.db")
    yield Stash(state, StashConfig())
    await state.close()


@pytest.fixture
async def workers():
    made = Workers()
    yield made
    await made.close()


def call(own: tuple[str, ...] = ("read_more",), **pipeline: Any) -> Call:
    tables = {"servers": {"s": {"command": "x"}}, "pipeline": {"max_result_tokens": 500, **pipeline}}
    config = Config.model_validate(tables)
    source = Source("s", "s", config.server("s"), Manifest("f", False, "1"))
    view = View(config=config, settings={"s": config.server("s")}, own=list(own))
    return Call(Entry("s__build", source, "build", {"name": "build"}), {}, "", FakeFront(), view, "trace")


def said(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "_meta": {"theirs": 1}}


async def test_a_long_result_is_shortened_told_and_kept(stash, workers):
    one, given = call(), said(LOG)
    made = await CompressStage(stash, workers)(one, given)
    text, told = made["content"][0]["text"], made["_meta"]["remora/pipeline"]
    assert given == said(LOG)
    assert made["_meta"]["theirs"] == 1
    assert told["tokens_out"] <= 500 < told["tokens_in"]
    assert f'read_more("{told["handle"]}")' in text
    kept = await stash.get(told["handle"], one.front.session.principal)
    assert (kept.text, kept.server, kept.tool, kept.trace_id) == (LOG, "s", "build", "trace")
    assert await stash.get(told["handle"], Principal("somebody", "read")) is None
    assert one.report.units_kept < one.report.units_total


async def test_a_short_result_is_the_very_same(stash, workers):
    given = said("a few words")
    assert await CompressStage(stash, workers)(call(), given) is given


async def test_an_answer_of_ours_that_comes_back_is_left_alone(stash, workers):
    stage, other = CompressStage(stash, workers), call()
    text = (await stage(other, said(LOG)))["content"][0]["text"]
    ours = said(f"{LOG}\n{text}")
    assert await stage(call(), ours) is ours
    strange = said(f'{LOG}\n[rem: kept 1 of 2 lines | more: read_more("{"0" * 16}")]')
    assert await stage(call(), strange) is not strange


@pytest.mark.parametrize("own", [("read_more",), ()])
async def test_without_a_way_back_nothing_is_left_out(stash, workers, own, caplog):
    nowhere = Stash(NoState(), StashConfig()) if own else stash  # type: ignore[arg-type]
    one, given = call(own), said(LOG)
    with caplog.at_level(logging.WARNING):
        assert await CompressStage(nowhere, workers)(one, given) is given
    assert one.report.handle is None
    assert one.report.fallback == ("stash" if own else None)
    assert ("cannot be kept" in caplog.text) is bool(own)


async def test_what_takes_too_long_passes_whole_or_is_cut(stash):
    stage, given = CompressStage(stash, Slow()), said(LOG)
    passing = call()
    assert await stage(passing, given) is given
    assert passing.report.fallback == "timeout_fallback"
    cut = call(pass_through_max_tokens=1000)
    made = await stage(cut, given)
    assert len(made["content"][0]["text"]) < len(LOG) / 5
    assert (cut.report.strategy, cut.report.fallback) == ("auto→timeout_fallback", "timeout_fallback")
    assert (await stash.get(cut.report.handle, cut.front.session.principal)).text == LOG


async def test_a_summary_stands_for_the_text_and_without_one_it_is_cut(stash, workers):
    heard: list[int] = []
    answers = [("In short: all went well.", "llm_summary"), (None, "llm_summary→no_config_fallback")]

    async def summarise(one: Any, text: str, room: int) -> Any:
        assert text == LOG
        heard.append(room)
        return answers.pop(0)

    stage = CompressStage(stash, workers, summarise)
    one, other = call(compression="llm_summary"), call(compression="llm_summary")
    made = await stage(one, said(LOG))
    assert made["content"][0]["text"] == "In short: all went well."
    assert (one.report.strategy, one.report.fallback) == ("llm_summary", None)
    cut = await stage(other, said(LOG))
    assert 'read_more("' in cut["content"][0]["text"]
    assert other.report.fallback == "no_config_fallback"
    assert 0 < heard[0] == heard[1] < len(LOG)


async def test_no_summary_is_asked_for_that_nobody_could_read_past(stash, workers):
    async def summarise(*_: Any) -> Any:
        raise AssertionError("asked")

    given = said(LOG)
    stage = CompressStage(stash, workers, summarise)
    assert await stage(call((), compression="llm_summary"), given) is given
