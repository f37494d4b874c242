"""JSON at the edge of what parsers take, from either side: passed on, or answered with an error; never silence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.client import Message, StdioClient, text
from tests.support.control import Control
from tests.support.fronts import front
from tests.support.home import Home
from tests.support.http_upstream import HttpUpstream


async def reply(client: StdioClient, line: bytes) -> Message:
    before = len(client.inbox.items)
    await client.write(line + b"\n")
    await client.inbox.reached(lambda: len(client.inbox.items) > before)
    return client.inbox.items[before]


def call(identity: Any, words: str) -> bytes:
    request = {"jsonrpc": "2.0", "id": identity, "method": "tools/call"}
    return json.dumps({**request, "params": {"name": "up__echo", "arguments": {"text": words}}}).encode()


@pytest.mark.parametrize("identity", ["a", "", "7", 0, -1, 2**53 + 1, "\u2028\ud800"])
async def test_ids_come_back_as_they_were(home: Home, control: Control, identity: Any) -> None:
    home.configure({"up": control.server("up")})
    async with home.stdio() as client:
        await client.open()
        await client.tools_with("up__echo")
        answer = await reply(client, call(identity, "x"))
        assert answer["id"] == identity
        assert type(answer["id"]) is type(identity)
        assert text(answer["result"]) == "x"


@pytest.mark.parametrize("identity", ["null", "true", "[1]", "{}", "1.5"])
async def test_what_is_no_id_is_refused(home: Home, identity: str) -> None:
    home.configure({})
    async with home.stdio() as client:
        await client.open()
        answer = await reply(client, b'{"jsonrpc":"2.0","id":%s,"method":"ping"}' % identity.encode())
        assert answer["error"]["code"] == -32600
        assert await client.result("ping") == {}


@pytest.mark.parametrize("upstream", ["stdio", "http"])
async def test_any_text_passes(home: Home, control: Control, upstream: str) -> None:
    words = "\u0000\u001f\u007f\u0085\u2028\u2029\ufeff\ufffe\uffff\U0010ffff \ud800 \udfff\ud800 \\u0041 \r\n\t\"'</b>"
    async with HttpUpstream("up") as web:
        home.configure({"up": control.server("up") if upstream == "stdio" else {"url": web.url}})
        async with home.serve() as gateway, gateway.client(era="modern") as http, home.stdio() as stdio:
            for client in (http, stdio):
                await client.open()
                await client.tools_with("up__echo")
                assert text(await client.call("up__echo", {"text": words})) == words


async def test_line_ends_of_other_systems(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with home.stdio() as client:
        await client.open()
        await client.tools_with("up__echo")
        assert text((await reply(client, call("x", "crlf") + b"\r"))["result"]) == "crlf"
        spaced = b"  \t" + call("y", "spaced") + b"  "
        assert text((await reply(client, spaced))["result"]) == "spaced"
        marked = await reply(client, b"\xef\xbb\xbf" + call("z", "bom"))
        assert "error" in marked or text(marked["result"]) == "bom"


DEEP = 200_000


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        (b"[" * DEEP, {-32700, -32600}),
        (b"[" * DEEP + b"]" * DEEP, {-32700, -32600}),
        (b'{"a":' * DEEP, {-32700, -32600}),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":' + b"9" * 5000 + b"}}", {-32700, None}),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', {-32700, -32600, None}),
        (b'{"jsonrpc":"2.0","id":"n","method":"ping","params":{"n":NaN}}', {-32700, None}),
        (b'{"jsonrpc":"2.0","id":"n","method":"ping","params":{"n":1e999}}', {-32700, None}),
        (b'{"jsonrpc":"2.0","id":"a","id":"b","method":"ping"}', {None}),
        (b"\x00" * 100, {-32700}),
        (b'{"jsonrpc":"2.0","id":"u","method":"' + "\u0000é".encode() + b'"}', {-32601, -32700}),
    ],
)
async def test_what_the_client_may_send(home: Home, line: bytes, codes: set[int | None]) -> None:
    home.configure({})
    async with home.stdio() as client:
        await client.open()
        client._answers.clear()  # every answer goes to the inbox, whatever its id
        answer = await reply(client, line)
        assert answer.get("error", {}).get("code") in codes
        assert await client.result("ping") == {}
        assert client.garbage == []


@pytest.mark.parametrize("depth", [50, 400, 5_000, DEEP])
async def test_deep_answers(home: Home, control: Control, depth: int) -> None:
    """Passed on as far as JSON parsers go, an error beyond; the call ends and the server goes on."""
    home.configure({"up": control.server("up")})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__raw_line")
        nested = "[" * depth + "]" * depth
        line = '{"jsonrpc":"2.0","id":ID,"result":{"content":[],"deep":' + nested + "}}"
        answer = await client.ask("tools/call", {"name": "up__raw_line", "arguments": {"line": line}})
        if depth <= 400:
            assert json.dumps(answer["result"]["deep"], separators=(",", ":")) == nested
        else:
            assert "error" in answer or "result" in answer
        assert text(await client.call("up__echo", {"text": "on"})) == "on"
        assert len(control.seen("start")) == 1


async def test_deep_arguments(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__echo")
        deep: Any = "bottom"
        for _ in range(400):
            deep = [deep]
        await client.call("up__echo", {"text": "x", "deep": deep})
        assert (await control.until("call", tool="echo"))["arguments"]["deep"] == deep


async def test_numbers_too_long_for_python(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__raw_line")
        line = '{"jsonrpc":"2.0","id":ID,"result":{"content":[],"n":' + "9" * 5000 + "}}"
        message = await client.ask("tools/call", {"name": "up__raw_line", "arguments": {"line": line}}, timeout=10)
        assert "error" in message or "result" in message
        assert text(await client.call("up__echo", {"text": "on"})) == "on"
