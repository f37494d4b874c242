"""Who wants to hear of changes: handshake sessions, and `subscriptions/listen` streams of modern clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from remora.gateway.session import Params, Session
from remora.gateway.upstream import Upstream

KINDS = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}


@dataclass(slots=True, eq=False)
class Listener:
    session: Session
    send: Callable[[str, Params], None]
    kinds: frozenset[str]
    # Served URI → the upstream that watches it for us and what it is called there.
    watched: dict[str, tuple[Upstream, str]] = field(default_factory=dict)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def watch(self, served: str, upstream: Upstream, original: str) -> None:
        if served not in self.watched:
            await upstream.notices.watch(original)
            self.watched[served] = (upstream, original)

    async def unwatch(self, served: str) -> None:
        if found := self.watched.pop(served, None):
            upstream, original = found
            await upstream.notices.unwatch(original)

    def tell_changed(self, kinds: set[str]) -> None:
        if self.send is self.session.standing and not self.session.listed:
            return
        for kind in KINDS:
            if kind in kinds and kind in self.kinds:
                self.send(f"notifications/{kind}/list_changed", {})

    def tell_updated(self, upstream: Upstream, params: Params) -> None:
        for served, (watched, original) in self.watched.items():
            if watched is upstream and original == params.get("uri"):
                self.send("notifications/resources/updated", {**params, "uri": served})


class Listeners:
    def __init__(self) -> None:
        self.all: set[Listener] = set()

    def add(self, session: Session, send: Callable[[str, Params], None], kinds: frozenset[str]) -> Listener:
        listener = Listener(session, send, kinds)
        self.all.add(listener)
        return listener

    async def remove(self, listener: Listener) -> None:
        self.all.discard(listener)
        for served in list(listener.watched):
            await listener.unwatch(served)

    def of(self, session: Session) -> Listener | None:
        return next((one for one in self.all if one.session is session and one.send is session.standing), None)

    def close(self) -> None:
        """Listen streams end with their result."""
        for listener in self.all:
            listener.ended.set()


def honoured(requested: Any) -> Params:
    """The part of a subscription filter that we serve."""
    if not isinstance(requested, dict):
        return {}
    made: Params = {key: True for key in KINDS.values() if requested.get(key) is True}
    uris = requested.get("resourceSubscriptions")
    if isinstance(uris, list) and (wanted := [uri for uri in uris if isinstance(uri, str)]):
        made["resourceSubscriptions"] = wanted
    return made
