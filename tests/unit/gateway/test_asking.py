from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.gateway.fakes import HANDSHAKE, MODERN, FakeFront

from remora.errors import RpcError
from remora.gateway import asking
from remora.gateway.asking import Way, check_askable, collect_input, passes
from remora.gateway.session import Caller, Session, ViewKey
from remora.gateway.wire.link import Exchange

ABLE = {"elicitation": {}, "roots": {}}
OLD, NEW = Caller(False, "2025-11-25", {}, ABLE), Caller(True, "2026-07-28", {}, ABLE)


@pytest.mark.parametrize(
    ("caller", "level", "passed"),
    [
        (HANDSHAKE, None, ["debug", "error"]),
        (HANDSHAKE, "warning", ["error"]),
        (MODERN, None, []),
        (Caller(True, "2026-07-28", log_level="warning"), "debug", ["error"]),
    ],
)
def test_log_messages_pass_as_the_client_asked(caller, level, passed):
    front = FakeFront(caller, Session("http", log_level=level))
    way = Way(front)
    for said in ("debug", "error"):
        way.notify("notifications/message", {"level": said})
    assert [params["level"] for _, params in front.notified] == passed
    way.notify("notifications/progress", {})
    assert front.notified[-1] == ("notifications/progress", {})
    assert passes(front, {"level": "error"}) == bool(passed)


async def test_a_handshake_client_is_asked_itself():
    front = FakeFront(OLD, answers={"elicitation/create": {"action": "accept"}})
    assert await Way(front).ask("elicitation/create", {"message": "?"}) == {"action": "accept"}
    assert front.asked == [("elicitation/create", {"message": "?"})]
    assert await Way(front).ask("ping", {}) == {}


async def test_a_parked_calls_question_waits_for_the_client_that_takes_it_up():
    front, later = FakeFront(NEW), FakeFront(NEW)
    way = Way(front)

    async def ask(method: str, params: Any) -> Any:
        return {"of": method}

    way.parked = SimpleNamespace(front=front, ask=ask)
    assert await way.ask("roots/list", {}) == {"of": "roots/list"}
    way.parked.front = later
    way.notify("notifications/progress", {})
    assert (front.notified, later.notified) == ([], [("notifications/progress", {})])


@pytest.mark.parametrize("caller", [HANDSHAKE, MODERN])
async def test_nobody_is_asked_for_what_it_cannot_do(caller):
    front = FakeFront(caller)
    way = Way(front)
    with pytest.raises(RpcError, match="does not support sampling"):
        await way.ask("sampling/createMessage", {})
    assert front.asked == []
    assert (way.refusal.code if way.refusal else None) == (-32021 if caller.modern else None)


async def test_roots_are_those_of_the_project_if_the_client_has_none(tmp_path):
    front = FakeFront(HANDSHAKE, Session("stdio", view=ViewKey(project=tmp_path)))
    assert await Way(front).ask("roots/list", {}) == {"roots": [{"uri": tmp_path.as_uri(), "name": tmp_path.name}]}
    own = FakeFront(OLD, Session("stdio", view=ViewKey(project=Path("/p"))), {"roots/list": {"roots": []}})
    assert await Way(own).ask("roots/list", {}) == {"roots": []}


async def test_a_modern_client_takes_no_other_questions():
    way = Way(FakeFront(NEW))
    for method in ("roots/list", "vendor/question"):
        with pytest.raises(RpcError) as refused:
            await way.ask(method, {})
        assert refused.value.code == -32601


def test_input_is_required_only_of_clients_that_can_give_it():
    def needs(*methods):
        return {"inputRequests": {str(n): {"method": method} for n, method in enumerate(methods)}}

    check_askable(needs("elicitation/create", "vendor/new"), NEW)
    check_askable({"inputRequests": ["odd"]}, NEW)
    check_askable({"inputRequests": {"a": "odd", "b": {"method": 5}}}, NEW)
    with pytest.raises(RpcError) as refused:
        check_askable(needs("elicitation/create", "sampling/createMessage"), NEW)
    assert refused.value.to_wire()["data"] == {"requiredCapabilities": {"sampling": {}}}


class Rounds:
    """A modern server that asks for input so many times."""

    def __init__(self, *results: Any) -> None:
        self.results = list(results)
        self.sent: list[Any] = []

    async def call(self, method: str, params: Any, caller: Any, level: Any, exchange: Any, *, safe: bool) -> Any:
        assert not safe  # an answer is given once
        self.sent.append(params)
        return self.results.pop(0) if len(self.results) > 1 else self.results[0], True

    async def collect(self, front: FakeFront) -> Any:
        first = self.results.pop(0) if len(self.results) > 1 else self.results[0]
        return await collect_input(front, self, "tools/call", {"name": "t"}, None, Exchange(), first)


def needs_input(state: Any = None, **requests: str) -> Any:
    asked = {key: {"method": method, "params": {"k": key}} for key, method in requests.items()}
    return {"resultType": "input_required", "inputRequests": asked, **({"requestState": state} if state else {})}


async def test_a_handshake_client_answers_and_the_request_is_made_again():
    front = FakeFront(OLD, answers={"elicitation/create": {"e": 1}, "roots/list": {"r": 1}})
    first = needs_input("s1", a="elicitation/create", b="roots/list")
    server = Rounds(first, needs_input(c="roots/list"), {"resultType": "complete"})
    assert await server.collect(front) == {"resultType": "complete"}
    assert server.sent == [
        {"name": "t", "inputResponses": {"a": {"e": 1}, "b": {"r": 1}}, "requestState": "s1"},
        {"name": "t", "inputResponses": {"c": {"r": 1}}},
    ]
    assert front.asked[0] == ("elicitation/create", {"k": "a"})


async def test_a_server_may_ask_for_patience_alone(clock):
    server = Rounds(needs_input("s1"), {"resultType": "complete"})
    assert await server.collect(FakeFront(OLD)) == {"resultType": "complete"}
    assert server.sent == [{"name": "t", "requestState": "s1"}]


async def test_rounds_without_end_and_unknown_questions_are_errors(monkeypatch):
    monkeypatch.setattr(asking, "INPUT_ROUNDS", 3)
    front = FakeFront(OLD, answers={"roots/list": {}})
    endless = Rounds(needs_input(a="roots/list"))
    with pytest.raises(RpcError, match="more than 3 times"):
        await endless.collect(front)
    assert len(endless.sent) == 3
    with pytest.raises(RpcError, match="something unknown: 'vendor/x'"):
        await Rounds(needs_input(a="vendor/x")).collect(front)
