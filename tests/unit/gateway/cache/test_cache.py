import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.gateway.fakes import FakeFront
from tests.unit.gateway.gateways import NoState

from remora.config.model import Config
from remora.errors import RpcError
from remora.gateway.cache.cache import ResponseCache, holds_secret
from remora.gateway.cache.epochs import Epochs
from remora.gateway.cache.store import AnswerStore
from remora.gateway.catalog import Entry, Source
from remora.gateway.manifest import Manifest
from remora.gateway.pipeline import Call
from remora.gateway.stages.workers import Workers
from remora.gateway.view import View

SERVERS: dict[str, Any] = {
    "files": {"command": "f"},
    "git": {"command": "g"},
    "web": {"url": "https://web.example/mcp"},
    "api": {"url": "https://api.example/mcp", "invalidates": ["web"]},
}


class Forgetful(NoState):
    """A file that has nothing and takes everything."""

    async def run(self, job: Any) -> int:
        return 0

    async def read(self, job: Any) -> None:
        return None


class Desk:
    """A cache and what it asks: every question is counted, and answered by its number or by what `next` has."""

    def __init__(self, folder: Any) -> None:
        self.config = Config.model_validate({"servers": SERVERS})
        self.cache = ResponseCache(
            AnswerStore(Forgetful(), self.config.cache),  # type: ignore[arg-type]
            Epochs(folder / "epochs"),
            Workers(),
        )
        self.asked = 0
        self.next: list[Any] = []

    def call(self, tool: str = "read", server: str = "files", **arguments: Any) -> Call:
        source = Source(server, server, self.config.server(server), Manifest("f", False, "1"))
        notes = {"readOnlyHint": tool == "read"}
        entry = Entry(f"{server}__{tool}", source, tool, {"name": tool, "annotations": notes})
        settings = {name: self.config.server(name) for name in self.config.servers}
        return Call(entry, arguments, "", FakeFront(), View(config=self.config, settings=settings))

    async def answer(self, call: Call, **meta: Any) -> Any:
        source = call.entry.source
        server: Any = SimpleNamespace(name=source.name, scope="shared", fingerprint="p", settings=source.settings)
        params = {"name": call.entry.original, "arguments": call.arguments, **({"_meta": meta} if meta else {})}
        return await self.cache.answer(call, params, server, self.config, self._ask)

    async def kept(self) -> None:
        """Everything that was answered has been looked at and kept, or not."""
        while self.cache._keeping:
            await asyncio.wait(set(self.cache._keeping))

    async def _ask(self, front: Any, params: Any) -> Any:
        self.asked += 1
        answer = self.next.pop(0) if self.next else said(f"answer {self.asked}")
        if isinstance(answer, asyncio.Future):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        return answer


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **more}


@pytest.fixture
async def desk(tmp_path):
    made = Desk(tmp_path)
    yield made
    await made.cache.close()
    await made.cache._workers.close()


async def test_the_same_question_is_asked_once_and_the_report_says_so(desk):
    first, second = desk.call(path="a"), desk.call(path="a")
    assert await desk.answer(first) == said("answer 1")
    await desk.kept()
    assert await desk.answer(second) == said("answer 1")
    assert (desk.asked, first.report.cache, second.report.cache) == (1, "miss", "hit")
    assert second.report.cache_age_ms is not None
    assert await desk.answer(desk.call(path="b")) == said("answer 2")


async def test_a_question_may_ask_for_a_fresh_answer(desk):
    await desk.answer(desk.call())
    await desk.kept()
    fresh = desk.call()
    assert await desk.answer(fresh, **{"remora/no_cache": True}) == said("answer 2")
    assert fresh.report.cache == "bypass"


@pytest.mark.parametrize(
    "answer",
    [
        said("no", isError=True),
        said("later", task={"taskId": "1"}),
        said("more, please", resultType="input_required"),
        said("password = kQ7vX2pLm9Zt4Rw8"),
    ],
)
async def test_what_is_never_kept(desk, answer):
    desk.next = [answer]
    assert await desk.answer(desk.call()) == answer
    await desk.kept()
    assert await desk.answer(desk.call()) == said("answer 2")


async def test_those_who_ask_at_the_same_time_share_one_request(desk):
    later: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    desk.next = [later]
    calls = [desk.call() for _ in range(3)]
    waiting = [asyncio.ensure_future(desk.answer(each)) for each in calls]
    while not desk.asked:
        await asyncio.sleep(0)
    later.set_result(said("one"))
    assert await asyncio.gather(*waiting) == [said("one")] * 3
    assert desk.asked == 1
    assert sorted(each.report.cache for each in calls) == ["hit", "hit", "miss"]


async def test_a_failure_of_the_first_is_not_the_others_last_word(desk):
    later: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    desk.next = [later]
    waiting = [asyncio.ensure_future(desk.answer(desk.call())) for _ in range(3)]
    while not desk.asked:
        await asyncio.sleep(0)
    later.set_exception(RpcError(-1, "broke off"))
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(each) for each in answers].count(RpcError) == 1
    assert answers.count(said("answer 2")) == 2
    assert desk.asked == 2


async def test_each_makes_sure_for_himself(desk):
    later: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    desk.next = [later, RpcError(-1, "again")]
    waiting = [asyncio.ensure_future(desk.answer(desk.call())) for _ in range(3)]
    while not desk.asked:
        await asyncio.sleep(0)
    later.set_exception(RpcError(-1, "broke off"))
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(each) for each in answers].count(RpcError) == 2
    assert said("answer 3") in answers


async def test_who_comes_after_the_last_caller_went_asks_for_himself(desk):
    later: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    desk.next = [later]
    first = asyncio.ensure_future(desk.answer(desk.call()))
    while not desk.asked:
        await asyncio.sleep(0)
    first.cancel()
    second = asyncio.ensure_future(desk.answer(desk.call()))
    await asyncio.wait([first])
    assert await second == said("answer 2")


async def uses(desk: Desk) -> dict[str, str]:
    """Of each server, whether its answer is known."""
    found = {}
    for server in SERVERS:
        again = desk.call(server=server)
        await desk.answer(again)
        found[server] = again.report.cache
    await desk.kept()
    return found


async def test_a_write_is_always_done_and_makes_old_answers_stale(desk):
    for server in SERVERS:
        await desk.answer(desk.call(server=server))
    await desk.kept()
    write = desk.call("write", "files")
    assert [await desk.answer(write), await desk.answer(write)] == [said("answer 5"), said("answer 6")]
    assert write.report.cache == "off"
    # git is of this machine too, the others are not
    assert await uses(desk) == {"files": "miss", "git": "miss", "web": "hit", "api": "hit"}
    await desk.answer(desk.call("write", "api"))
    assert await uses(desk) == {"files": "hit", "git": "hit", "web": "miss", "api": "miss"}


async def test_what_was_read_before_a_write_or_during_it_is_stale(desk):
    await desk.answer(desk.call())
    await desk.kept()
    later: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    desk.next = [later]
    writing = asyncio.ensure_future(desk.answer(desk.call("write")))
    while desk.asked < 2:
        await asyncio.sleep(0)
    assert await desk.answer(desk.call()) == said("answer 3")
    await desk.kept()
    later.set_exception(RpcError(-1, "half done"))
    with pytest.raises(RpcError):
        await writing
    assert await desk.answer(desk.call()) == said("answer 4")


async def test_forgetting_on_demand(desk):
    await desk.answer(desk.call())
    await desk.kept()
    desk.cache.stale(["git"])
    assert await desk.answer(desk.call()) == said("answer 1")
    desk.cache.stale(["files"])
    assert await desk.answer(desk.call()) == said("answer 2")
    await desk.kept()
    await desk.cache.clear()
    assert await desk.answer(desk.call()) == said("answer 3")


async def test_clearing_reaches_every_engine_of_the_home(desk, tmp_path):
    other = Desk(tmp_path)
    await other.answer(other.call())
    await other.kept()
    await desk.cache.clear("git")
    assert await other.answer(other.call()) == said("answer 1")
    await desk.cache.clear()
    assert await other.answer(other.call()) == said("answer 2")
    await other.kept()
    await other.cache.close()


def test_secrets_are_found_by_their_labels_too():
    assert holds_secret({"structuredContent": {"items": [{"password": "kQ7vX2pLm9Zt4Rw8"}]}})
    assert not holds_secret({"structuredContent": {"items": [{"colour": "green"}]}})
