"""What the gateway sees of a connection to an upstream, whatever carries it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from remora.errors import UpstreamError


class Exchange:
    """One request to an upstream and what belongs to it while it runs: progress, messages, questions back."""

    __slots__ = ("on_notify", "on_question", "on_stream_closed", "progress_token", "schema", "sent")

    def __init__(
        self,
        on_notify: Callable[[str, dict[str, Any]], None] | None = None,
        on_question: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]] | None = None,
        on_stream_closed: Callable[[], None] | None = None,
    ) -> None:
        self.on_notify = on_notify
        self.on_question = on_question
        self.on_stream_closed = on_stream_closed
        self.progress_token: str | int | None = None  # the front's own; set = progress is wanted
        self.schema: Any = None  # the called tool's input schema: modern HTTP repeats some arguments in headers
        self.sent = False


class LinkEvents(Protocol):
    """What a link tells its owner apart from answers."""

    def link_notified(self, method: str, params: dict[str, Any]) -> None: ...

    async def link_asked(self, method: str, params: dict[str, Any]) -> dict[str, Any]: ...

    def link_lost(self, reason: str) -> None: ...


class Link(Protocol):
    """A live connection. `request` raises RpcError (the upstream's own), NotSent, LinkLost or ResultTooLarge."""

    modern: bool
    version: str

    @property
    def lost(self) -> str | None:
        """Why the connection is gone, or None while it lives."""

    async def request(self, method: str, params: dict[str, Any] | None, exchange: Exchange) -> dict[str, Any]: ...

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None: ...

    async def close(self) -> None: ...


class LinkLost(UpstreamError):
    """The connection ended while the request was under way: whether it ran is not known."""


class TryOnceMore(UpstreamError):
    """The server says it did not take the request (429, or a session it no longer knows)."""


class LoginNeeded(UpstreamError):
    """HTTP 401 or 403."""


class NotFoundHere(UpstreamError):
    """HTTP 404 or 405 at connect: perhaps the older HTTP+SSE transport lives here."""
