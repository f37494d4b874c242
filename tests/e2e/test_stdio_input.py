"""Order and malformed input on the stdio door: each bad line gets its error, and the pipe goes on working."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.client import MODERN, VERSION_KEY, Failure, Message, StdioClient, text
from tests.support.control import Control
from tests.support.fronts import front
from tests.support.home import Home


async def reply(client: StdioClient, line: bytes, identity: Any = None) -> Message:
    """What comes back to a line written as it is, under an id of our own choice."""
    before = len(client.inbox.items)
    await client.write(line + b"\n")
    await client.inbox.reached(lambda: len(client.inbox.items) > before)
    message = client.inbox.items[before]
    assert message.get("id") == identity
    return message


BAD_LINES = [
    (b"{not json", -32700, None),
    (b"\xff\xfe\x00", -32700, None),
    (b'{"jsonrpc":"2.0","id":"cut","method":', -32700, None),
    (b'[{"jsonrpc":"2.0","id":"b","method":"ping"}]', -32600, None),
    (b"[]", -32600, None),
    (b"42", -32600, None),
    (b'"words"', -32600, None),
    (b"null", -32600, None),
    (b'{"jsonrpc":"2.0","id":"x","method":"no/such/method"}', -32601, "x"),
    (b'{"jsonrpc":"2.0","id":"x","method":5}', -32600, "x"),
    (b'{"jsonrpc":"2.0","id":"x","method":"tools/call"}', -32602, "x"),
    (b'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":[1]}', -32602, "x"),
    (b'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":5}}', -32602, "x"),
    (b'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"up__echo","arguments":"a"}}', -32602, "x"),
    (b'{"jsonrpc":"2.0","id":"x","method":"resources/read","params":{}}', -32602, "x"),
    (b'{"jsonrpc":"2.0","id":"x","method":"prompts/get","params":{"name":null}}', -32602, "x"),
    (b'{"jsonrpc":"2.0","id":"x","method":"completion/complete","params":{"ref":{"type":"odd"}}}', -32602, "x"),
    (b'{"jsonrpc":"2.0","id":"x","method":"logging/setLevel","params":{"level":"loud"}}', -32602, "x"),
    (b'{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{"cursor":"bogus"}}', -32602, "x"),
    (b'{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{"cursor":7}}', -32602, "x"),
]


async def test_each_bad_line_gets_its_error_and_the_pipe_goes_on(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with home.stdio() as client:
        await client.open()
        await client.tools_with("up__echo")
        for line, code, identity in BAD_LINES:
            assert (await reply(client, line, identity))["error"]["code"] == code, line
        assert text(await client.call("up__echo", {"text": "on"})) == "on"


@pytest.mark.parametrize(
    ("params", "field"),
    [({}, "name"), ({"name": 5}, "name"), ({"name": "up__echo", "arguments": []}, "arguments")],
)
async def test_wrong_params_are_named(home: Home, params: Message, field: str) -> None:
    home.configure({})
    async with front(home, "stdio-handshake") as client:
        with pytest.raises(Failure, match=field) as failure:
            await client.result("tools/call", params)
        assert failure.value.code == -32602


async def test_what_needs_no_answer_gets_none(home: Home) -> None:
    home.configure({})
    async with home.stdio() as client:
        await client.open()
        for line in (
            b"",
            b"   ",
            b'{"jsonrpc":"2.0","method":"notifications/unheard-of","params":{"a":1}}',
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never"}}',
            b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
            b'{"jsonrpc":"2.0","id":"nobody-asked","result":{}}',
            b'{"jsonrpc":"2.0","id":"nobody-asked","error":{"code":1,"message":"x"}}',
        ):
            await client.write(line + b"\n")
        assert await client.result("ping") == {}
        assert client.inbox.items == []


async def test_a_line_of_5_mb_is_fine(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")}, pipeline={"enabled": False})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__echo")
        assert len(text(await client.call("up__echo", {"text": "m" * 5_000_000}))) == 5_000_000


async def test_a_line_over_64_mib_is_refused_and_ends_the_connection(home: Home) -> None:
    home.configure({})
    async with home.stdio() as client:
        await client.open()
        block = b"x" * 2**20
        for _ in range(65):
            await client.write(block)
        await client.inbox.until(lambda message: "error" in message and message.get("id") is None)
        assert await client.end() == 0


async def test_before_the_greeting_only_ping_is_answered(home: Home) -> None:
    home.configure({})
    async with home.stdio() as client:
        assert await client.result("ping") == {}
        for method in ("tools/list", "tools/call", "resources/list"):
            with pytest.raises(Failure) as failure:
                await client.result(method, {"name": "x"})
            assert failure.value.code == -32600
        await client.open()
        await client.result("tools/list")


async def test_both_eras_share_one_pipe_in_any_order(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with home.stdio(era="modern") as client:
        discovered = await client.open()
        assert MODERN in discovered["supportedVersions"]
        modern = await client.tools_with("up__echo")
        client.era, client.version = "handshake", "2025-11-25"
        greeting = await client.open()
        assert greeting["protocolVersion"] == "2025-11-25"
        assert (await client.tools()).keys() == modern.keys()
        client.era, client.version = "modern", MODERN
        assert (await client.open())["supportedVersions"] == discovered["supportedVersions"]
        assert text(await client.call("up__echo", {"text": "modern"})) == "modern"
        client.era, client.version = "handshake", "2025-06-18"
        assert (await client.open())["protocolVersion"] == "2025-06-18"  # a second initialize starts anew
        assert text(await client.call("up__echo", {"text": "handshake"})) == "handshake"


@pytest.mark.parametrize(
    ("asked", "offered"),
    [(version, version) for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")]
    + [("1999-01-01", "2025-11-25"), ("2031-12-31", "2025-11-25"), (MODERN, "2025-11-25")],
)
async def test_handshake_versions(home: Home, asked: str, offered: str) -> None:
    home.configure({})
    async with home.stdio(version=asked) as client:
        assert (await client.open())["protocolVersion"] == offered
        assert "remora" in await client.tools()


async def test_an_unknown_modern_version_is_told_the_known_ones(home: Home) -> None:
    home.configure({})
    async with home.stdio(era="modern") as client:
        for method in ("server/discover", "tools/list"):
            with pytest.raises(Failure) as failure:
                await client.result(method, meta={VERSION_KEY: "2031-01-01"})
            assert failure.value.code == -32022
            assert MODERN in failure.value.data["supported"]
            assert failure.value.data["requested"] == "2031-01-01"
        assert "remora" in await client.tools()


async def test_two_equal_lists_are_equal_bytes(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up"), "other": control.server("other")})
    async with home.stdio() as client:
        await client.open()
        await client.tools_with("up__echo", "other__echo")
        for method in ("tools/list", "resources/list", "prompts/list"):
            lines = []
            for _ in range(2):
                request = {"jsonrpc": "2.0", "id": "same", "method": method}
                await reply(client, json.dumps(request).encode(), "same")
                lines.append(client.raw["same"])
            assert lines[0] == lines[1]
