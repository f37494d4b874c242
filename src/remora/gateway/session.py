"""One agent's connection: who asks, in which era, and how to reach it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

Params = dict[str, Any]
Scope = Literal["read", "write", "admin"]
LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


@dataclass(frozen=True, slots=True)
class Principal:
    """Who a caller is, as far as anybody vouches for it."""

    name: str
    scope: Scope


LOCAL_USER = Principal("local", "admin")


@dataclass(frozen=True, slots=True)
class Caller:
    """What one request says about its client; the same for a whole session in the handshake era."""

    modern: bool
    version: str
    client: Params = field(default_factory=dict)
    capabilities: Params = field(default_factory=dict)
    log_level: str | None = None


@dataclass(frozen=True, slots=True)
class ViewKey:
    """All that decides what a session may see."""

    profile: str = ""
    project: Path | None = None
    catalog: str = ""


@dataclass(slots=True, eq=False)
class Session:
    door: Literal["stdio", "http", "in_process"]
    principal: Principal = LOCAL_USER
    view: ViewKey = ViewKey()
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    key: str = ""
    caller: Caller | None = None
    log_level: str | None = None
    initialized: bool = False
    listed: bool = False  # before the first listing a change is no news
    created: float = field(default_factory=time.time)
    last_seen: float = field(default_factory=time.time)
    # The standing stream: messages that belong to no request. None where there is no such stream.
    standing: Callable[[str, Params], None] | None = None

    @property
    def client_name(self) -> str:
        name = (self.caller.client if self.caller else {}).get("name")
        return name if isinstance(name, str) else ""


class Front(Protocol):
    """One request of a client, and the way back to it."""

    session: Session
    caller: Caller
    request_id: Any

    def notify(self, method: str, params: Params) -> None:
        """On the stream of this request."""

    async def ask(self, method: str, params: Params) -> Params:
        """A request to the client (handshake era only); raises RpcError."""

    def close_stream(self) -> None:
        """Ask the client to poll for the answer, where the door can do that."""


def wanted(level: Any, threshold: str | None) -> bool:
    """Whether a log message passes; a level nobody knows passes."""
    if threshold is None:
        return False
    return level not in LOG_LEVELS or LOG_LEVELS.index(level) >= LOG_LEVELS.index(threshold)
