"""One configured server: its manifest, and one upstream per scope (shared, per project or per session)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

from remora.config.expand import uses_project
from remora.config.model import ServerConfig
from remora.errors import UpstreamError
from remora.gateway.connect import Surroundings
from remora.gateway.manifest import Manifest, fingerprint
from remora.gateway.session import Caller, Session
from remora.gateway.upstream import Host, Upstream

# A change of one of these needs a new connection; every other key applies to the next call.
CONNECTION = ("transport", "command", "args", "env", "cwd", "url", "headers", "auth", "tls_verify", "ca_file", "era",
              "scope", "back_channel", "env_inherit", "allow_dangerous_env", "max_message_bytes",
              "resources", "prompts")  # fmt: skip


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
        self.one_era = False  # it turned out to speak the modern era alone; asked again when it is connected anew

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
        key, root = self._key(session)
        if key not in self.instances:
            self.instances[key] = Upstream(self.name, self.settings, self._around(root), self._host, self.manifest)
        return self.instances[key]

    async def upstream_for(self, session: Session, caller: Caller) -> Upstream:
        """Like `upstream`; a server that speaks both eras over HTTP is spoken to in the caller's own.

        Nothing is translated then, and what only the handshake era has (such as polling) works end to end.
        """
        usual = self.upstream(session)
        if caller.modern or self.one_era or self.settings.kind != "http" or self.settings.era != "auto":
            return usual
        if self.manifest is None or not self.manifest.modern:
            return usual
        key, root = self._key(session)
        mirror = self.instances.get(f"handshake {key}")
        if mirror is None:
            settings = self.settings.model_copy(update={"era": "legacy"})
            mirror = Upstream(self.name, settings, self._around(root), self._host, None, mirror=True)
            self.instances[f"handshake {key}"] = mirror
        try:
            await mirror.ready_link()
            return mirror
        except UpstreamError:
            self.one_era = True
            await self.instances.pop(f"handshake {key}", mirror).stop()
            return usual

    def _key(self, session: Session | None) -> tuple[str, Path | None]:
        project = session.view.project if session is not None else None
        match self.scope:
            case "project":
                return f"project {project}", project
            case "session":
                return f"session {session.id if session else ''}", project
            case _:
                return "shared", None

    def discover(self) -> None:
        """Start it now: to learn what it offers, or because it is to run from the beginning."""
        if self.scope != "project":
            self.upstream(None).want()

    def drop_discovery(self, upstream: Upstream) -> bool:
        """Whether this connection belongs to no session; if so it is forgotten."""
        key, _ = self._key(None)
        return self.instances.get(key) is upstream and self.instances.pop(key) is upstream

    async def end_session(self, session: Session) -> None:
        for key in (f"session {session.id}", f"handshake session {session.id}"):
            if gone := self.instances.pop(key, None):
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
