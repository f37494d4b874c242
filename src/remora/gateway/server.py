"""One configured server: its manifest, and one upstream per scope (shared, per project or per session)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

from remora.config.expand import uses_project
from remora.config.model import ServerConfig
from remora.gateway.connect import Surroundings
from remora.gateway.manifest import Manifest, fingerprint
from remora.gateway.session import Session
from remora.gateway.upstream import Host, Upstream

# A change of one of these needs a new connection; every other key applies to the next call.
CONNECTION = ("transport", "command", "args", "env", "cwd", "url", "headers", "auth", "tls_verify", "ca_file", "era",
              "scope", "back_channel", "env_inherit", "allow_dangerous_env", "max_message_bytes",
              "resources", "prompts")  # fmt: skip
DISCOVERY = "discovery"


class Server:
    def __init__(
        self, name: str, prefix: str, settings: ServerConfig, around: Callable[[Path | None], Surroundings], host: Host
    ) -> None:
        self.name = name
        self.prefix = prefix
        self.settings = settings
        self.fingerprint = fingerprint(settings)
        self.manifest: Manifest | None = None
        self.instances: dict[str, Upstream] = {}
        self.settled = asyncio.Event()  # connected or failed once: the first listing waits for this
        self._around = around
        self._host = host

    @property
    def scope(self) -> str:
        if self.settings.scope != "auto":
            return self.settings.scope
        values = (self.settings.command, *self.settings.args, *self.settings.env.values(), self.settings.cwd,
                  self.settings.url, *self.settings.headers.values())  # fmt: skip
        if uses_project(values):
            return "project"
        return "session" if self.settings.back_channel else "shared"

    def upstream(self, session: Session | None) -> Upstream:
        """The connection that serves this session."""
        project = session.view.project if session is not None else None
        match self.scope:
            case "project":
                key, root = f"project {project}", project
            case "session":
                key, root = f"session {session.id if session else ''}", project
            case _:
                key, root = "shared", None
        found = self.instances.get(key)
        if found is None:
            found = Upstream(self.name, self.settings, self._around(root), self._host, self.manifest)
            self.instances[key] = found
        return found

    def discover(self) -> None:
        """Start it now: to learn what it offers, or because it is to run from the beginning."""
        if self.scope == "shared" or not self.instances:
            self.upstream(None).want()

    async def end_session(self, session: Session) -> None:
        if gone := self.instances.pop(f"session {session.id}", None):
            await gone.stop()

    def reconfigure(self, settings: ServerConfig) -> bool:
        """Take over new settings; False if they need a new connection."""
        if any(getattr(settings, key) != getattr(self.settings, key) for key in CONNECTION):
            return False
        self.settings = settings
        for upstream in self.instances.values():
            upstream.reconfigure(settings)
        return True

    async def retire(self) -> None:
        """Let calls in flight finish, then stop."""
        await stop_all(self.instances.values(), drain=self.settings.overall_deadline_seconds)

    async def stop(self) -> None:
        await stop_all(self.instances.values())


async def stop_all(upstreams: Iterable[Upstream], drain: float = 0.0) -> None:
    async def end(upstream: Upstream) -> None:
        if drain:
            await upstream.drain(drain)
        await upstream.stop()

    await asyncio.gather(*(end(upstream) for upstream in list(upstreams)))
