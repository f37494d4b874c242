"""The way of a call past what is already known: kept answers, requests under way, and then the server."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remora.errors import RpcError, UpstreamError
from remora.gateway.cache.epochs import Epochs
from remora.gateway.cache.flight import Ask, Flight
from remora.gateway.cache.rules import NO_CACHE, Rule, key, origin, reads_only, rule
from remora.gateway.cache.store import Answer, AnswerStore, size_of
from remora.gateway.pipeline import Call
from remora.gateway.session import Params
from remora.gateway.stages.workers import Workers
from remora.privacy.findings import SCAN_LIMIT
from remora.privacy.secrets import scan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remora.config.model import Config
    from remora.gateway.server import Server

log = logging.getLogger(__name__)
SCAN_SECONDS = 5.0


class ResponseCache:
    def __init__(self, store: AnswerStore, epochs: Epochs, workers: Workers) -> None:
        self.store = store
        self.epochs = epochs
        self._workers = workers
        self._flights: dict[str, Flight] = {}
        self._origins: dict[int, tuple[Any, bytes]] = {}
        self._keeping: set[asyncio.Task[None]] = set()
        self._second_try = asyncio.Lock()

    async def close(self) -> None:
        for task in list(self._keeping):
            task.cancel()
        self.epochs.close()

    async def answer(self, call: Call, params: Params, server: Server, config: Config, ask: Ask) -> Params:
        """The server's result, from wherever it can be had."""
        if not reads_only(call.entry):
            with self._written(call, server, config):
                return await ask(call.front, params)
        kept = rule(call, params, server.scope)
        if kept is None:
            return await ask(call.front, params)
        meta = params.get("_meta")
        if isinstance(meta, dict) and meta.get(NO_CACHE) is True:
            call.report.cache = "bypass"
            return await ask(call.front, params)
        name = self._key(call, params, server, kept)
        found = await self._known(name, call)
        if found is not None:
            return found
        flight = self._flying(name)
        if flight is None:
            call.report.cache = "miss"
            return await self._flown(name, call, params, kept, ask)
        call.report.cache, call.report.cache_age_ms = "hit", 0
        try:
            return await flight.join(call.front, params)
        except (RpcError, UpstreamError):
            if not call.entry.is_safe():
                raise
        async with self._second_try:  # of what went wrong for another one, each makes sure for himself, in turn
            found = await self._known(name, call)
            if found is not None:
                return found
            call.report.cache = "miss"
            return await self._flown(name, call, params, kept, ask)

    async def _known(self, name: str, call: Call) -> Params | None:
        now = time.time()
        found = self.store.held(name, now)
        if found is None and name not in self._flights:
            found = await self.store.load(name, call.entry.source.name, call.entry.original, now)
        if found is None:
            return None
        call.report.cache, call.report.cache_age_ms = "hit", max(0, round((now - found.created) * 1000))
        return found.result

    async def _flown(self, name: str, call: Call, params: Params, kept: Rule, ask: Ask) -> Params:
        flight = self._flying(name)  # somebody may have been quicker while we looked
        if flight is None:
            flight = self._flights[name] = Flight(call.front, params, ask)
            flight.task.add_done_callback(lambda task: self._landed(name, call, kept, flight))
        else:
            call.report.cache, call.report.cache_age_ms = "hit", 0
        return await flight.join(call.front, params)

    def _landed(self, name: str, call: Call, kept: Rule, flight: Flight) -> None:
        """A good answer stays with its flight until it is kept, so that nobody asks again in between."""
        task = flight.task
        if task.cancelled() or task.exception() is not None or not _may_be_kept(task.result()):
            self._gone(name, flight)
            return
        work = asyncio.get_running_loop().create_task(self._keep(name, call, kept, task.result()))
        self._keeping.add(work)
        work.add_done_callback(self._keeping.discard)
        work.add_done_callback(lambda _: self._gone(name, flight))

    def _flying(self, name: str) -> Flight | None:
        flight = self._flights.get(name)
        return None if flight is None or flight.abandoned else flight

    def _gone(self, name: str, flight: Flight) -> None:
        if self._flights.get(name) is flight:
            del self._flights[name]

    async def _keep(self, name: str, call: Call, kept: Rule, result: Params) -> None:
        try:
            size = size_of(result)
            if size > self.store.config.max_entry_bytes or await self._workers.run(
                size, SCAN_SECONDS, holds_secret, result
            ):
                return
            now = time.time()
            expires = None if kept.ttl is None else now + kept.ttl
            entry = call.entry
            await self.store.keep(name, Answer(result, now, expires, entry.source.name, entry.original, size))
        except Exception:  # the root of a background task: an answer that cannot be kept is not kept
            log.warning("an answer of %s could not be kept", call.entry.served, exc_info=True)

    # -- keys and what makes them stale --------------------------------------------------------------------------------

    def _key(self, call: Call, params: Params, server: Server, kept: Rule) -> str:
        project = _project(call) if server.scope == "project" else ""
        names = (server.name, f"{server.name}@{project}") if project else (server.name,)
        return key(call, params, self._origin(call, server), project, self.epochs.of(*names), kept)

    def _origin(self, call: Call, server: Server) -> bytes:
        known = self._origins.get(id(call.entry))
        if known is None or known[0] is not call.entry:
            if len(self._origins) > 5_000:
                self._origins.clear()
            known = self._origins[id(call.entry)] = call.entry, origin(call.entry, server.fingerprint)
        return known[1]

    @contextmanager
    def _written(self, call: Call, server: Server, config: Config) -> Iterator[None]:
        """Around a call that may change something: nothing known before or during it holds after it."""
        own = f"{server.name}@{_project(call)}" if server.scope == "project" and _project(call) else server.name
        stale = {own, *server.settings.invalidates}
        if server.settings.is_local:
            stale |= {name for name, each in config.servers.items() if each.is_local and name != server.name}
        self.epochs.renew(stale)
        try:
            yield
        finally:
            self.epochs.renew(stale)

    def stale(self, servers: Iterable[str]) -> None:
        """Something changed at these servers that no call of ours caused."""
        self.epochs.renew(servers)

    async def clear(self, server: str = "", tool: str = "") -> int:
        """Forget answers, in every engine of this home: what others hold in memory becomes stale."""
        cleared = await self.store.clear(server, tool)
        if server:
            self.epochs.renew([server])
        else:
            self.epochs.renew_all()
        return cleared


def _project(call: Call) -> str:
    root: Path | None = call.front.session.view.project
    return str(root) if root else ""


def _may_be_kept(result: Params) -> bool:
    complete = result.get("resultType", "complete") == "complete" and "task" not in result
    return complete and result.get("isError") is not True


def holds_secret(result: Params) -> bool:
    """Whether any text in it has one, or is too long to be sure."""
    text = "\n".join(_strings(result))
    return len(text) > SCAN_LIMIT or bool(scan(text))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            if isinstance(each, str) and isinstance(name, str):
                yield f"{name}: {each}"  # a label tells what a value is
            else:
                yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
