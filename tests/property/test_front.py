"""Random JSON-RPC thrown at both doors: every request gets one answer, and the gateway stays up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.client import CAPABILITIES_KEY, HANDSHAKE, INFO_KEY, MODERN, VERSION_KEY, StdioClient
from tests.support.control import Control
from tests.support.home import Gateway, Home
from tests.support.http_client import ACCEPT

METHODS = [
    "initialize", "server/discover", "ping", "tools/list", "tools/call", "resources/list", "resources/read",
    "resources/templates/list", "resources/subscribe", "resources/unsubscribe", "prompts/list", "prompts/get",
    "completion/complete", "logging/setLevel", "subscriptions/listen", "tasks/get", "roots/list", "",
    "sampling/createMessage", "notifications/initialized", "notifications/cancelled", "notifications/progress",
    "notifications/roots/list_changed", "notifications/message", "rpc.discover",
]  # fmt: skip
KEYS = [
    "name", "arguments", "uri", "cursor", "ref", "argument", "level", "protocolVersion", "capabilities", "clientInfo",
    "_meta", "progressToken", "requestId", "requestState", "inputResponses", "notifications", "type", "value",
    "resourceSubscriptions", "toolsListChanged", VERSION_KEY, INFO_KEY, CAPABILITIES_KEY, "action",
]  # fmt: skip
WORDS = [
    "up__echo", "up__greet", "remora", "up__", "echo", "test://up/a", "test://up/item/1", "rem://up/x", "ref/prompt",
    "ref/resource", "debug", "health", HANDSHAKE, MODERN, "2030-01-01", "", "\u0000", "\u2028", "../../etc",
]  # fmt: skip

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(WORDS)
    | st.text(max_size=20)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=8), inner, max_size=5)
    ),
    max_leaves=12,
)
envelopes = st.fixed_dictionaries(
    {VERSION_KEY: st.sampled_from([MODERN, MODERN, MODERN, "2031-01-01", 5])},
    optional={INFO_KEY: values, CAPABILITIES_KEY: values, "progressToken": values},
)
params = st.dictionaries(st.sampled_from(KEYS), values, max_size=5)
params_with_envelope = st.builds(lambda given, meta: {**given, "_meta": meta}, params, envelopes)
messages = st.fixed_dictionaries(
    {"method": st.sampled_from(METHODS) | st.text(max_size=12)},
    optional={"jsonrpc": st.sampled_from(["2.0", "2.0", "1.0", 2]), "params": params | params_with_envelope | values},
)
replies = st.fixed_dictionaries({}, optional={"id": scalars, "result": values, "error": values, "jsonrpc": scalars})
lines = (
    messages.map(lambda message: json.dumps(message).encode())
    | replies.map(lambda message: json.dumps(message).encode())
    | values.map(lambda value: json.dumps(value).encode())
    | st.binary(max_size=60).map(lambda data: data.replace(b"\n", b"").replace(b"\r", b""))
)
SETTINGS = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


class Running:
    """One loop, one gateway behind each door, for all examples of a test."""

    def __init__(self, folder: Path) -> None:
        self.home, self.runner, self.stack = Home(folder), asyncio.Runner(), AsyncExitStack()

    def __enter__(self) -> Running:
        self.runner.run(self._start())
        return self

    async def _start(self) -> None:
        control = await self.stack.enter_async_context(Control())
        self.home.configure({"up": control.server("up")})
        self.stdio: StdioClient = await self.stack.enter_async_context(self.home.stdio())
        await self.stdio.open()
        await self.stdio.tools_with("up__echo")

    async def serve(self) -> Gateway:
        return await self.stack.enter_async_context(self.home.serve())

    def __exit__(self, *_: object) -> None:
        self.runner.run(self.stack.aclose())
        self.runner.close()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with Running(tmp_path) as made:
        yield made


def test_the_stdio_door_stays_up(running: Running) -> None:
    client = running.stdio

    async def throw(batch: list[bytes], requests: list[dict[str, Any]]) -> None:
        for line in batch:
            await client.write(line + b"\n")
        sent = []
        for request in requests:
            client._last_id += 1
            client._answers[client._last_id] = asyncio.get_running_loop().create_future()
            sent.append(client._last_id)
            await client.deliver({"jsonrpc": "2.0", **request, "id": client._last_id})
        for identity, request in zip(sent, requests, strict=True):
            if request.get("method") == "subscriptions/listen":
                await client.cancel(identity)  # an open stream has no answer, by design
                continue
            answer = await client.answer(identity)
            assert ("result" in answer) != ("error" in answer)
            if "error" in answer:
                assert isinstance(answer["error"]["code"], int)
                assert isinstance(answer["error"]["message"], str)
        assert await client.result("ping") == {}
        assert client.garbage == []
        assert not client.inbox.find(lambda message: "answered twice" in message)
        client.inbox.items.clear()

    @SETTINGS
    @given(st.lists(lines, max_size=6), st.lists(messages, max_size=4))
    def throws(batch: list[bytes], requests: list[dict[str, Any]]) -> None:
        running.runner.run(throw(batch, requests))

    throws()

    async def works_still() -> None:
        await client.open()
        assert (await client.call("up__echo", {"text": "alive"}))["content"][0]["text"] == "alive"

    running.runner.run(works_still())


header_values = st.sampled_from(["", MODERN, HANDSHAKE, "2031-01-01", "tools/call", "up__echo", "=?base64?x?=", "\xff"])
QUERIES = ["", "", "?catalog=lazy", "?catalog=odd", "?project=/nowhere", "?project=%00", "?profile=x", "?a=b&a=c"]
header_names = ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id", "Last-Event-ID", "Accept"]


def test_the_http_door_stays_up(running: Running) -> None:
    gateway = running.runner.run(running.serve())
    http = httpx2.AsyncClient(trust_env=False, timeout=httpx2.Timeout(20))

    async def throw(verb: str, body: bytes, headers: dict[str, str], query: str) -> None:
        own = {"Authorization": f"Bearer {gateway.token}", "Accept": ACCEPT, "Content-Type": "application/json"}
        sent = {**own, **headers}
        async with http.stream(
            verb, gateway.url + query, content=body, headers=[(k, v.encode("latin-1")) for k, v in sent.items()]
        ) as answer:
            assert answer.status_code < 500 or answer.status_code == 503
            if not answer.headers.get("content-type", "").startswith("text/event-stream"):
                await answer.aread()  # streams are left in the middle
        health = await http.get(f"{gateway.root}/health")
        assert health.json() == {"status": "ok"}

    @SETTINGS
    @given(
        st.sampled_from(["POST", "POST", "POST", "GET", "DELETE", "PUT"]),
        st.builds(lambda message, identity: json.dumps({**message, "id": identity}).encode(), messages, values) | lines,
        st.dictionaries(st.sampled_from(header_names), header_values, max_size=4),
        st.sampled_from(
            ["", "", "?catalog=lazy", "?catalog=odd", "?project=/nowhere", "?project=%00", "?profile=x", "?a=b"]
        ),
    )
    def throws(verb: str, body: bytes, headers: dict[str, str], query: str) -> None:
        running.runner.run(throw(verb, body, headers, query))

    throws()

    async def works_still() -> None:
        await http.aclose()
        async with gateway.client() as client:
            await client.open()
            await client.tools_with("up__echo")
            assert (await client.call("up__echo", {"text": "alive"}))["content"][0]["text"] == "alive"

    running.runner.run(works_still())
