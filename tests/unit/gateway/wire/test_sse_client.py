from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from tests.unit.gateway.fakes import Events
from tests.unit.gateway.wire.ports import events, port, status

from remora.errors import NotSent
from remora.gateway.wire.link import Exchange, LinkLost, LoginNeeded
from remora.gateway.wire.sse_client import SseLink


def old_server(address="/post?s=1", answer=True):
    """The stream names an address; what is posted there is answered on the stream."""
    posted = asyncio.Queue()

    async def stream(exchange, request):
        exchange.open_stream()
        exchange.event(address, "endpoint")
        while message := await posted.get():
            exchange.event(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"of": message["method"]}}))
        exchange.end_stream()

    def take(exchange, request):
        posted.put_nowait(request.message if answer else None)
        exchange.respond(202)

    return {"GET": stream, "tools__list": take}


@asynccontextmanager
async def link_to(there, told=None):
    link = SseLink(there.endpoint(Authorization="Bearer t", path="/sse"), told or Events())
    try:
        yield link
    finally:
        await link.close()


async def test_requests_go_up_by_post_and_answers_come_down_the_stream():
    async with port(**old_server()) as there, link_to(there) as link:
        await link.open()
        assert await link.request("tools/list", None, Exchange()) == {"of": "tools/list"}
        (sent,) = there.sent("POST")
        assert (sent.path, sent.headers["authorization"]) == ("/post?s=1", "Bearer t")


async def test_an_address_on_another_origin_gets_nothing():
    async with port() as other, port(**old_server(f"{other.url}/post")) as there, link_to(there) as link:
        with pytest.raises(NotSent, match="another origin"):
            await link.open()
        assert other.requests == []


@pytest.mark.parametrize(
    ("answer", "raised"), [(status(401), LoginNeeded), (status(404), NotSent), (events("data: x\n\n"), NotSent)]
)
async def test_where_no_stream_is(answer, raised):
    async with port(GET=answer) as there, link_to(there) as link:
        with pytest.raises(raised):
            await link.open()


async def test_nobody_there():
    async with port() as there:
        pass
    async with link_to(there) as link:
        with pytest.raises(NotSent):
            await link.open()


async def test_the_end_of_the_stream_ends_the_link():
    told = Events()
    async with port(**old_server(answer=False)) as there, link_to(there, told) as link:
        await link.open()
        with pytest.raises(LinkLost, match="ended the stream"):
            await link.request("tools/list", None, Exchange())
        assert told.lost == ["the server ended the stream"]


async def test_a_message_that_is_refused_ends_the_link():
    async with port(**old_server(), tools__call=status(500)) as there, link_to(there) as link:
        await link.open()
        with pytest.raises(LinkLost, match="HTTP 500"):
            await link.request("tools/call", None, Exchange())
