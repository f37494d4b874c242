"""Stand-ins for what surrounds a part of the gateway: links, hosts, fronts, servers and their manifests."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from remora.config.model import ServerConfig
from remora.errors import RpcError
from remora.gateway.catalog import Catalog, Source
from remora.gateway.manifest import Manifest, fingerprint
from remora.gateway.session import Caller, Session
from remora.gateway.wire import jsonrpc
from remora.gateway.wire.link import Exchange

Params = dict[str, Any]
HANDSHAKE = Caller(False, "2025-11-25", {"name": "tester", "version": "1"}, {})
MODERN = Caller(True, "2026-07-28", {"name": "tester", "version": "1"}, {})
SETTINGS = ServerConfig(command="server")


async def settle() -> None:
    """Let every task run until it waits for something that is not there yet."""
    for _ in range(20):
        await asyncio.sleep(0)


class FakeLink:
    """A connection that answers from a table: a result, an exception, or what makes one of (params, exchange)."""

    def __init__(self, *, modern: bool = False, answers: Params | None = None) -> None:
        self.modern = modern
        self.version = "2026-07-28" if modern else "2025-11-25"
        self.lost: str | None = None
        self.closed = False
        self.answers = answers or {}
        self.sent: list[tuple[str, Any]] = []
        self.notified: list[tuple[str, Any]] = []

    async def request(self, method: str, params: Params | None, exchange: Exchange) -> Params:
        self.sent.append((method, params))
        answer = self.answers.get(method, RpcError(jsonrpc.METHOD_NOT_FOUND, f"no {method} here"))
        if callable(answer):
            answer = answer(params, exchange)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def notify(self, method: str, params: Params | None = None) -> None:
        self.notified.append((method, params))

    async def close(self) -> None:
        self.closed = True

    def methods(self) -> list[str]:
        return [method for method, _ in self.sent]


class Events:
    """What a link tells its owner."""

    def __init__(self, answer: Callable[[str, Params], Any] | None = None) -> None:
        self.notified: list[tuple[str, Params]] = []
        self.asked: list[tuple[str, Params]] = []
        self.lost: list[str] = []
        self._answer = answer

    def link_notified(self, method: str, params: Params) -> None:
        self.notified.append((method, params))

    async def link_asked(self, method: str, params: Params) -> Params:
        self.asked.append((method, params))
        if self._answer is None:
            raise RpcError(jsonrpc.METHOD_NOT_FOUND, "nobody to ask")
        answer = self._answer(method, params)
        return await answer if inspect.isawaitable(answer) else answer

    def link_lost(self, reason: str) -> None:
        self.lost.append(reason)


class FakeFront:
    """One request of a client, and what was said to it."""

    def __init__(self, caller: Caller = HANDSHAKE, session: Session | None = None, answers: Params | None = None):
        self.session = session or Session("in_process", caller=None if caller.modern else caller)
        self.caller = caller
        self.request_id = 1
        self.notified: list[tuple[str, Params]] = []
        self.asked: list[tuple[str, Params]] = []
        self.answers = answers or {}
        self.polled = 0

    def notify(self, method: str, params: Params) -> None:
        self.notified.append((method, params))

    async def ask(self, method: str, params: Params) -> Params:
        self.asked.append((method, params))
        return self.answers[method]

    def close_stream(self) -> None:
        self.polled += 1


def tool(name: str, **definition: Any) -> Params:
    return {"name": name, "description": f"The tool {name}.", "inputSchema": {"type": "object"}, **definition}


def manifest(settings: ServerConfig = SETTINGS, **fields: Any) -> Manifest:
    made = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
    return Manifest(**{"fingerprint": fingerprint(settings), "modern": False, "version": "2025-11-25", **made})


def source(name: str = "up", settings: ServerConfig = SETTINGS, **lists: Any) -> Source:
    return Source(name, name, settings, manifest(settings, **lists))


def catalog(*sources: Source, client_names: tuple[str, ...] = ("rem",)) -> Catalog:
    return Catalog(sources, client_names, ("remora",))
