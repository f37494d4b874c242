from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.doors.fakes import ENVELOPE, INITIALIZE, FakeGateway, Gate, rpc, soon

from remora.doors.mcp.request import Asked, Roots, caller_of, id_of, project_of, reply_to
from remora.errors import RpcError
from remora.gateway import eras
from remora.gateway.session import Caller, Session, ViewKey
from remora.gateway.wire import jsonrpc

FRONT: Any = SimpleNamespace(request_id=7)
HANDSHAKE = Caller(False, "2025-06-18", {"name": "old"})


def session(caller: Caller | None = None) -> Session:
    return Session("stdio", caller=caller)


def test_initialize_tells_who_the_client_is() -> None:
    caller = caller_of(rpc("initialize", INITIALIZE), session())
    assert (caller.modern, caller.version, caller.client["name"]) == (False, "2025-11-25", "probe")


def test_a_second_initialize_is_believed_too() -> None:
    assert caller_of(rpc("initialize", INITIALIZE), session(HANDSHAKE)).version == "2025-11-25"


def test_an_unknown_handshake_version_is_offered_the_latest() -> None:
    assert caller_of(rpc("initialize", {**INITIALIZE, "protocolVersion": "1999-01-01"}), session()).version == (
        eras.LATEST_HANDSHAKE
    )


def test_a_request_with_an_envelope_is_modern_whatever_went_before() -> None:
    for seen in (session(), session(HANDSHAKE)):
        caller = caller_of(rpc("tools/list", {"_meta": ENVELOPE}), seen)
        assert (caller.modern, caller.version, caller.client["name"]) == (True, "2026-07-28", "probe")


def test_without_an_envelope_the_handshake_counts() -> None:
    assert caller_of(rpc("tools/list"), session(HANDSHAKE)) is HANDSHAKE
    assert caller_of(rpc("tools/list", {"_meta": {"progressToken": 1}}), session(HANDSHAKE)) is HANDSHAKE


def test_ping_needs_no_handshake() -> None:
    assert caller_of(rpc("ping"), session()).modern is False


def test_anything_else_before_initialize_is_refused() -> None:
    with pytest.raises(RpcError, match="tools/list before initialize") as refused:
        caller_of(rpc("tools/list"), session())
    assert refused.value.code == jsonrpc.INVALID_REQUEST


@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen"])
def test_a_method_of_the_modern_era_needs_its_envelope(method: str) -> None:
    for params in ({}, {"_meta": {}}, {"_meta": {eras.CAPABILITIES_KEY: {}}}):
        with pytest.raises(RpcError) as refused:
            caller_of(rpc(method, params), session(HANDSHAKE))
        assert refused.value.code == jsonrpc.INVALID_PARAMS
        assert eras.VERSION_KEY in str(refused.value)


def test_an_unknown_modern_version_is_told_what_is_spoken() -> None:
    with pytest.raises(RpcError) as refused:
        caller_of(rpc("tools/list", {"_meta": {**ENVELOPE, eras.VERSION_KEY: "2031-01-01"}}), session())
    assert refused.value.code == jsonrpc.UNSUPPORTED_VERSION
    assert refused.value.data == {"supported": ["2026-07-28"], "requested": "2031-01-01"}


async def test_a_result_becomes_a_reply() -> None:
    gateway: Any = FakeGateway()
    gateway.handlers["x"] = Gate({"a": 1})
    gateway.handlers["x"].open.set()
    reply, problem = await reply_to(gateway, FRONT, "x", {})
    assert (json.loads(reply), problem) == ({"jsonrpc": "2.0", "id": 7, "result": {"a": 1}}, None)


async def test_an_error_keeps_its_code_and_data() -> None:
    gateway: Any = FakeGateway()

    async def refuse(front: Any, params: Any) -> Any:
        raise RpcError(-32002, "gone", {"uri": "x"})

    gateway.handlers["x"] = refuse
    reply, problem = await reply_to(gateway, FRONT, "x", {})
    assert json.loads(reply)["error"] == {"code": -32002, "message": "gone", "data": {"uri": "x"}}
    assert problem is not None
    assert problem.code == -32002


async def test_a_failure_of_ours_ends_one_request_and_tells_no_secrets(caplog: pytest.LogCaptureFixture) -> None:
    gateway: Any = FakeGateway()

    async def fail(front: Any, params: Any) -> Any:
        raise KeyError("secret-of-ours")

    gateway.handlers["x"] = fail
    with caplog.at_level(logging.ERROR):
        reply, problem = await reply_to(gateway, FRONT, "x", {})
    error = json.loads(reply)["error"]
    assert (error["code"], "KeyError" in error["message"]) == (jsonrpc.INTERNAL_ERROR, True)
    assert b"secret-of-ours" not in reply
    assert problem is not None
    assert caplog.records[0].exc_info is not None


async def test_cancelling_is_no_failure() -> None:
    gateway: Any = FakeGateway()
    gate = gateway.handlers["x"] = Gate()
    task = asyncio.create_task(reply_to(gateway, FRONT, "x", {}))
    await soon(gate.begun.wait())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await soon(task)


@pytest.mark.parametrize(
    ("message", "found"),
    [({"id": 3}, 3), ({"id": "a"}, "a"), ({"id": None}, None), ({"id": 1.5}, None), ({"id": True}, None),
     ({"id": [1]}, None), ({}, None), ([{"id": 3}], None), ("text", None), (None, None)],
)  # fmt: skip
def test_the_id_is_found_where_there_is_one(message: Any, found: Any) -> None:
    assert id_of(message) == found


def test_the_first_folder_among_the_roots_is_the_project(tmp_path: Path) -> None:
    (tmp_path / "my code" / ".git").mkdir(parents=True)
    inside = (tmp_path / "my code" / "deep").as_uri()
    roots = [None, {"uri": 7}, {"uri": "https://example.com/x"}, {"uri": inside}, {"uri": tmp_path.as_uri()}]
    assert project_of({"roots": roots}, tmp_path) == tmp_path / "my code"


@pytest.mark.parametrize(
    "answer", [{}, {"roots": None}, {"roots": {}}, {"roots": []}, {"roots": [{"uri": "http://a"}]}]
)
def test_roots_that_name_no_folder_give_no_project(answer: dict[str, Any], tmp_path: Path) -> None:
    assert project_of(answer, tmp_path) is None


def test_the_home_folder_is_no_project(tmp_path: Path) -> None:
    assert project_of({"roots": [{"uri": tmp_path.as_uri()}]}, tmp_path) is None


class Client:
    """Answers `roots/list` with what it has."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.asked = answer, 0

    async def ask(self, method: str, params: Any) -> Any:
        assert (method, params) == ("roots/list", {})
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def with_roots(**view: Any) -> Session:
    return Session("http", view=ViewKey(**view), caller=Caller(False, "2025-11-25", {}, {"roots": {}}))


async def test_the_project_is_learned_from_the_client_and_followed(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    gateway: Any = FakeGateway(tmp_path)
    client = Client({"roots": [{"uri": (tmp_path / "one").as_uri()}]})
    session, roots = with_roots(), Roots(gateway, client.ask)
    roots.changed(session)  # nothing was learned from roots yet
    assert client.asked == 0
    roots.ask_if_needed(session)
    await soon(gateway.settled())
    client.answer = {"roots": [{"uri": (tmp_path / "two").as_uri()}]}
    roots.changed(session)
    await soon(gateway.settled())
    assert gateway.moved == [(session, tmp_path / "one"), (session, tmp_path / "two")]


@pytest.mark.parametrize(
    "session",
    [with_roots(project=Path("/srv")), Session("http", caller=Caller(False, "2025-11-25")), Session("http")],
    ids=["project known", "no roots", "no client"],
)
async def test_who_said_it_or_cannot_say_it_is_not_asked(session: Session) -> None:
    gateway: Any = FakeGateway()
    client = Client({"roots": []})
    Roots(gateway, client.ask).ask_if_needed(session)
    await soon(gateway.settled())
    assert (client.asked, gateway.moved) == (0, [])


@pytest.mark.parametrize(
    "answer", [RpcError(-1, "no"), TimeoutError(), {"roots": [{"uri": "file:///a%00b"}]}], ids=["no", "late", "odd"]
)
async def test_a_client_that_does_not_say_it_stays_where_it_is(answer: Any, tmp_path: Path) -> None:
    gateway: Any = FakeGateway(tmp_path)
    roots = Roots(gateway, Client(answer).ask)
    roots.ask_if_needed(with_roots())
    [task] = gateway._tasks
    await soon(asyncio.wait([task]))
    assert task.exception() is None
    assert gateway.moved == []


def unsent(_: bytes) -> None:
    raise AssertionError("nothing is sent")


async def test_an_answer_reaches_its_question() -> None:
    asked = Asked()
    (first, one), (second, two) = asked.new(), asked.new()
    assert first != second
    asked.answer({"id": second, "result": {"n": 2}})
    asked.answer({"id": first, "error": {"code": -1, "message": "no"}})
    assert await asked.wait(second, two, unsent) == {"n": 2}
    with pytest.raises(RpcError, match="no"):
        await asked.wait(first, one, unsent)


async def test_an_answer_nobody_waits_for_is_passed_over() -> None:
    asked = Asked()
    key, waiting = asked.new()
    for stray in ({"id": "other", "result": {}}, {"id": 1, "result": {}}, {"id": [1], "result": {}}, {"result": {}}):
        asked.answer(stray)
    assert not waiting.done()
    asked.answer({"id": key, "result": {"first": True}})
    asked.answer({"id": key, "result": {"first": False}})
    assert await asked.wait(key, waiting, unsent) == {"first": True}


async def test_who_waits_for_a_client_that_goes_is_told() -> None:
    asked = Asked()
    key, waiting = asked.new()
    asked.lose()
    with pytest.raises(RpcError, match="the client has gone"):
        await soon(asked.wait(key, waiting, unsent))


async def test_a_question_given_up_is_taken_back_and_forgotten() -> None:
    asked, sent = Asked(), []
    key, waiting = asked.new()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await asked.wait(key, waiting, sent.append)
    assert [json.loads(each) for each in sent] == [
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": key}}
    ]
    asked.answer({"id": key, "result": {}})  # late: there is nobody to be woken
