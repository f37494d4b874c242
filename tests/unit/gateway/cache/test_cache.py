import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.gateway.cache.test_rules import READ, call

from remora.config.model import Config
from remora.config.results import CacheConfig
from remora.errors import RpcError
from remora.gateway.cache.cache import ResponseCache, holds_secret
from remora.gateway.cache.epochs import Epochs
from remora.gateway.cache.store import AnswerStore
from remora.gateway.stages.workers import Workers
from remora.storage.sqlite.state import StateDb


class Server:
    """Counts what it is asked; answers come when they are due."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), 0
        self.name, self.scope, self.fingerprint = "s", "shared", "f"
        self.settings = SimpleNamespace(invalidates=(), is_local=True)
        self.due = asyncio.Event()
        self.due.set()

    async def ask(self, front: Any, params: Any) -> Any:
        self.asked += 1
        await self.due.wait()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
async def cache(tmp_path: Path):
    state, workers = StateDb(tmp_path / "state.db"), Workers()
    made = ResponseCache(AnswerStore(state, CacheConfig()), Epochs(tmp_path / "epochs"), workers)
    yield made
    await asyncio.gather(*made._keeping)
    await made.close()
    await workers.close()
    await state.close()


def answer(word: str = "x", **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": word}], **more}


async def asked(cache: ResponseCache, server: Any, given: Any = None, **params: Any) -> Any:
    given = given or call()
    config = Config.model_validate({"servers": {"s": {"command": "x"}, "t": {"command": "y"}}})
    result = await cache.answer(given, {"name": "look", **params}, server, config, server.ask)
    return result, given.report.cache


async def test_the_second_time_it_is_known_until_something_is_written(cache):
    server = Server(answer())
    assert await asked(cache, server) == (answer(), "miss")
    await asyncio.gather(*cache._keeping)
    assert await asked(cache, server) == (answer(), "hit")
    assert await asked(cache, server, call(notes={})) == (answer(), "off")
    assert await asked(cache, server) == (answer(), "miss")
    await asyncio.gather(*cache._keeping)
    cache.stale(["s"])
    assert (await asked(cache, server))[1] == "miss"
    assert server.asked == 4


async def test_a_write_through_another_local_server_counts(cache):
    server, other = Server(answer()), Server(answer())
    other.name = "t"
    await asked(cache, server)
    await asyncio.gather(*cache._keeping)
    await asked(cache, other, call(notes={}))
    assert (await asked(cache, server))[1] == "miss"


@pytest.mark.parametrize("bad", [answer(isError=True), {"resultType": "input_required"}, {"task": {"taskId": "1"}},
                                 answer("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzQ1pLe9vT")])  # fmt: skip
async def test_what_is_not_kept(cache, bad):
    server = Server(bad)
    for _ in range(2):
        assert await asked(cache, server) == (bad, "miss")
        await asyncio.gather(*cache._keeping)
    assert server.asked == 2


async def test_equal_calls_share_one_request_and_its_success(cache):
    server = Server(answer())
    server.due.clear()
    many = [asyncio.ensure_future(asked(cache, server)) for _ in range(50)]
    async with asyncio.timeout(10):
        while not cache._flights or len(next(iter(cache._flights.values()))._callers) < 50:
            await asyncio.sleep(0)
    many[0].cancel()
    server.due.set()
    done = await asyncio.gather(*many[1:])
    assert server.asked == 1
    assert {result["content"][0]["text"] for result, _ in done} == {"x"}


async def test_who_comes_after_the_last_caller_went_asks_for_himself(cache):
    server = Server(answer())
    server.due.clear()
    first = asyncio.ensure_future(asked(cache, server))
    async with asyncio.timeout(10):
        while server.asked == 0:
            await asyncio.sleep(0)
    first.cancel()
    second = asyncio.ensure_future(asked(cache, server))
    await asyncio.wait([first])
    server.due.set()
    assert (await second)[0] == answer()
    assert server.asked == 2


async def test_after_a_failure_each_makes_sure_for_himself_in_turn(cache):
    server = Server(RpcError(-1, "no"), answer())
    server.due.clear()
    many = [asyncio.ensure_future(asked(cache, server)) for _ in range(4)]
    async with asyncio.timeout(10):
        while len(next(iter(cache._flights.values()), SimpleNamespace(_callers=()))._callers) < 4:
            await asyncio.sleep(0)
    server.due.set()
    done = await asyncio.gather(*many, return_exceptions=True)
    assert sum(isinstance(each, RpcError) for each in done) == 1  # the one whose request it was
    assert server.asked == 2


async def test_one_call_can_go_past_it(cache):
    server = Server(answer())
    await asked(cache, server)
    await asyncio.gather(*cache._keeping)
    assert (await asked(cache, server, _meta={"remora/no_cache": True}))[1] == "bypass"
    assert server.asked == 2
    assert await cache.clear() == 1


def test_a_label_tells_what_a_value_is():
    assert holds_secret({"structuredContent": {"password": "Xk29fjQ81mz"}})
    assert not holds_secret(answer("plain words"))
    assert holds_secret(answer("x" * 2_000_001))
    assert READ
