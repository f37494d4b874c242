from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.unit.doors.fakes import (
    ACCEPTED,
    ENVELOPE,
    INITIALIZE,
    Exchange,
    FakeGateway,
    Gate,
    modern,
    posted,
    rpc,
    soon,
)

from remora.config.model import HttpConfig
from remora.doors.http.wire import BodyTooLarge
from remora.doors.mcp import http as module
from remora.doors.mcp.http import McpDoor
from remora.gateway.session import LOCAL_USER, Principal, ViewKey
from remora.gateway.wire import jsonrpc

ANYBODY = Principal("anonymous", "read")
NO_VIEW = ViewKey()
LIST_CHANGED = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}


class Site:
    """The door with a gateway of ours behind it."""

    def __init__(self, gateway: Any) -> None:
        self.gateway, self.door, self.config = gateway, McpDoor(gateway), HttpConfig()

    async def ask(self, exchange: Exchange, principal: Principal = LOCAL_USER, view: ViewKey = NO_VIEW) -> Exchange:
        await soon(self.door.handle(exchange.request, principal, view, self.config))
        return exchange

    async def post(self, message: Any, given: dict[str, str] | None = None, **more: Any) -> Exchange:
        return await self.ask(posted(message, given), **more)

    async def begin(self, principal: Principal = LOCAL_USER, **given: str) -> dict[str, str]:
        """A handshake; the header that names its session."""
        answer = await self.post(rpc("initialize", INITIALIZE), given, principal=principal)
        assert answer.status == 200
        return {"mcp-session-id": answer.headers["mcp-session-id"]}

    def idle(self, seconds: float) -> None:
        """Time passes for every session."""
        for session in self.gateway.sessions:
            session.last_seen -= seconds


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(FakeGateway(tmp_path))


# -- what is no request ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "status"),
    [({"accept": "application/json"}, 406), ({"accept": "text/event-stream"}, 406), ({"accept": ""}, 406),
     ({"content-type": "text/plain"}, 415), ({"content-type": ""}, 415)],
)  # fmt: skip
async def test_what_cannot_be_spoken_about_is_refused(site: Site, given: dict[str, str], status: int) -> None:
    answer = await site.post(rpc("initialize", INITIALIZE), given)
    assert (answer.status, answer.json["error"]["code"], answer.json["id"]) == (status, jsonrpc.INVALID_REQUEST, None)


@pytest.mark.parametrize(
    "given",
    [{"accept": "*/*"}, {"accept": "text/event-stream;q=0.5, application/json"},
     {"content-type": "Application/JSON; charset=utf-8"}],
)  # fmt: skip
async def test_headers_may_be_written_in_every_legal_way(site: Site, given: dict[str, str]) -> None:
    assert (await site.post(rpc("initialize", INITIALIZE), given)).status == 200


@pytest.mark.parametrize(
    ("body", "code", "request_id"),
    [(b"{", jsonrpc.PARSE_ERROR, None), (b"", jsonrpc.PARSE_ERROR, None), (b"\xff", jsonrpc.PARSE_ERROR, None),
     (b"[]", jsonrpc.INVALID_REQUEST, None),
     (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', jsonrpc.INVALID_REQUEST, None),
     (b"7", jsonrpc.INVALID_REQUEST, None), (b'{"id":5,"method":"ping"}', jsonrpc.INVALID_REQUEST, 5),
     (b'{"jsonrpc":"2.0","id":5}', jsonrpc.INVALID_REQUEST, 5),
     (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":[1]}', jsonrpc.INVALID_PARAMS, 5),
     (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', jsonrpc.INVALID_REQUEST, None)],
)  # fmt: skip
async def test_a_body_that_is_no_message_is_answered_with_its_error(
    site: Site, body: bytes, code: int, request_id: Any
) -> None:
    answer = await site.post(body)
    assert (answer.status, answer.json["error"]["code"], answer.json["id"]) == (400, code, request_id)


async def test_a_body_has_a_limit(site: Site) -> None:
    site.config = HttpConfig(max_body_bytes=10)
    with pytest.raises(BodyTooLarge):
        await site.post(rpc("initialize", INITIALIZE))


async def test_other_methods_are_told_which_there_are(site: Site) -> None:
    answer = await site.ask(Exchange("PUT", headers=ACCEPTED))
    assert (answer.status, answer.headers["allow"]) == (405, "GET, POST, DELETE")


async def test_an_unknown_profile_is_not_found(site: Site) -> None:
    answer = await site.post(rpc("initialize", INITIALIZE), view=ViewKey("other"))
    assert (answer.status, "other" in answer.json["title"]) == (404, True)
    assert (await site.post(rpc("initialize", INITIALIZE), view=ViewKey("work"))).status == 200


# -- sessions of the handshake era ----------------------------------------------------------------------------------


async def test_initialize_begins_a_session_that_later_requests_name(site: Site) -> None:
    session = await site.begin()
    answer = await site.post(rpc("ping"), session)
    assert (answer.status, answer.json["result"]) == (200, {})
    front = site.gateway.asked[-1][0]
    assert front.session is site.gateway.sessions[0]
    assert (front.caller.version, front.caller.client["name"]) == ("2025-11-25", "probe")


async def test_a_request_without_a_session_is_told_to_begin_one(site: Site) -> None:
    missing = await site.post(rpc("tools/list"))
    assert (missing.status, "initialize" in missing.json["error"]["message"]) == (400, True)
    assert (await site.post(rpc("tools/list"), {"mcp-session-id": "guessed"})).status == 404


async def test_a_session_belongs_to_whoever_began_it(site: Site) -> None:
    session = await site.begin(principal=ANYBODY)
    for exchange in (posted(rpc("ping"), session), Exchange("GET", headers={**ACCEPTED, **session}),
                     Exchange("DELETE", headers=session)):  # fmt: skip
        assert (await site.ask(exchange)).status == 404
    assert (await site.post(rpc("ping"), session, principal=ANYBODY)).status == 200


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 1}, {"protocolVersion": "2025-11-25", "clientInfo": []}])
async def test_an_initialize_that_says_nothing_begins_nothing(site: Site, params: Any) -> None:
    answer = await site.post(rpc("initialize", params))
    assert (answer.status, answer.json["error"]["code"]) == (400, jsonrpc.INVALID_PARAMS)
    assert site.gateway.sessions == []


async def test_notifications_and_answers_are_accepted(site: Site) -> None:
    session = await site.begin()
    told = await site.post(LIST_CHANGED, session)
    assert (told.status, told.body) == (202, b"")
    await soon(site.gateway.settled())
    assert site.gateway.roots_told == site.gateway.sessions

    async def curious(front: Any, params: Any) -> Any:
        return await front.ask("roots/list", {})

    site.gateway.handlers["x"] = curious
    exchange = posted(rpc("x"), session)
    asking = asyncio.create_task(site.ask(exchange))
    question = await exchange.next_message()
    answered = await site.post({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}, session)
    assert (answered.status, answered.body) == (202, b"")
    await soon(asking)
    assert exchange.messages[-1]["result"] == {"roots": []}


async def test_delete_ends_a_session(site: Site) -> None:
    session = await site.begin()
    assert (await site.ask(Exchange("DELETE", headers=session))).status == 200
    assert site.gateway.closed == site.gateway.sessions
    assert (await site.post(rpc("ping"), session)).status == 404
    assert (await site.ask(Exchange("DELETE", headers=session))).status == 404


async def test_a_get_must_be_able_to_read_events(site: Site) -> None:
    session = await site.begin()
    assert (await site.ask(Exchange("GET", headers={**session, "accept": "application/json"}))).status == 406
    for accept in ("text/event-stream", "*/*"):
        exchange = Exchange("GET", headers={**session, "accept": accept})
        exchange.leave()
        assert (await site.ask(exchange)).status == 200


async def test_too_many_sessions_are_told_to_come_back(site: Site) -> None:
    site.config = HttpConfig(max_sessions=2)
    await site.begin()
    await site.begin()
    answer = await site.post(rpc("initialize", INITIALIZE))
    assert (answer.status, answer.headers["retry-after"]) == (503, "5")
    assert "http.max_sessions" in answer.json["title"]


async def test_idle_sessions_make_room(site: Site) -> None:
    site.config = HttpConfig(max_sessions=1, session_idle_seconds=60)
    first = await site.begin()
    site.idle(61)
    await site.begin()
    assert (await site.post(rpc("ping"), first)).status == 404
    assert site.gateway.closed == site.gateway.sessions[:1]


async def test_a_request_keeps_a_session_alive_and_a_busy_one_is_never_swept(site: Site) -> None:
    site.config = HttpConfig(max_sessions=1, session_idle_seconds=60)
    session = await site.begin()
    site.idle(61)
    await site.post(LIST_CHANGED, session)
    assert (await site.post(rpc("initialize", INITIALIZE))).status == 503
    gate = site.gateway.handlers["x"] = Gate()
    exchange = posted(rpc("x"), session)
    working = asyncio.create_task(site.ask(exchange))
    await soon(gate.begun.wait())
    site.idle(61)
    assert (await site.post(rpc("initialize", INITIALIZE))).status == 503
    gate.open.set()
    await soon(working)
    site.idle(61)
    assert (await site.post(rpc("initialize", INITIALIZE))).status == 200


async def test_the_sweep_runs_by_itself(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SWEEP_SECONDS", 0)
    config = HttpConfig(session_idle_seconds=60)
    session = await site.begin()
    await site.ask(modern("server/discover"))
    swept = asyncio.Event()
    close = site.gateway.close_session

    async def closed(ended: Any) -> None:
        await close(ended)
        if len(site.gateway.closed) == 2:
            swept.set()

    site.gateway.close_session = closed
    sweeping = asyncio.create_task(site.door.sweep(lambda: config))
    site.idle(61)
    await soon(swept.wait())
    sweeping.cancel()
    assert (await site.post(rpc("ping"), session)).status == 404


async def test_a_sweep_that_fails_is_not_the_last(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SWEEP_SECONDS", 0)
    failures, swept = [KeyError("once")], asyncio.Event()

    async def sweep_once(_: HttpConfig) -> None:
        if failures:
            raise failures.pop()
        swept.set()

    monkeypatch.setattr(site.door, "_sweep_once", sweep_once)
    sweeping = asyncio.create_task(site.door.sweep(HttpConfig))
    await soon(swept.wait())
    sweeping.cancel()


async def test_the_key_of_a_session_is_its_clients(site: Site) -> None:
    await site.begin(**{"x-remora-session": "mine"})
    assert site.gateway.sessions[0].key == "mine"


async def test_closing_the_door_closes_every_session(site: Site) -> None:
    sessions = [await site.begin(), await site.begin()]
    exchange = Exchange("GET", headers={**ACCEPTED, **sessions[0]})
    reading = asyncio.create_task(site.ask(exchange))
    await soon(exchange.started.wait())
    site.door.end_standing()
    await soon(reading)
    await site.door.close()
    assert site.gateway.closed == site.gateway.sessions
    assert (await site.post(rpc("ping"), sessions[1])).status == 404


# -- which era ------------------------------------------------------------------------------------------------------


async def test_a_modern_request_needs_no_session(site: Site) -> None:
    answer = await site.ask(modern("server/discover"))
    assert (answer.status, answer.json["result"]) == (200, {})
    assert "mcp-session-id" not in answer.headers


async def test_the_envelope_alone_makes_a_request_modern(site: Site) -> None:
    answer = await site.post(rpc("server/discover", {"_meta": ENVELOPE}))
    assert (answer.status, answer.json["error"]["code"]) == (400, jsonrpc.HEADER_MISMATCH)


async def test_the_header_alone_makes_a_request_modern(site: Site) -> None:
    for version in ("2026-07-28", "2031-01-01", "nonsense"):
        answer = await site.post(rpc("tools/list"), {"mcp-protocol-version": version})
        assert (answer.status, answer.json["error"]["code"]) == (400, jsonrpc.INVALID_PARAMS)


async def test_the_header_of_a_handshake_revision_belongs_to_its_session(site: Site) -> None:
    session = await site.begin()
    assert (await site.post(rpc("ping"), {**session, "mcp-protocol-version": "2025-11-25"})).status == 200


async def test_both_eras_are_served_side_by_side(site: Site) -> None:
    session = await site.begin()
    await site.ask(modern("server/discover"))
    await site.post(rpc("ping"), session)
    assert [front.caller.modern for front, _, _ in site.gateway.asked] == [False, True, False]


async def test_answers_and_streams_belong_to_the_handshake_era(site: Site) -> None:
    version = {"mcp-protocol-version": "2026-07-28"}
    answer = await site.post({"jsonrpc": "2.0", "id": "remora-1", "result": {}}, version)
    assert (answer.status, answer.json["error"]["code"]) == (400, jsonrpc.INVALID_REQUEST)
    for method in ("GET", "DELETE"):
        told = await site.ask(Exchange(method, headers={**ACCEPTED, **version}))
        assert (told.status, told.headers["allow"]) == (405, "POST")


async def test_modern_requests_of_one_client_are_counted_together(site: Site) -> None:
    await site.ask(modern("server/discover"))
    await site.ask(modern("server/discover"))
    assert len(site.gateway.sessions) == 1
    await site.ask(modern("server/discover"), principal=ANYBODY)
    await site.ask(modern("server/discover"), view=ViewKey("work"))
    await site.ask(modern("server/discover", x_remora_session="mine"))
    keys = [session.key for session in site.gateway.sessions]
    assert (len(keys), len(set(keys)), keys[-1]) == (4, 3, "mine")
    assert [session.principal for session in site.gateway.sessions[:2]] == [LOCAL_USER, ANYBODY]


async def test_a_client_may_name_its_session_in_the_request(site: Site) -> None:
    params = {"_meta": {**ENVELOPE, "remora/session": "mine"}}
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "server/discover"}
    await site.post(rpc("server/discover", params), headers)
    await site.post(rpc("server/discover", params), {**headers, "x-remora-session": "stronger"})
    assert [session.key for session in site.gateway.sessions] == ["mine", "stronger"]


async def test_those_not_heard_of_for_longest_make_room_for_new_clients(site: Site) -> None:
    site.gateway.config.http = HttpConfig(max_sessions=2)
    for name in ("a", "b", "a", "c"):
        for session in site.gateway.sessions:
            session.last_seen -= 1
        await site.ask(modern("server/discover", x_remora_session=name))
    await soon(site.gateway.settled())
    assert [session.key for session in site.gateway.closed] == ["b"]


async def test_a_session_key_does_not_lend_anybody_its_owners_rights(site: Site) -> None:
    for principal in (LOCAL_USER, ANYBODY):
        await site.ask(modern("server/discover", x_remora_session="same"), principal=principal)
    assert [front.session.principal for front, _, _ in site.gateway.asked] == [LOCAL_USER, ANYBODY]
