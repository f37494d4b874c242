"""The four ways to stand before the gateway, as one context manager; and comparisons between what came by two ways."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.support.client import CAPABILITIES_KEY, EVERYTHING, INFO_KEY, VERSION_KEY, Client, Message, StdioClient
from tests.support.control import UPSTREAM
from tests.support.home import Home

FRONTS = ["stdio-handshake", "stdio-modern", "http-handshake", "http-modern"]
ERAS = ["handshake", "modern", "dual"]
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
ENVELOPE = {"resultType", "ttlMs", "cacheScope"}


def user(home: Home) -> dict[str, Any]:
    """Options of a client that can be asked for everything."""
    answers = {
        "elicitation/create": lambda _: {"action": "accept", "content": {"answer": "me"}, "x-vendor": {"kept": 1}},
        "sampling/createMessage": lambda _: {
            "role": "assistant",
            "content": {"type": "text", "text": "4", "x-vendor": 1},
            "model": "m",
            "stopReason": "endTurn",
            "x-vendor": [None],
        },
        "roots/list": lambda _: {"roots": [{"uri": home.cwd.as_uri(), "name": "work"}]},
    }
    return {"capabilities": EVERYTHING, "handlers": answers}


@asynccontextmanager
async def front(home: Home, kind: str, query: str = "", **options: Any) -> AsyncIterator[Client]:
    """A client that has greeted the gateway; `kind` is one of FRONTS."""
    transport, era = kind.split("-")
    if transport == "stdio":
        async with home.stdio(era=era, **options) as client:
            await client.open()
            yield client
    else:
        async with home.serve() as gateway, gateway.client(query, era=era, **options) as client:
            await client.open()
            yield client


def direct(name: str, *arguments: str, **options: Any) -> StdioClient:
    """A client of the scripted upstream itself, without a gateway."""
    return StdioClient([sys.executable, str(UPSTREAM), name, *arguments], **options)


def bare(result: Any) -> Any:
    """A result without what belongs to the modern era alone."""
    if not isinstance(result, dict):
        return result
    left = {key: value for key, value in result.items() if key not in ENVELOPE}
    if "_meta" in left:
        left["_meta"] = {key: value for key, value in left["_meta"].items() if key != SERVER_KEY}
        if not left["_meta"]:
            del left["_meta"]
    return left


def own_meta(meta: Message) -> Message:
    """Request metadata without the three envelope keys and the progress token, which every hop sets anew."""
    hop = {VERSION_KEY, INFO_KEY, CAPABILITIES_KEY, "progressToken"}
    return {key: value for key, value in meta.items() if key not in hop}


def same(one: Any, other: Any) -> bool:
    """Equal as JSON, members in the same order."""
    return json.dumps(one) == json.dumps(other)
