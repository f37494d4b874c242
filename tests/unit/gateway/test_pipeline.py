from __future__ import annotations

import asyncio
import logging

import pytest
from tests.unit.gateway.fakes import FakeFront, catalog, source, tool

from remora.gateway.pipeline import Call, Pipeline
from remora.gateway.view import View

ENTRY = catalog(source(tools=[tool("echo")])).tools["up__echo"]
CALL = Call(ENTRY, {"text": "x"}, "what", FakeFront(), View())


class Append:
    def __init__(self, name, *, after=None):
        self.name = name
        self.after = after
        self.keeps_time = False

    async def __call__(self, call, result):
        if self.after is not None:
            await self.after()
        return {"said": [*result["said"], f"{self.name} of {call.entry.served}"]}


async def fail():
    raise KeyError("broken")


async def never_end():
    await asyncio.Event().wait()


async def test_stages_run_in_their_order():
    given = {"said": []}
    made = await Pipeline([Append("one"), Append("two")], 1000).run(CALL, given)
    assert made == {"said": ["one of up__echo", "two of up__echo"]}
    assert given == {"said": []}


async def test_nothing_to_do_changes_nothing():
    given = {"said": []}
    assert await Pipeline([], 1000).run(CALL, given) is given


@pytest.mark.parametrize(("trouble", "words"), [(fail, "broken"), (never_end, "TimeoutError")])
async def test_a_stage_in_trouble_is_skipped_and_counted(trouble, words, caplog):
    pipeline = Pipeline([Append("one"), Append("two", after=trouble), Append("three")], 10)
    with caplog.at_level(logging.WARNING):
        made = await pipeline.run(CALL, {"said": []})
    assert made == {"said": ["one of up__echo", "three of up__echo"]}
    assert pipeline.failures == {"two": 1}
    assert "stage two failed on up__echo" in caplog.text
    assert words in caplog.text


async def test_a_call_given_up_ends_in_the_middle_of_a_stage():
    pipeline = Pipeline([Append("one", after=never_end), Append("two")], 60_000)
    task = asyncio.create_task(pipeline.run(CALL, {"said": []}))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not pipeline.failures
