"""How an upstream tells of changes: by itself in the handshake era, on a listen stream in the modern one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from remora.errors import RemoraError
from remora.gateway import connect
from remora.gateway.wire.link import Exchange, Link, LinkLost

log = logging.getLogger(__name__)
ACKNOWLEDGE_SECONDS = 1.0
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
LISTS = tuple(f"notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources"))
Params = dict[str, Any]


class Notices:
    """`tell` gets each notification; `ready` is how to reach the upstream."""

    def __init__(self, name: str, tell: Callable[[str, Params], None], ready: Callable[[], Awaitable[Link]]) -> None:
        self._name = name
        self._tell = tell
        self._ready = ready
        self._watched: dict[str, int] = {}
        self._listening: asyncio.Task[None] | None = None
        self._acknowledged = asyncio.Event()

    async def begin(self, link: Link) -> None:
        """Before the lists are read, so that what changes in between is not missed."""
        if not link.modern:
            return
        listening = self._listen_on(link)
        acknowledged = asyncio.ensure_future(self._acknowledged.wait())
        await asyncio.wait([acknowledged, listening], timeout=ACKNOWLEDGE_SECONDS, return_when="FIRST_COMPLETED")
        acknowledged.cancel()

    async def renew(self, link: Link) -> None:
        """After a reconnect: a handshake server has forgotten who watches what."""
        for uri in [] if link.modern else list(self._watched):
            try:
                await link.request("resources/subscribe", {"uri": uri}, Exchange())
            except RemoraError as problem:
                log.warning("server %s: cannot subscribe to %s again: %s", self._name, uri, problem)

    async def watch(self, uri: str) -> None:
        self._watched[uri] = self._watched.get(uri, 0) + 1
        if self._watched[uri] == 1:
            await self._say("resources/subscribe", uri)

    async def unwatch(self, uri: str) -> None:
        left = self._watched.get(uri, 0) - 1
        if left > 0:
            self._watched[uri] = left
        elif left == 0:
            del self._watched[uri]
            await self._say("resources/unsubscribe", uri)

    async def _say(self, method: str, uri: str) -> None:
        link = await self._ready()
        if link.modern:
            self._listen_on(link)
        else:
            await link.request(method, {"uri": uri}, Exchange())

    def acknowledged(self) -> None:
        self._acknowledged.set()

    def end(self) -> None:
        if self._listening is not None:
            self._listening.cancel()

    def _listen_on(self, link: Link) -> asyncio.Task[None]:
        self.end()
        self._acknowledged = asyncio.Event()
        self._listening = asyncio.get_running_loop().create_task(self._listen(link))
        return self._listening

    async def _listen(self, link: Link) -> None:
        """One stream; opened again if it breaks while the link lives."""
        wanted: Params = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
        if self._watched:
            wanted["resourceSubscriptions"] = list(self._watched)
        pause = FIRST_PAUSE
        while link.lost is None:
            try:
                await connect.ask(link, "subscriptions/listen", {"notifications": wanted}, Exchange(self._tell))
                return
            except LinkLost:
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                self._tell(LISTS[0], {})  # something may have changed meanwhile
            except RemoraError as problem:
                log.info("server %s: no change notices (%s)", self._name, problem)
                return
