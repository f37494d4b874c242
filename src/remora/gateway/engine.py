"""The gateway itself: servers, sessions, and the catalog between them. Nothing here knows which door a request used."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from remora.config.files import Stamp, stamp
from remora.config.load import Loaded
from remora.config.model import Config
from remora.config.project import PROJECT_FILE, Project, read_project
from remora.errors import ConfigError, RpcError
from remora.gateway import methods
from remora.gateway import view as views
from remora.gateway.catalog import Catalog, Source
from remora.gateway.children import Children
from remora.gateway.connect import Surroundings
from remora.gateway.listeners import KINDS, Listener, Listeners
from remora.gateway.manifest import Manifest
from remora.gateway.parked import ParkingLot
from remora.gateway.pipeline import Pipeline
from remora.gateway.server import Server
from remora.gateway.session import Front, Params, Session, ViewKey, wanted
from remora.gateway.upstream import Upstream
from remora.gateway.wire import jsonrpc
from remora.storage.sqlite.manifests import Manifests
from remora.telemetry.accounting import tokens_of_bytes
from remora.telemetry.metrics import Metrics
from remora.telemetry.tracing import Tracer

log = logging.getLogger(__name__)
TASKS_KEPT = 1000


class OwnTools(Protocol):
    """Tools that Remora itself offers."""

    names: list[str]

    def definitions(self) -> list[Params]: ...

    def has(self, name: str) -> bool: ...

    async def call(self, name: str, arguments: Params, front: Front) -> Params: ...


@dataclass(slots=True)
class Parts:
    """What the gateway is given by whoever composes it."""

    environ: Mapping[str, str]
    manifests: Manifests
    metrics: Metrics
    tracer: Tracer
    pipeline: Pipeline
    children: Children
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
        self.own: OwnTools = _NoTools()
        self.servers: dict[str, Server] = {}
        self.sessions: dict[str, Session] = {}
        self.listeners = Listeners()
        self.parking = ParkingLot()
        self.pipeline = parts.pipeline
        self.metrics = parts.metrics
        self.tracer = parts.tracer
        self.catalog = Catalog((), ("rem",), ())
        self.started_at = time.time()
        self._views: dict[ViewKey, _Seen] = {}
        self._projects: dict[Path, tuple[Stamp | None, Project]] = {}
        self._tasks_of: dict[str, str] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._first_until = 0.0

    @property
    def config(self) -> Config:
        return self.loaded.config

    @property
    def home(self) -> Path:
        """The user's home folder, which is no project."""
        return Path(self.parts.environ.get("HOME") or Path.home())

    def now(self) -> float:
        return time.time()

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
        await asyncio.gather(*(server.stop() for server in self.servers.values()))

    async def apply(self, loaded: Loaded) -> None:
        """A new configuration, live. Servers whose connection is unchanged keep it."""
        self.loaded = loaded
        self.metrics.config = loaded.config.observability
        self.pipeline.time_limit = loaded.config.pipeline.time_limit_ms / 1000
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
        self.servers = servers
        self._rebuild()
        for server in fresh:
            if server.manifest is not None:
                server.settled.set()
            if server.manifest is None or server.settings.start == "eager":
                server.discover()
        for name, server in old.items():
            if servers.get(name) is not server:
                self.spawn(server.retire())

    def _surroundings(self, name: str) -> Callable[[Path | None], Surroundings]:
        write = self.parts.stderr_of(name)
        parts = self.parts
        return lambda project: Surroundings(
            parts.environ, project, self.instance, parts.own_urls, write, parts.children
        )

    def spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

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
        for listener in [one for one in self.listeners.all if one.session is session]:
            await self.listeners.remove(listener)
        for server in list(self.servers.values()):
            await server.end_session(session)

    def listener_of(self, session: Session) -> Listener:
        found = self.listeners.of(session)
        return found or self.listeners.add(session, session.standing or (lambda method, params: None), frozenset())

    def move_session(self, session: Session, project: Path | None) -> None:
        """The client told its project late: what it sees may change."""
        before = self.view(session)
        session.view = ViewKey(session.view.profile, project, session.view.catalog)
        self._discover_for(session)
        changed = _differences(before, self.view(session))
        for listener in self.listeners.all:
            if listener.session is session:
                listener.tell_changed(changed)

    def view(self, session: Session) -> views.View:
        seen = self._views.get(session.view)
        if seen is None:
            seen = self._views[session.view] = _Seen(self._build_view(session.view))
        return seen.view

    def instructions(self, session: Session) -> str:
        """What every client reads first: also why nothing is served, if that is so."""
        text = self.view(session).instructions
        return f"{self.loaded.reason}\n\n{text}" if self.loaded.reason else text

    def _build_view(self, key: ViewKey) -> views.View:
        profile = self.config.profiles.get(key.profile) if key.profile else None
        project = self._project(key.project) if key.project else None
        rules = views.Filter(profile, project, self.home)
        config = project.over(self.loaded) if project else self.config
        mode = key.catalog or (profile.catalog_mode if profile else "")
        return views.build(self.catalog, rules, config, self.own.definitions(), mode, self.parts.screen)

    def _project(self, root: Path) -> Project:
        if root not in self._projects:
            mark, project = stamp(root / PROJECT_FILE), read_project(root)
            self._projects[root] = (mark, project)
            for remark in (*project.problems, *project.notes):
                log.warning("project file: %s", remark)
        return self._projects[root][1]

    def reread_projects(self) -> None:
        """Take up project files that were edited."""
        edited = [root for root, (mark, _) in self._projects.items() if stamp(root / PROJECT_FILE) != mark]
        for root in edited:
            del self._projects[root]
        if edited:
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
                changes[key] = _differences(before.view, self.view(listener.session)) if before else set()
            listener.tell_changed(changes[key])

    def serve_own(self, own: OwnTools) -> None:
        self.own = own
        self._rebuild()

    # -- requests ----------------------------------------------------------------------------------------------------

    async def handle(self, front: Front, method: str, params: Params) -> Params:
        return await methods.handle(self, front, method, params)

    def remember_task(self, result: Params, server: str) -> None:
        """Which server a task belongs to, so that `tasks/*` finds it."""
        task = result.get("task")
        task_id = (task if isinstance(task, dict) else result).get("taskId")
        if isinstance(task_id, str):
            self._tasks_of[task_id] = server
            while len(self._tasks_of) > TASKS_KEPT:
                del self._tasks_of[next(iter(self._tasks_of))]

    def task_source(self, task_id: Any, session: Session) -> Source | None:
        name = self._tasks_of.get(task_id) if isinstance(task_id, str) else None
        seen = self.view(session).servers
        return next((source for source in self.catalog.sources if source.name == name and name in seen), None)

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
        if server is not None and event == "connect_failed":
            server.settled.set()
            log.warning("server %s: %s", upstream.name, detail)

    def manifest_read(self, upstream: Upstream, manifest: Manifest) -> None:
        server = self.servers.get(upstream.name)
        if server is None or upstream.mirror or upstream not in server.instances.values():
            return  # `not in`: an old connection that drains
        changed = not manifest.same_lists(server.manifest) or server.manifest.modern != manifest.modern  # type: ignore[union-attr]
        server.manifest = manifest
        server.settled.set()
        if server.scope != "shared" and server.drop_discovery(upstream):
            self.spawn(upstream.stop())  # it was started to learn its lists; sessions and projects get their own
        if changed:
            self.parts.manifests.save(server.name, manifest.fingerprint, manifest.to_payload())
            self._rebuild()

    def resource_updated(self, upstream: Upstream, params: Params) -> None:
        for listener in list(self.listeners.all):
            listener.tell_updated(upstream, params)

    def stray_message(self, upstream: Upstream, method: str, params: Params) -> None:
        """A message that belongs to no call: for every handshake session that sees this server."""
        for session in list(self.sessions.values()):
            if session.standing is None or upstream.name not in self.view(session).servers:
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
        hint = "" if self.servers[upstream.name].settings.back_channel else "; set back_channel = true on this server"
        raise RpcError(jsonrpc.INTERNAL_ERROR, f"it is not clear which client is asked{hint}")


def _differences(before: views.View, after: views.View) -> set[str]:
    changed = {kind for kind in ("tools", "prompts", "resources") if getattr(before, kind) != getattr(after, kind)}
    return changed | ({"resources"} if before.templates != after.templates else set())


class _NoTools:
    names: list[str] = []

    def definitions(self) -> list[Params]:
        return []

    def has(self, name: str) -> bool:
        return False

    async def call(self, name: str, arguments: Params, front: Front) -> Params:
        raise KeyError(name)
