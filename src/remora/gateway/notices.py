"""How an upstream tells of changes: by itself in the handshake era, on a listen stream in the modern one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from remora.errors import RemoraError, RpcError
from remora.gateway import connect
from remora.gateway.wire.link import Exchange, Link

log = logging.getLogger(__name__)
ACKNOWLEDGE_SECONDS = 1.0
UNWATCH_SECONDS = 5.0
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
LISTS = tuple(f"notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources"))
Params = dict[str, Any]


class Notices:
    """`tell` gets each notification; `ready` is how to reach the upstream."""

    def __init__(
        self,
        name: str,
        tell: Callable[[str, Params], None],
        ready: Callable[[], Awaitable[Link]],
        live: Callable[[], Link | None],
    ) -> None:
        self._name = name
        self._live = live
        self._tell = tell
        self._ready = ready
        self._watched: dict[str, int] = {}
        self._listening: asyncio.Task[None] | None = None
        self._acknowledged = asyncio.Event()

    async def begin(self, link: Link) -> None:
        """Before the lists are read, so that what changes in between is not missed."""
        if not link.modern:
            return
        await self._listen_on(link)

    async def renew(self, link: Link) -> None:
        """After a reconnect: a handshake server has forgotten who watches what."""
        for uri in [] if link.modern else list(self._watched):
            try:
                await link.request("resources/subscribe", {"uri": uri}, Exchange())
            except RemoraError as problem:
                log.warning("server %s: cannot subscribe to %s again: %s", self._name, uri, problem)

    async def watch(self, uri: str) -> None:
        first = uri not in self._watched
        self._watched[uri] = self._watched.get(uri, 0) + 1
        if first:
            try:
                await self._say(await self._ready(), "resources/subscribe", uri)
            except BaseException:
                self._watched.pop(uri, None)  # refused: the next one asks again
                raise

    async def unwatch(self, uri: str) -> None:
        left = self._watched.get(uri, 0) - 1
        if left > 0:
            self._watched[uri] = left
        elif left == 0:
            del self._watched[uri]
            if (link := self._live()) is not None:  # a server that is away has nothing to forget
                try:
                    async with asyncio.timeout(UNWATCH_SECONDS):
                        await self._say(link, "resources/unsubscribe", uri)
                except (RemoraError, TimeoutError) as problem:
                    log.info("server %s: cannot unsubscribe from %s: %s", self._name, uri, problem)

    async def _say(self, link: Link, method: str, uri: str) -> None:
        if link.modern:
            await self._listen_on(link)
        else:
            await link.request(method, {"uri": uri}, Exchange())

    def acknowledged(self) -> None:
        self._acknowledged.set()

    def end(self) -> None:
        if self._listening is not None:
            self._listening.cancel()

    async def _listen_on(self, link: Link) -> None:
        """Another stream for what is wanted now; the one before ends only when it stands, so that nothing is missed."""
        before = self._listening
        self._acknowledged = asyncio.Event()
        self._listening = listening = asyncio.get_running_loop().create_task(self._listen(link))
        acknowledged = asyncio.ensure_future(self._acknowledged.wait())
        try:
            await asyncio.wait([acknowledged, listening], timeout=ACKNOWLEDGE_SECONDS, return_when="FIRST_COMPLETED")
        finally:
            acknowledged.cancel()
            if before is not None:
                before.cancel()

    async def _listen(self, link: Link) -> None:
        """One stream; opened again if it breaks while the link lives."""
        wanted: Params = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
        if self._watched:
            wanted["resourceSubscriptions"] = list(self._watched)
        pause = FIRST_PAUSE
        while link.lost is None:
            try:
                await connect.ask(link, "subscriptions/listen", {"notifications": wanted}, Exchange(self._tell))
            except RpcError as problem:
                log.info("server %s: no change notices (%s)", self._name, problem)
                return
            except RemoraError as problem:
                log.debug("server %s: its change notices broke off (%s)", self._name, problem)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
            self._tell(LISTS[0], {})  # something may have changed meanwhile
