"""Servers ask back: log messages, questions, and input that only the client can give."""

from __future__ import annotations

import asyncio
from typing import Any

from remora.errors import RpcError
from remora.gateway import eras
from remora.gateway.parked import Parked
from remora.gateway.session import Caller, Front, Params, wanted
from remora.gateway.wire import jsonrpc
from remora.gateway.wire.link import Exchange

INPUT_ROUNDS = 10


class Way:
    """The way back from a server to the front that asked."""

    __slots__ = ("front", "parked", "refusal")

    def __init__(self, front: Front) -> None:
        self.front = front
        self.parked: Parked | None = None
        self.refusal: RpcError | None = None  # what the front gets, whatever the server makes of our refusal

    def notify(self, method: str, params: Params) -> None:
        front = self.parked.front if self.parked is not None else self.front
        if method == "notifications/message" and not passes(front, params):
            return
        front.notify(method, params)

    async def ask(self, method: str, params: Params) -> Params:
        if method == "ping":
            return {}
        caller = self.front.caller
        if method == "roots/list" and "roots" not in caller.capabilities and (root := self.front.session.view.project):
            return {"roots": [{"uri": root.as_uri(), "name": root.name}]}
        if needed := eras.missing_capability(method, caller):
            if caller.modern:
                self.refusal = cannot(needed)
            raise RpcError(jsonrpc.METHOD_NOT_FOUND, f"the client does not support {needed}")
        if self.parked is not None and method in eras.QUESTIONS:
            return await self.parked.ask(method, params)
        if caller.modern:
            raise RpcError(jsonrpc.METHOD_NOT_FOUND, f"a client of this era cannot be asked {method}")
        return await self.front.ask(method, params)


def cannot(capability: str) -> RpcError:
    data: Params = {"requiredCapabilities": {capability: {}}}
    return RpcError(jsonrpc.MISSING_CAPABILITY, f"the server needs the client capability {capability!r}", data)


def check_askable(result: Params, caller: Caller) -> None:
    """A client is never asked for what it said it cannot do."""
    questions = result.get("inputRequests")
    for question in questions.values() if isinstance(questions, dict) else ():
        method = question.get("method") if isinstance(question, dict) else None
        if isinstance(method, str) and (needed := eras.missing_capability(method, caller)):
            raise cannot(needed)


def passes(front: Front, params: Params) -> bool:
    """Whether a log message goes to this front: handshake clients that set no level get all of them."""
    if not front.caller.modern and front.session.log_level is None:
        return True
    return wanted(params.get("level"), front.caller.log_level if front.caller.modern else front.session.log_level)


async def collect_input(
    front: Front, upstream: Any, method: str, params: Params, level: str | None, exchange: Exchange, result: Params
) -> Params:
    """A modern server needs input from a handshake client: ask it, and repeat the request with the answers."""
    for _ in range(INPUT_ROUNDS):
        requests = result.get("inputRequests")
        if not isinstance(requests, dict):
            requests = {}
        answers = await asyncio.gather(*(_answer(front, question) for question in requests.values()))
        again = {**params, **({"inputResponses": dict(zip(requests, answers, strict=True))} if requests else {})}
        if "requestState" in result:
            again["requestState"] = result["requestState"]
        if not requests:
            await asyncio.sleep(0.1)
        result, _ = await upstream.call(method, again, front.caller, level, exchange, safe=False)
        if result.get("resultType") != "input_required":
            return result
    raise RpcError(jsonrpc.INTERNAL_ERROR, f"the server asked for input more than {INPUT_ROUNDS} times")


async def _answer(front: Front, question: Any) -> Params:
    method = question.get("method") if isinstance(question, dict) else None
    if method not in eras.QUESTIONS:
        raise RpcError(jsonrpc.INTERNAL_ERROR, f"the server asks for something unknown: {method!r}")
    params = question.get("params")
    return await front.ask(method, params if isinstance(params, dict) else {})
