from __future__ import annotations

import pytest
from tests.unit.doors.fakes import Exchange

from remora.doors.http.wire import BodyTooLarge, Disconnected


def test_headers_are_found_whatever_their_case_and_seen_as_often_as_they_occur() -> None:
    request = Exchange(headers=[("Mcp-Name", " a "), ("mcp-name", "b"), ("X", "caf\xe9")]).request
    assert request.headers == [("mcp-name", "a"), ("mcp-name", "b"), ("x", "caf\xe9")]
    assert request.header("mcp-name") == "a"
    assert request.header("absent") is None


def test_the_last_value_of_a_query_key_counts() -> None:
    request = Exchange(query="profile=a&profile=b%20c&project=%2Fsrv&empty=").request
    assert request.query == {"profile": "b c", "project": "/srv"}
    assert Exchange().request.query == {}


async def test_a_body_may_come_in_parts() -> None:
    assert await Exchange(body=[b"ab", b"", b"cd"]).request.body(4) == b"abcd"
    assert await Exchange().request.body(4) == b""


async def test_a_body_that_says_it_is_too_large_is_not_read() -> None:
    exchange = Exchange(headers={"content-length": "5"}, body=b"abcde")
    with pytest.raises(BodyTooLarge):
        await exchange.request.body(4)
    assert (await exchange.receive())["body"] == b"abcde"


async def test_a_body_that_turns_out_too_large_is_given_up() -> None:
    exchange = Exchange(body=[b"abc", b"de", b"never read"])
    with pytest.raises(BodyTooLarge):
        await exchange.request.body(4)
    assert (await exchange.receive())["body"] == b"never read"


async def test_a_client_that_leaves_while_sending_is_noticed() -> None:
    exchange = Exchange(body=[b"abc", b"more"])
    await exchange.receive()
    await exchange.receive()
    exchange.leave()
    with pytest.raises(Disconnected):
        await exchange.request.body(100)


async def test_gone_waits_for_the_end_of_the_connection() -> None:
    exchange = Exchange(body=[b"left", b"over"])
    exchange.leave()
    await exchange.request.gone()


async def test_a_reply_says_how_long_and_what_it_is() -> None:
    exchange = Exchange()
    await exchange.request.reply(200, b"{}", headers={"x": "y"})
    assert (exchange.status, exchange.body, exchange.ended) == (200, b"{}", True)
    assert exchange.headers == {"content-length": "2", "content-type": "application/json", "x": "y"}
    empty = Exchange()
    await empty.request.reply(202)
    assert (empty.status, empty.headers, empty.ended) == (202, {"content-length": "0"}, True)


async def test_a_problem_is_an_rfc_9457_document() -> None:
    exchange = Exchange()
    await exchange.request.problem(503, "too many", {"retry-after": "5"})
    assert exchange.status == 503
    assert exchange.headers["content-type"] == "application/problem+json"
    assert exchange.headers["retry-after"] == "5"
    assert exchange.json == {"type": "about:blank", "status": 503, "title": "too many"}
