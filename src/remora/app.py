"""The composition root: opens everything in one exit stack and hands each part only what it needs."""

from __future__ import annotations

import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

from remora.config.load import Loaded, Paths
from remora.config.watch import Reload, Watcher
from remora.doors.mcp.compat.memento import MementoTools
from remora.doors.mcp.compat.memtomem_stm import MemtomemStm
from remora.doors.mcp.feedback import FeedbackTool
from remora.doors.mcp.memory import MemoryTools
from remora.doors.mcp.tools import Own, ReadMoreTool, RemoraTool
from remora.gateway.cache.cache import ResponseCache
from remora.gateway.cache.epochs import Epochs
from remora.gateway.cache.store import AnswerStore
from remora.gateway.children import Children
from remora.gateway.compression.job import handle_of
from remora.gateway.engine import Gateway, Parts
from remora.gateway.llm.summary import Summariser, settings_of
from remora.gateway.pipeline import Call, Pipeline
from remora.gateway.session import LOCAL_USER, Front, Principal, Session
from remora.gateway.stages.compress import CompressStage
from remora.gateway.stages.workers import Workers
from remora.gateway.stash.store import Stash
from remora.gateway.tuning.watch import Tuner
from remora.operations.memory_room import MemoryRoom
from remora.operations.registry import Context, registered
from remora.storage.sqlite.state import StateDb
from remora.storage.sqlite.summaries import Summaries
from remora.telemetry.logs import UpstreamLog
from remora.telemetry.metrics import Metrics
from remora.telemetry.tracing import Tracer

log = logging.getLogger(__name__)


@dataclass(slots=True)
class App:
    gateway: Gateway
    state: StateDb
    metrics: Metrics
    paths: Paths
    memory: MemoryRoom

    def context(self, session: Session | None = None, principal: Principal = LOCAL_USER) -> Context:
        who = session.principal if session else principal
        return Context(self.gateway, self.state, self.paths, who, session, self.memory)

    def of(self, front: Front) -> Context:
        return self.context(front.session)

    async def reloaded(self, change: Reload) -> None:
        """Take up an edited config file; a broken one changes nothing."""
        for problem in change.problems:
            log.error("config.toml: %s", problem)
        if change.needs_restart:
            log.warning("needs a restart: %s", ", ".join(change.needs_restart))
        if not change.problems:
            await self.gateway.apply(change.loaded)


@contextlib.asynccontextmanager
async def opened(loaded: Loaded, environ: Mapping[str, str], own_urls: tuple[str, ...] = ()) -> AsyncIterator[App]:
    """Everything up and running; closed in reverse order at the end."""
    paths = loaded.paths
    paths.create()
    async with contextlib.AsyncExitStack() as stack:
        state = StateDb(paths.state_db)
        stack.push_async_callback(state.close)
        metrics = Metrics(state, loaded.config.observability)
        stack.push_async_callback(metrics.close)
        children = Children(paths.run / "upstreams.json")
        await children.end_orphans()
        stack.push_async_callback(children.close)
        tracer = Tracer(loaded.config.observability)
        stack.callback(tracer.close)
        workers = Workers()
        stack.push_async_callback(workers.close)
        stash = Stash(state, loaded.config.stash)
        cache = ResponseCache(AnswerStore(state, loaded.config.cache), Epochs(paths.run / "epochs"), workers)
        stack.push_async_callback(cache.close)
        summariser = Summariser(environ, Summaries(state, loaded.config.stash.ttl_hours))
        stack.push_async_callback(summariser.close)

        async def summarise(call: Call, text: str, limit: int) -> tuple[str | None, str]:
            settings = settings_of(call.view.config, call.entry.source.name, call.entry.original)
            more = (call.view.pointer or "").format(handle=handle_of(text))
            return await summariser.summarise(text, limit, more, settings)

        pipeline = Pipeline([CompressStage(stash, workers, summarise)], loaded.config.pipeline.time_limit_ms)
        parts = Parts(
            environ=environ,
            manifests=state.manifests,
            metrics=metrics,
            tracer=tracer,
            pipeline=pipeline,
            children=children,
            stash=stash,
            cache=cache,
            workers=workers,
            stderr_of=lambda name: UpstreamLog(paths.logs, name).write,
            screen=_is_clean,
            own_urls=own_urls,
        )
        gateway = Gateway(loaded, parts)
        memory = MemoryRoom(paths.memory_db, lambda: gateway.config, environ, sweeps=True)
        stack.push_async_callback(memory.close)
        app = App(gateway, state, metrics, paths, memory)
        registered()
        ours = [group(app.of) for group in (RemoraTool, ReadMoreTool, FeedbackTool, MemoryTools)]
        gateway.serve_own(Own([*ours, MemtomemStm(app.of, app.context), MementoTools(app.of, app.context)]))
        stack.push_async_callback(gateway.close)
        await gateway.start()
        gateway.spawn(Tuner(state, lambda: gateway.loaded, metrics.flush).run())
        yield app


def _is_clean(text: str) -> bool:
    from remora.privacy.injection import is_clean

    return is_clean(text)


def watcher(app: App, read: Callable[[], Loaded]) -> Watcher:
    return Watcher(app.gateway.loaded, read, app.reloaded)


def new_token(paths: Paths) -> str:
    """The local login: made once, readable by its owner alone."""
    from remora.config.files import write_private

    file = paths.run / "token"
    try:
        if token := file.read_text().strip():
            return token
    except OSError:
        pass
    token = secrets.token_urlsafe(32)
    write_private(file, token)
    return token
