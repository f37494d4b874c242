import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from remora.errors import RpcError
from remora.gateway.cache.flight import Flight
from remora.gateway.session import Caller, Session


class Front:
    def __init__(self) -> None:
        self.session, self.caller, self.request_id = Session("stdio"), Caller(False, "1"), 1
        self.heard: list[Any] = []
        self.closed = 0

    def notify(self, method: str, params: Any) -> None:
        self.heard.append((method, params))

    async def ask(self, method: str, params: Any) -> Any:
        return {"asked": method}

    def close_stream(self) -> None:
        self.closed += 1


def token(value: Any) -> dict[str, Any]:
    return {"_meta": {"progressToken": value}}


async def flying() -> Any:
    asked = asyncio.get_running_loop().create_future()
    seen = SimpleNamespace(front=None, params=None, answer=asked)

    async def ask(front: Any, params: Any) -> Any:
        seen.front, seen.params = front, params
        return await asked

    seen.flight = Flight(Front(), {"name": "x"}, ask)
    return seen


async def test_all_get_the_answer_and_progress_under_their_own_token():
    seen, fronts = await flying(), [Front(), Front(), Front()]
    tokens = [token("a"), token(2), {}]
    waiting = [asyncio.ensure_future(seen.flight.join(f, t)) for f, t in zip(fronts, tokens, strict=True)]
    await asyncio.sleep(0)
    assert seen.params["_meta"]["progressToken"]
    seen.front.notify("notifications/progress", {"progressToken": "shared", "progress": 1})
    seen.front.notify("notifications/message", {"data": 1})
    seen.front.close_stream()
    assert await seen.front.ask("ping", {}) == {"asked": "ping"}
    seen.answer.set_result({"ok": 1})
    assert await asyncio.gather(*waiting) == [{"ok": 1}] * 3
    assert [[p.get("progressToken") for m, p in f.heard if m.endswith("progress")] for f in fronts] == [["a"], [2], []]
    assert [f.closed for f in fronts] == [1, 1, 1]
    with pytest.raises(RpcError):
        await seen.front.ask("ping", {})


async def test_the_request_ends_with_its_last_caller():
    seen = await flying()
    waiting = [asyncio.ensure_future(seen.flight.join(Front(), {})) for _ in range(2)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.wait([waiting[0]])
    assert not seen.flight.task.done()
    waiting[1].cancel()
    await asyncio.wait([seen.flight.task])
    assert seen.flight.task.cancelled()


async def test_a_failure_is_everybodys():
    seen = await flying()
    waiting = [asyncio.ensure_future(seen.flight.join(Front(), {})) for _ in range(2)]
    await asyncio.sleep(0)
    seen.answer.set_exception(RpcError(-1, "no"))
    assert [type(each) for each in await asyncio.gather(*waiting, return_exceptions=True)] == [RpcError, RpcError]
