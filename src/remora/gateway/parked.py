"""A modern client behind a server that asks back: the call waits here while the client fetches the answers.

The server's question becomes an `input_required` result with a `requestState` of ours; the client's retry brings the
answers, which go to the server, and the call goes on. The state is an unguessable name for what stands in this table.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from remora.errors import RpcError
from remora.gateway.session import Front, Params
from remora.gateway.wire import jsonrpc

MARK = "remora."
LIFE_SECONDS = 600.0
LIMIT = 100


@dataclass(slots=True, eq=False)
class Parked:
    server: str
    method: str
    target: Any
    principal: str
    front: Front
    task: asyncio.Task[Any] | None = None
    state: str = ""
    questions: dict[str, tuple[Params, asyncio.Future[Params]]] = field(default_factory=dict)
    turn: asyncio.Event = field(default_factory=asyncio.Event)
    asked: int = 0

    async def ask(self, method: str, params: Params) -> Params:
        """The server's question: parked until the client answers it."""
        self.asked += 1
        key = f"{method}#{self.asked}"
        answer: asyncio.Future[Params] = asyncio.get_running_loop().create_future()
        self.questions[key] = ({"method": method, **({"params": params} if params else {})}, answer)
        self.turn.set()
        try:
            return await answer
        finally:
            self.questions.pop(key, None)

    def answer(self, responses: Any) -> None:
        for key, value in (responses if isinstance(responses, dict) else {}).items():
            _, waiting = self.questions.get(key, (None, None))
            if waiting is not None and not waiting.done() and isinstance(value, dict):
                waiting.set_result(value)


class ParkingLot:
    def __init__(self) -> None:
        self._parked: dict[str, Parked] = {}

    async def run(self, call: Parked, work: Coroutine[Any, Any, Any]) -> Any:
        """The outcome of the work, or an `input_required` result if the server asks first."""
        call.task = asyncio.get_running_loop().create_task(work)
        call.task.add_done_callback(lambda _: call.turn.set())
        return await self._next(call)

    async def resume(self, front: Front, server: str, method: str, target: Any, params: Params) -> Any:
        state = params["requestState"]
        call = self._parked.get(state) if isinstance(state, str) else None
        same = call is not None and (call.server, call.method, call.target) == (server, method, target)
        if call is None or not same or call.principal != front.session.principal.name:
            raise RpcError(jsonrpc.INVALID_PARAMS, "requestState is unknown or has expired: make the call again")
        del self._parked[call.state]
        call.front = front
        call.turn.clear()
        call.answer(params.get("inputResponses"))
        if any(not answer.done() for _, answer in call.questions.values()):
            call.turn.set()  # something is still unanswered: ask for it again
        return await self._next(call)

    async def _next(self, call: Parked) -> Any:
        assert call.task is not None
        try:
            await call.turn.wait()
        except asyncio.CancelledError:
            call.task.cancel()
            raise
        if call.task.done():
            return call.task.result()
        return self._park(call)

    def _park(self, call: Parked) -> Params:
        if sum(1 for other in self._parked.values() if other.server == call.server) >= LIMIT:
            call.task and call.task.cancel()
            raise RpcError(jsonrpc.INTERNAL_ERROR, f"more than {LIMIT} calls of this server wait for their clients")
        call.state = MARK + secrets.token_urlsafe(24)
        self._parked[call.state] = call
        asyncio.get_running_loop().call_later(LIFE_SECONDS, self._expire, call.state)
        open_questions = {key: question for key, (question, answer) in call.questions.items() if not answer.done()}
        return {"resultType": "input_required", "inputRequests": open_questions, "requestState": call.state}

    def _expire(self, state: str) -> None:
        call = self._parked.pop(state, None)
        if call is not None and call.task is not None:
            call.task.cancel()

    def close(self) -> None:
        for state in list(self._parked):
            self._expire(state)
