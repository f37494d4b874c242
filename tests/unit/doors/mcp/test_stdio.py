from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.doors.fakes import ENVELOPE, INITIALIZE, FakeGateway, Gate, rpc, soon

from remora.doors.mcp import stdio as module
from remora.doors.mcp.stdio import StdioDoor
from remora.gateway.session import Front, Params, ViewKey
from remora.gateway.wire import jsonrpc

CANCEL = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}


class Pipes:
    """A client at the other end of two pipes."""

    def __init__(self, gateway: Any) -> None:
        self.stdin, self._write = os.pipe()
        self._read, self.stdout = os.pipe()
        self.gateway: FakeGateway = gateway
        self.ended = asyncio.Event()
        self.door = StdioDoor(gateway, ViewKey("work"), "mine", self.ended)
        self._lines = asyncio.StreamReader(limit=1 << 24)

    async def connect(self) -> None:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._lines), os.fdopen(self._read, "rb", buffering=0)
        )
        self.serving = asyncio.create_task(self.door.serve(self.stdin, self.stdout))

    def type(self, raw: bytes) -> None:
        os.write(self._write, raw)

    def send(self, message: Any) -> None:
        self.type(jsonrpc.encode(message) + b"\n")

    async def answer(self) -> Any:
        return json.loads(await soon(self._lines.readline()))

    async def ask(self, method: str, params: Params | None = None, request_id: Any = 1) -> Any:
        self.send(rpc(method, params, request_id))
        return await self.answer()

    def hang_up(self) -> None:
        if self._write >= 0:
            os.close(self._write)
        self._write = -1

    async def finish(self) -> list[Any]:
        """End of input; what was still to come."""
        self.hang_up()
        await soon(self.serving)
        return [json.loads(line) for line in (await soon(self._lines.read())).splitlines()]

    def close(self) -> None:
        self.hang_up()
        self._transport.close()


@pytest.fixture
async def pipes(tmp_path: Path) -> AsyncIterator[Pipes]:
    made = Pipes(FakeGateway(tmp_path))
    await made.connect()
    yield made
    made.close()
    await soon(made.serving)


def code(answer: Any) -> tuple[Any, int]:
    return answer["id"], answer["error"]["code"]


# -- one pipe, both eras --------------------------------------------------------------------------------------------


async def test_each_request_is_answered_on_a_line_of_its_own(pipes: Pipes) -> None:
    pipes.type(jsonrpc.encode(rpc("ping", request_id=1)) + b"\n" + jsonrpc.encode(rpc("ping", request_id="b")) + b"\n")
    assert [await pipes.answer(), await pipes.answer()] == [
        {"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "id": "b", "result": {}},
    ]  # fmt: skip


async def test_initialize_begins_the_session_that_follows(pipes: Pipes) -> None:
    await pipes.ask("initialize", INITIALIZE)
    pipes.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    await pipes.ask("ping")
    front = pipes.gateway.asked[-1][0]
    assert (front.caller.version, front.session.client_name) == ("2025-11-25", "probe")
    assert (front.session.view, front.session.key) == (ViewKey("work"), "mine")


async def test_both_eras_on_one_pipe_in_any_order(pipes: Pipes) -> None:
    modern = {"_meta": ENVELOPE}
    for method, params in (("server/discover", modern), ("initialize", INITIALIZE), ("server/discover", modern),
                           ("ping", {})):  # fmt: skip
        assert "result" in await pipes.ask(method, params)
    assert [front.caller.modern for front, _, _ in pipes.gateway.asked] == [True, False, True, False]


async def test_a_second_initialize_begins_another_session(pipes: Pipes) -> None:
    await pipes.ask("initialize", INITIALIZE)
    await pipes.ask("initialize", {**INITIALIZE, "clientInfo": {"name": "next"}})
    await pipes.ask("ping")
    first, second = pipes.gateway.sessions
    assert pipes.gateway.closed == [first]
    assert (second.client_name, pipes.gateway.asked[-1][0].session) == ("next", second)


async def test_before_initialize_only_ping_is_answered(pipes: Pipes) -> None:
    assert "result" in await pipes.ask("ping")
    assert code(await pipes.ask("tools/list")) == (1, jsonrpc.INVALID_REQUEST)
    assert code(await pipes.ask("initialize", {"protocolVersion": 7})) == (1, jsonrpc.INVALID_PARAMS)
    unknown = {"_meta": {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}}
    assert code(await pipes.ask("tools/list", unknown)) == (1, jsonrpc.UNSUPPORTED_VERSION)
    assert pipes.gateway.asked[1:] == []


# -- what is no request ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [(b"no json", (None, jsonrpc.PARSE_ERROR)), (b"\xff\xfe", (None, jsonrpc.PARSE_ERROR)),
     (b'{"jsonrpc":"2.0","id":1,', (None, jsonrpc.PARSE_ERROR)), (b"[]", (None, jsonrpc.INVALID_REQUEST)),
     (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', (None, jsonrpc.INVALID_REQUEST)),
     (b'"text"', (None, jsonrpc.INVALID_REQUEST)), (b'{"id":3,"method":"ping"}', (3, jsonrpc.INVALID_REQUEST)),
     (b'{"jsonrpc":"2.0","id":3}', (3, jsonrpc.INVALID_REQUEST)),
     (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}', (3, jsonrpc.INVALID_PARAMS)),
     (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', (None, jsonrpc.INVALID_REQUEST))],
)  # fmt: skip
async def test_a_line_that_is_no_request_is_answered_and_the_next_one_too(
    pipes: Pipes, line: bytes, expected: tuple[Any, int]
) -> None:
    pipes.type(line + b"\n")
    assert code(await pipes.answer()) == expected
    assert "result" in await pipes.ask("ping")


async def test_what_needs_no_answer_gets_none(pipes: Pipes) -> None:
    pipes.type(b"\n  \n\r\n")
    pipes.send({"jsonrpc": "2.0", "method": "notifications/unknown"})
    pipes.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": [1]})
    pipes.send({"jsonrpc": "2.0", "id": "remora-99", "result": {}})
    pipes.send({"jsonrpc": "2.0", "id": None, "error": {"code": -1, "message": "yours was odd"}})
    assert (await pipes.ask("ping", request_id="first answer"))["id"] == "first answer"


async def test_an_id_in_use_is_refused(pipes: Pipes) -> None:
    gate = pipes.gateway.handlers["x"] = Gate()
    await pipes.ask("initialize", INITIALIZE)
    pipes.send(rpc("x"))
    await soon(gate.begun.wait())
    assert code(await pipes.ask("ping")) == (1, jsonrpc.INVALID_REQUEST)
    gate.open.set()
    assert (await pipes.answer())["result"] == gate.answer
    assert "result" in await pipes.ask("ping")


async def test_a_line_that_is_too_long_ends_the_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINE_LIMIT", 1000)
    pipes = Pipes(FakeGateway(tmp_path))
    await pipes.connect()
    pipes.type(b"x" * 2000)  # and no end of it in sight
    assert code(await pipes.answer()) == (None, jsonrpc.INVALID_REQUEST)
    await soon(pipes.serving)
    assert pipes.gateway.closed == pipes.gateway.sessions
    pipes.close()


async def test_a_line_just_within_the_limit_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINE_LIMIT", 1000)
    pipes = Pipes(FakeGateway(tmp_path))
    await pipes.connect()
    pipes.type(jsonrpc.encode(rpc("ping")).ljust(1000) + b"\n")
    assert "result" in await pipes.answer()
    assert await pipes.finish() == []
    pipes.close()


# -- both ways ------------------------------------------------------------------------------------------------------


async def test_requests_do_not_wait_for_each_other(pipes: Pipes) -> None:
    gate = pipes.gateway.handlers["x"] = Gate()
    await pipes.ask("initialize", INITIALIZE)
    pipes.send(rpc("x"))
    await soon(gate.begun.wait())
    assert (await pipes.ask("ping", request_id=2))["id"] == 2
    gate.open.set()
    assert (await pipes.answer())["id"] == 1


async def test_a_request_has_notifications_and_questions_on_the_pipe(pipes: Pipes) -> None:
    async def chatty(front: Front, params: Params) -> Params:
        front.notify("notifications/progress", {"progress": 1})
        front.notify("notifications/plain", {})
        front.close_stream()  # a pipe cannot be polled: nothing happens
        return {"told": await front.ask("roots/list", {})}

    pipes.gateway.handlers["x"] = chatty
    await pipes.ask("initialize", INITIALIZE)
    pipes.send(rpc("x"))
    assert await pipes.answer() == {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}
    assert await pipes.answer() == {"jsonrpc": "2.0", "method": "notifications/plain"}
    question = await pipes.answer()
    pipes.send({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}})
    assert (await pipes.answer())["result"] == {"told": {"roots": []}}


async def test_cancelling_ends_a_request_without_an_answer(pipes: Pipes) -> None:
    gate = pipes.gateway.handlers["x"] = Gate()
    await pipes.ask("initialize", INITIALIZE)
    pipes.send(rpc("x"))
    await soon(gate.begun.wait())
    pipes.send({**CANCEL, "params": {"requestId": {}}})
    pipes.send(CANCEL)
    await soon(gate.cancelled.wait())
    assert (await pipes.ask("ping", request_id=2))["id"] == 2


async def test_standing_messages_reach_only_a_client_that_shook_hands(pipes: Pipes) -> None:
    await pipes.ask("server/discover", {"_meta": ENVELOPE})
    standing = pipes.gateway.sessions[0].standing
    assert standing is not None
    standing("notifications/tools/list_changed", {})
    await pipes.ask("initialize", INITIALIZE)  # the next line is its answer: nothing came before
    standing = pipes.gateway.sessions[-1].standing
    assert standing is not None
    standing("notifications/tools/list_changed", {})
    assert await pipes.answer() == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


async def test_changed_roots_are_passed_on(pipes: Pipes) -> None:
    await pipes.ask("initialize", INITIALIZE)
    pipes.send({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
    await pipes.ask("ping")
    await soon(pipes.gateway.settled())
    assert pipes.gateway.roots_told == pipes.gateway.sessions


async def test_a_client_with_roots_is_asked_for_its_project(pipes: Pipes, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    await pipes.ask("initialize", {**INITIALIZE, "capabilities": {"roots": {}}})
    for message in ({"method": "notifications/initialized"}, {"method": "notifications/roots/list_changed"}):
        pipes.send({"jsonrpc": "2.0", **message})
        question = await pipes.answer()
        assert question["method"] == "roots/list"
        root = {"uri": (tmp_path / "code").as_uri()}
        pipes.send({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": [root]}})
        await pipes.ask("ping")
        await soon(pipes.gateway.settled())
    assert pipes.gateway.moved == [(pipes.gateway.sessions[0], tmp_path / "code")] * 2


# -- the end --------------------------------------------------------------------------------------------------------


async def test_at_the_end_of_input_what_runs_may_finish(pipes: Pipes) -> None:
    gate = pipes.gateway.handlers["x"] = Gate()
    await pipes.ask("initialize", INITIALIZE)
    pipes.send(rpc("x"))
    await soon(gate.begun.wait())
    pipes.hang_up()
    await soon(pipes.gateway.listeners_closed.wait())  # streams that would never end are told to
    gate.open.set()
    assert [answer["result"] for answer in await pipes.finish()] == [gate.answer]
    assert pipes.gateway.closed == pipes.gateway.sessions


async def test_what_does_not_finish_is_ended(pipes: Pipes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DRAIN_SECONDS", 0)
    gate = pipes.gateway.handlers["x"] = Gate()
    await pipes.ask("initialize", INITIALIZE)
    pipes.send(rpc("x"))
    await soon(gate.begun.wait())
    assert await pipes.finish() == []
    await soon(gate.cancelled.wait())


async def test_a_last_line_needs_no_newline(pipes: Pipes) -> None:
    pipes.type(jsonrpc.encode(rpc("ping")))
    assert [answer["result"] for answer in await pipes.finish()] == [{}]


async def test_a_signal_ends_it_like_the_end_of_input(pipes: Pipes) -> None:
    pipes.ended.set()
    await soon(pipes.serving)
    assert pipes.gateway.closed == pipes.gateway.sessions


async def test_a_client_that_does_not_read_is_not_read_from(pipes: Pipes) -> None:
    await pipes.ask("initialize", INITIALIZE)
    output = module._Output(pipes.door)
    calls: list[str] = []

    class Reader(asyncio.ReadTransport):
        def pause_reading(self) -> None:
            calls.append("pause")

        def resume_reading(self) -> None:
            calls.append("resume")

    output.pause_writing()  # before there is anything to read from
    output.reader = Reader()
    output.pause_writing()
    output.resume_writing()
    assert calls == ["pause", "resume"]
    output.connection_lost(None)
    assert pipes.ended.is_set()


async def test_files_serve_as_pipes(tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(jsonrpc.encode(rpc("ping")) + b"\n" + jsonrpc.encode(rpc("nothing", request_id=2)) + b"\n")
    gateway: Any = FakeGateway(tmp_path)
    door = StdioDoor(gateway, ViewKey(), "", asyncio.Event())
    await soon(door.serve(os.open(source, os.O_RDONLY), os.open(target, os.O_WRONLY | os.O_CREAT)))
    assert sorted(json.loads(line)["id"] for line in target.read_bytes().splitlines()) == [1, 2]


async def test_no_input_is_the_end_of_input(tmp_path: Path) -> None:
    gateway: Any = FakeGateway(tmp_path)
    door = StdioDoor(gateway, ViewKey(), "", asyncio.Event())
    await soon(door.serve(os.open(os.devnull, os.O_RDONLY), os.open(os.devnull, os.O_WRONLY)))
    assert gateway.closed == gateway.sessions


def test_what_prints_by_mistake_does_not_get_into_the_protocol() -> None:
    program = (
        "import os, sys\nfrom remora.doors.mcp.stdio import take_stdio\n"
        "stdin, stdout = take_stdio()\nprint('by mistake', flush=True)\nos.system('echo from a child')\n"
        "assert sys.stdin.read() == ''\nos.write(stdout, os.read(stdin, 100))"
    )
    done = subprocess.run([sys.executable, "-c", program], input=b"protocol", capture_output=True, check=True)
    assert done.stdout == b"protocol"
    assert set(done.stderr.split(b"\n")) == {b"by mistake", b"from a child", b""}
