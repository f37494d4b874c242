from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.gateway.fakes import FakeFront, catalog, source, tool

from remora.config.model import Config
from remora.gateway.compression.job import handle_of
from remora.gateway.pipeline import Call
from remora.gateway.stages import compress
from remora.gateway.stages.compress import CompressStage
from remora.gateway.stash.store import NotKept
from remora.gateway.view import View

ENTRY = catalog(source(tools=[tool("look")])).tools["up__look"]
LINES = "\n".join(f"{i * 7919 % 1009} plain words {i} that say little {i * 31 % 97}" for i in range(400))


class Shelf:
    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.full = False

    async def put(self, text: str, **about: Any) -> str:
        if self.full:
            raise NotKept("it is full")
        self.kept[handle_of(text)] = SimpleNamespace(text=text, **about)
        return handle_of(text)

    async def get(self, handle: str, principal: Any) -> Any:
        return self.kept.get(handle)


class Here:
    """Works at once; `late` works take too long."""

    def __init__(self) -> None:
        self.late: list[Any] = []

    async def run(self, size: int, limit: float, work: Any, *given: Any) -> Any:
        if work in self.late:
            raise TimeoutError
        return work(*given)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def here() -> Here:
    return Here()


def call(strategy: str = "auto", own: tuple[str, ...] = ("remora", "read_more")) -> Call:
    pipeline = {"max_result_tokens": 400, "min_tokens": 100, "compression": strategy}
    config = Config.model_validate({"servers": {"up": {"command": "x"}}, "pipeline": pipeline})
    return Call(ENTRY, {}, "", FakeFront(), View(settings={"up": config.server("up")}, config=config, own=list(own)))


def said(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "_meta": {"theirs": 1}}


def text_of(result: Any) -> str:
    return str(result["content"][0]["text"])


async def test_what_is_left_out_is_kept_before_it_is_delivered(shelf: Shelf, here: Here) -> None:
    asked = call()
    result = await CompressStage(shelf, here)(asked, said(LINES))  # type: ignore[arg-type]
    handle = handle_of(LINES)
    assert f'read_more("{handle}")' in text_of(result)
    assert (shelf.kept[handle].text, shelf.kept[handle].principal) == (LINES, "local")
    assert result["_meta"] == {"theirs": 1, "remora/pipeline": asked.report.told()}
    assert asked.report.handle == handle
    assert (asked.report.tokens_out or 0) <= 400 < (asked.report.tokens_in or 0)


async def test_short_results_are_the_same_object(shelf: Shelf, here: Here) -> None:
    result = said("short")
    assert await CompressStage(shelf, here)(call(), result) is result  # type: ignore[arg-type]


async def test_what_cannot_be_kept_is_not_shortened(shelf: Shelf, here: Here) -> None:
    shelf.full = True
    asked = call()
    result = said(LINES)
    assert await CompressStage(shelf, here)(asked, result) is result  # type: ignore[arg-type]
    assert asked.report.fallback == "stash"


async def test_who_cannot_read_on_gets_everything(shelf: Shelf, here: Here) -> None:
    result = said(LINES)
    assert await CompressStage(shelf, here)(call(own=("remora",)), result) is result  # type: ignore[arg-type]
    assert shelf.kept == {}


async def test_an_answer_of_ours_that_comes_back_is_left_alone(shelf: Shelf, here: Here) -> None:
    stage = CompressStage(shelf, here)  # type: ignore[arg-type]
    ours = f'{LINES}\n[rem: kept 1 of 2 lines | more: read_more("{handle_of("original")}")]'
    result = said(ours)
    assert await stage(call(), result) is not result
    await shelf.put("original")
    assert await stage(call(), result) is result


async def test_a_text_that_takes_too_long_gets_head_and_tail(shelf: Shelf, here: Here) -> None:
    here.late.append(compress.reduce)
    asked = call()
    long = LINES * 20
    result = await CompressStage(shelf, here)(asked, said(long))  # type: ignore[arg-type]
    assert (asked.report.strategy, asked.report.fallback) == ("auto→timeout_fallback", "timeout_fallback")
    assert len(text_of(result)) < len(LINES)


async def test_a_summary_if_there_is_one(shelf: Shelf, here: Here) -> None:
    answers: list[Any] = [("In short.", "llm_summary"), (None, "llm_summary→error_fallback")]

    async def summarise(*_: Any) -> Any:
        return answers.pop(0)

    stage = CompressStage(shelf, here, summarise)  # type: ignore[arg-type]
    asked = call("llm_summary")
    assert text_of(await stage(asked, said(LINES))) == "In short."
    assert shelf.kept[handle_of(LINES)].text == LINES
    failed = call("llm_summary")
    assert "read_more" in text_of(await stage(failed, said(LINES)))
    assert failed.report.strategy == "llm_summary→error_fallback"
