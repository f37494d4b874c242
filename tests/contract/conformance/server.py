"""Run the reference server: `python -m tests.contract.conformance.server --http PORT` or `--stdio [--era legacy]`."""

from __future__ import annotations

import argparse
import asyncio
import socket
import warnings
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.connection import Connection, NotifyOnlyOutbound
from mcp.server.runner import ServerRunner, aclose_shielded, serve_one
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.applications import Starlette
from starlette.routing import Route
from tests.contract.conformance.reference import Reference

ERAS = ("legacy", "modern", "both")
RETRY_MS = 100
LOCAL = ("127.0.0.1", "localhost", "[::1]")


class Events(EventStore):
    """What one session has sent, for clients that come back with `Last-Event-ID`."""

    def __init__(self) -> None:
        self._events: list[tuple[str, types.JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        seen = int(last_event_id)
        if not 0 < seen <= len(self._events):
            return None
        stream_id = self._events[seen - 1][0]
        for number, (stream, message) in enumerate(self._events[seen:], seen + 1):
            if stream == stream_id and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id


class Sessions(StreamableHTTPSessionManager):
    """Gives every session a store of its own: stream ids are request ids, which sessions have in common."""

    @property
    def event_store(self) -> EventStore:
        return Events()

    @event_store.setter
    def event_store(self, store: EventStore | None) -> None:
        """The base class assigns what its caller gave, which is nothing."""


def http_app(server: Reference) -> Starlette:
    security = TransportSecuritySettings(
        allowed_hosts=[f"{host}:*" for host in LOCAL], allowed_origins=[f"http://{host}:*" for host in LOCAL]
    )
    sessions = Sessions(server, retry_interval=RETRY_MS, security_settings=security)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with sessions.run():
            yield

    return Starlette(routes=[Route("/mcp", StreamableHTTPASGIApp(sessions))], lifespan=lifespan)


def serve_http(server: Reference, port: int) -> None:
    """Serve on the loopback interface and print the URL once the port is bound (0 = any free port)."""
    # h11, because httptools leaves the whitespace after a header's value on it
    config = uvicorn.Config(http_app(server), http="h11", log_level="warning", timeout_graceful_shutdown=1)
    with socket.create_server(("127.0.0.1", port)) as bound:
        print(f"http://127.0.0.1:{bound.getsockname()[1]}/mcp", flush=True)
        uvicorn.Server(config).run(sockets=[bound])


def enveloped(params: Mapping[str, Any] | None) -> bool:
    meta = (params or {}).get("_meta")
    return isinstance(meta, Mapping) and types.PROTOCOL_VERSION_META_KEY in meta


async def serve_stdio(server: Reference, era: str) -> None:
    """Serve one pipe, deciding the era by each request; `Server.run` would lock it at the first."""
    async with server.lifespan(server) as state, stdio_server() as (read, write):
        dispatcher = JSONRPCDispatcher[TransportContext](read, write, inline_methods=frozenset({"initialize"}))
        handshake = Connection.for_loop(dispatcher)
        legacy = ServerRunner(server, handshake, state)
        notifications = NotifyOnlyOutbound(dispatcher)

        async def on_request(
            context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
        ) -> dict[str, Any]:
            if era == "modern" and method == "initialize":
                supported = {
                    "supported": list(MODERN_PROTOCOL_VERSIONS),
                    "requested": (params or {})["protocolVersion"],
                }
                raise MCPError(types.UNSUPPORTED_PROTOCOL_VERSION, "This server has no handshake", supported)
            if era == "legacy" or (era == "both" and (method == "initialize" or not enveloped(params))):
                return await legacy.on_request(context, method, params)
            route = classify_inbound_request({"method": method, "params": params})
            if isinstance(route, InboundLadderRejection):
                raise MCPError(route.code, route.message, route.data)
            connection = Connection.from_envelope(
                route.protocol_version, route.client_info, route.client_capabilities, outbound=notifications
            )
            return await serve_one(server, context, method, params, connection=connection, lifespan_state=state)

        async def on_notify(
            context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
        ) -> None:
            if era != "modern":  # the modern revision has no notification that a server acts on
                await legacy.on_notify(context, method, params)

        try:
            await dispatcher.run(on_request, on_notify)
        finally:
            await aclose_shielded(handshake)


def main() -> None:
    warnings.simplefilter("ignore", MCPDeprecationWarning)  # the suite still asks for what is deprecated
    parser = argparse.ArgumentParser(description=__doc__)
    transport = parser.add_mutually_exclusive_group(required=True)
    transport.add_argument("--http", type=int, metavar="PORT", help="serve streamable HTTP (0: any free port)")
    transport.add_argument("--stdio", action="store_true", help="serve stdin and stdout")
    parser.add_argument("--era", choices=ERAS, default="both", help="what --stdio speaks")
    given = parser.parse_args()
    if given.stdio:
        asyncio.run(serve_stdio(Reference(), given.era))
    else:
        serve_http(Reference(), given.http)


if __name__ == "__main__":
    main()
