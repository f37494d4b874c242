"""The gateway itself: servers, sessions, and the catalog between them. Nothing here knows which door a request used."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from weakref import WeakSet

from remora.config.load import Loaded
from remora.config.model import Config, ProfileConfig
from remora.errors import ConfigError, RpcError
from remora.gateway import compat, methods
from remora.gateway import view as views
from remora.gateway.cache.cache import ResponseCache
from remora.gateway.catalog import Catalog, Entry, Source
from remora.gateway.children import Children
from remora.gateway.connect import Surroundings
from remora.gateway.listeners import KINDS, Listener, Listeners
from remora.gateway.manifest import Manifest
from remora.gateway.own import NoTools, OwnTools
from remora.gateway.parked import ParkingLot
from remora.gateway.pipeline import Pipeline
from remora.gateway.projects import Projects
from remora.gateway.server import Server
from remora.gateway.session import Front, Params, Session, ViewKey, wanted
from remora.gateway.stages.workers import Workers
from remora.gateway.stash.store import Stash
from remora.gateway.tasks import Tasks
from remora.gateway.upstream import Upstream
from remora.gateway.wire import jsonrpc
from remora.storage.sqlite.manifests import Manifests
from remora.telemetry.accounting import tokens_of_bytes
from remora.telemetry.metrics import Metrics
from remora.telemetry.tracing import Tracer

log = logging.getLogger(__name__)
VIEWS_KEPT = 256


@dataclass(slots=True)
class Parts:
    """What the gateway is given by whoever composes it."""

    environ: Mapping[str, str]
    manifests: Manifests
    metrics: Metrics
    tracer: Tracer
    pipeline: Pipeline
    children: Children
    stash: Stash
    cache: ResponseCache
    workers: Workers
    stderr_of: Callable[[str], Callable[[bytes], None]]
    screen: Callable[[str], bool] = lambda _: True
    own_urls: tuple[str, ...] = ()


@dataclass(slots=True)
class _Seen:
    view: views.View
    noted: set[str] = field(default_factory=set)


class Gateway:
    def __init__(self, loaded: Loaded, parts: Parts) -> None:
        self.loaded = loaded
        self.parts = parts
        # The same for every engine of this home: a server that reports it is a gateway in a circle.
        self.instance = hashlib.sha256(str(loaded.paths.home).encode()).hexdigest()[:32]
        self.own: OwnTools = NoTools()
        self.servers: dict[str, Server] = {}
        self.sessions: dict[str, Session] = {}
        self.listeners = Listeners()
        self.parking = ParkingLot()
        self.pipeline = parts.pipeline
        self.stash = parts.stash
        self.cache = parts.cache
        self.metrics = parts.metrics
        self.tracer = parts.tracer
        self.catalog = Catalog((), ("rem",), ())
        self.started_at = time.time()
        self._views: dict[ViewKey, _Seen] = {}
        self._projects = Projects()
        self.tasks = Tasks()
        self._background: set[asyncio.Task[Any]] = set()
        self._retired: set[Server] = set()
        self._first_until = 0.0
        self._reached: WeakSet[Upstream] = WeakSet()

    @property
    def config(self) -> Config:
        return self.loaded.config

    @property
    def home(self) -> Path:
        """The user's home folder, which is no project."""
        return Path(self.parts.environ.get("HOME") or Path.home())

    # -- life ------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Serve what the stored manifests say; connect to servers nobody knows yet, all at once."""
        self._first_until = asyncio.get_running_loop().time() + self.config.catalog.first_list_wait_seconds
        await self._take_servers(self.loaded)

    async def close(self) -> None:
        self.listeners.close()
        self.parking.close()
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(*(server.stop() for server in (*self.servers.values(), *self._retired)))

    async def apply(self, loaded: Loaded) -> None:
        """A new configuration, live. Servers whose connection is unchanged keep it."""
        self.metrics.config = loaded.config.observability
        self.pipeline.time_limit = loaded.config.pipeline.time_limit_ms / 1000
        self.stash.config, self.cache.store.config = loaded.config.stash, loaded.config.cache
        self.tracer.configure(loaded.config.observability)
        await self._take_servers(loaded)

    async def _take_servers(self, loaded: Loaded) -> None:
        config, prefixes, old = loaded.config, loaded.config.prefixes(), self.servers
        names = [name for name in config.servers if config.servers[name].enabled]
        fresh: list[Server] = []
        servers: dict[str, Server] = {}
        for name in names:
            settings, kept = config.server(name), old.get(name)
            if kept is not None and kept.reconfigure(settings):
                kept.prefix = prefixes[name]
                servers[name] = kept
                continue
            servers[name] = Server(name, prefixes[name], settings, self._surroundings(name), self)
            fresh.append(servers[name])
        stored = await self.parts.manifests.load([server.name for server in fresh]) if fresh else {}
        for server in fresh:
            if server.name in stored:
                server.manifest = Manifest.from_payload(stored[server.name].payload, server.fingerprint)
            if server.manifest is None and (before := old.get(server.name)) is not None:
                server.manifest, server.stale = before.manifest, True  # until the new connection tells its own
        self.loaded, self.servers = loaded, servers
        for name, why in loaded.broken_servers.items():
            log.error("server %s is left out: %s", name, why)
        self._rebuild()
        self._move_watches()
        for server in fresh:
            if server.manifest is not None:
                server.settled.set()
            if server.manifest is None or server.stale or server.settings.start == "eager":
                server.discover()
        for name, server in old.items():
            if servers.get(name) is not server:
                self._retired.add(server)
                self.spawn(self._retire(server))

    async def _retire(self, server: Server) -> None:
        await server.retire()
        self._retired.discard(server)

    def _move_watches(self) -> None:
        """What is watched through a connection that was replaced is watched through the new one."""
        for listener in list(self.listeners.all):
            for served, (upstream, _) in list(listener.watched.items()):
                server = self.servers.get(upstream.name)
                if server is not None and upstream not in server.instances.values():
                    self.spawn(listener.move(served, server.upstream(listener.session)))

    def _surroundings(self, name: str) -> Callable[[Path | None], Surroundings]:
        write = self.parts.stderr_of(name)
        parts = self.parts
        return lambda project: Surroundings(
            parts.environ, project, self.instance, parts.own_urls, write, parts.children
        )

    def spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._background.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            log.error("background work failed: %s", problem, exc_info=problem)

    async def first_lists(self, session: Session) -> None:
        """The first listing ever waits a little for servers whose tools nobody knows yet; later ones never do."""
        loop = asyncio.get_running_loop()
        unknown = [
            server.settled.wait()
            for server in self.servers.values()
            if not server.settled.is_set() and (server.scope != "project" or session.view.project)
        ]
        if unknown and loop.time() < self._first_until:
            try:
                async with asyncio.timeout_at(self._first_until):
                    await asyncio.gather(*unknown)
            except TimeoutError:
                pass
        else:
            for wait in unknown:
                wait.close()

    # -- sessions and what they see ----------------------------------------------------------------------------------

    def open_session(self, session: Session) -> None:
        """ConfigError when the session names a profile that does not exist."""
        if session.view.profile and session.view.profile not in self.config.profiles:
            known = ", ".join(self.config.profiles) or "none is defined"
            raise ConfigError(f'unknown profile "{session.view.profile}" (known: {known})', code="unknown_profile")
        self.sessions[session.id] = session
        self._discover_for(session)
        if session.standing is not None:
            self.listeners.add(session, session.standing, frozenset(KINDS))

    def _discover_for(self, session: Session) -> None:
        """What runs once per project can be asked for its lists only when there is a project."""
        for server in self.servers.values():
            if server.manifest is None and server.scope == "project" and session.view.project:
                server.upstream(session).want()

    async def close_session(self, session: Session) -> None:
        self.sessions.pop(session.id, None)
        project = session.view.project
        last = not any(other.view.project == project for other in self.sessions.values())
        try:
            for listener in [one for one in self.listeners.all if one.session is session]:
                await self.listeners.remove(listener)
        finally:
            for server in list(self.servers.values()):
                await server.end_session(session, last_of_project=last)

    def listener_of(self, session: Session) -> Listener:
        found = self.listeners.of(session)
        return found or self.listeners.add(session, session.standing or (lambda method, params: None), frozenset())

    def move_session(self, session: Session, project: Path | None) -> None:
        """The client told its project late: what it sees may change."""
        before = self.view(session)
        session.view = replace(session.view, project=project)
        self._discover_for(session)
        changed = before.differences(self.view(session))
        for listener in self.listeners.all:
            if listener.session is session:
                listener.tell_changed(changed)

    def view(self, session: Session) -> views.View:
        seen = self._views.get(session.view)
        if seen is None:
            if len(self._views) >= VIEWS_KEPT:
                del self._views[next(iter(self._views))]
            seen = self._views[session.view] = _Seen(self._build_view(session.view))
        return seen.view

    def instructions(self, session: Session) -> str:
        """What every client reads first: also why nothing is served, if that is so."""
        text = self.view(session).instructions
        return f"{self.loaded.reason}\n\n{text}" if self.loaded.reason else text

    async def found(self, session: Session, find: Callable[[views.View], Entry | None]) -> Entry | None:
        """What a request names; at the very start servers that nobody has asked yet may still turn out to have it."""
        if (entry := find(self.view(session))) is None:
            await self.first_lists(session)
            entry = find(self.view(session))
        return entry

    def _build_view(self, key: ViewKey) -> views.View:
        # A profile that has left the config shows nothing: a restriction never ends by being deleted.
        profile = self.config.profiles.get(key.profile, ProfileConfig(servers=())) if key.profile else None
        project = self._projects.of(key.project) if key.project else None
        rules = views.Filter(profile, project, self.home)
        config = project.over(self.loaded) if project else self.config
        mode = key.catalog or (profile.catalog_mode if profile else "")
        view = views.build(self.catalog, rules, config, self.own.definitions(key), mode, self.parts.screen)
        if "memtomem-stm" in compat.active(self.config, key):
            compat.dress(view)
        return view

    def reread_projects(self) -> None:
        """Take up project files that were edited."""
        if self._projects.forget_edited():
            self._announce()

    def note_definitions(self, session: Session, view: views.View) -> None:
        """What the session's tool list costs, and what the servers' own lists would have: once per list."""
        seen = self._views.get(session.view)
        key = session.key or session.id
        if seen is None or key in seen.noted or not self.config.observability.metrics:
            return
        seen.noted.add(key)
        upstream = sum(len(jsonrpc.encode(entry.definition)) for entry in view.callable.values())
        listed = len(jsonrpc.encode(view.tools))
        self.metrics.record_tool_defs(key, tokens_of_bytes(upstream), tokens_of_bytes(listed), len(view.tools))

    # -- catalog -----------------------------------------------------------------------------------------------------

    def _rebuild(self) -> None:
        sources = [
            Source(server.name, server.prefix, server.settings, server.manifest)
            for server in self.servers.values()
            if server.manifest is not None
        ]
        own = [*self.own.names, *views.LAZY_NAMES]
        self.catalog = Catalog(sources, self.config.gateway.client_names, own)
        self._announce()

    def _announce(self) -> None:
        """Tell everyone whose lists are different now."""
        old, self._views = self._views, {}
        changes: dict[ViewKey, set[str]] = {}
        for listener in list(self.listeners.all):
            key = listener.session.view
            if key not in changes:
                before = old.get(key)
                changes[key] = before.view.differences(self.view(listener.session)) if before else set()
            listener.tell_changed(changes[key])

    def serve_own(self, own: OwnTools) -> None:
        self.own = own
        self._rebuild()

    # -- requests ----------------------------------------------------------------------------------------------------

    async def handle(self, front: Front, method: str, params: Params) -> Params:
        return await methods.handle(self, front, method, params)

    async def set_level(self, session: Session, level: str) -> None:
        for name in self.view(session).servers:
            for upstream in self.servers[name].instances.values():
                upstream.spawn(upstream.set_level(level))

    async def roots_changed(self, session: Session) -> None:
        for server in self.servers.values():
            if (own := server.instances.get(f"session {session.id}")) and own.link and not own.link.modern:
                await own.link.notify("notifications/roots/list_changed")

    # -- what upstreams tell -----------------------------------------------------------------------------------------

    def upstream_event(self, upstream: Upstream, event: str, detail: str) -> None:
        if upstream.mirror:
            return
        self.metrics.record_event(upstream.name, event, detail)
        server = self.servers.get(upstream.name)
        if server is not None and event == "connected":
            server.one_era = False
            if upstream in self._reached:  # a process that was started anew need not know what the old one did
                self.cache.stale([upstream.name])
            self._reached.add(upstream)
        if server is not None and event == "connect_failed":
            server.settled.set()
            log.warning("server %s: %s", upstream.name, detail)

    def manifest_read(self, upstream: Upstream, manifest: Manifest) -> None:
        server = self.servers.get(upstream.name)
        if server is None or upstream.mirror or upstream not in server.instances.values():
            return  # `not in`: an old connection that drains
        changed = not manifest.same_lists(server.manifest) or server.manifest.modern != manifest.modern  # type: ignore[union-attr]
        server.manifest, server.stale = manifest, False
        server.settled.set()
        if server.scope != "shared" and server.drop_discovery(upstream):
            self.spawn(upstream.stop())  # it was started to learn its lists; sessions and projects get their own
        if changed:
            self.cache.stale([server.name])
            self.parts.manifests.save(server.name, manifest.fingerprint, manifest.to_payload())
            self._rebuild()

    def resource_updated(self, upstream: Upstream, params: Params) -> None:
        self.cache.stale([upstream.name])
        for listener in list(self.listeners.all):
            listener.tell_updated(upstream, params)

    def stray_message(self, upstream: Upstream, method: str, params: Params) -> None:
        """A message that belongs to no call: for every handshake session that sees this server.

        It may tell of anybody's calls, so where logins differ only those that may do everything get it.
        """
        mixed = len({session.principal for session in self.sessions.values()}) > 1
        for session in list(self.sessions.values()):
            if session.standing is None or upstream.name not in self.view(session).servers:
                continue
            if mixed and session.principal.scope != "admin":
                continue
            level = session.log_level
            if method != "notifications/message" or level is None or wanted(params.get("level"), level):
                session.standing(method, params)

    async def stray_question(self, upstream: Upstream, method: str, params: Params) -> Params:
        if method == "ping":
            return {}
        if method == "roots/list":
            root = upstream.project
            return {"roots": [{"uri": root.as_uri(), "name": root.name}] if root else []}
        hint = "" if upstream.settings.back_channel else "; set back_channel = true on this server"
        raise RpcError(jsonrpc.INTERNAL_ERROR, f"it is not clear which client is asked{hint}")
