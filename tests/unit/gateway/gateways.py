"""A whole gateway without processes or files: its servers answer from tables, its records are lists."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.unit.gateway.fakes import FakeFront, FakeLink, NoChildren, Params, handshake

from remora.config.load import Loaded, Paths
from remora.config.model import Config, ObservabilityConfig
from remora.gateway.cache.cache import ResponseCache
from remora.gateway.cache.epochs import Epochs
from remora.gateway.cache.store import AnswerStore
from remora.gateway.engine import Gateway, Parts
from remora.gateway.manifest import Manifest, fingerprint
from remora.gateway.pipeline import Pipeline
from remora.gateway.session import Caller, Session
from remora.gateway.stages.workers import Workers
from remora.gateway.stash.store import Stash
from remora.storage.sqlite.connection import StateUnavailable
from remora.telemetry.tracing import Tracer


class Records:
    """What was recorded of calls, events and tool lists."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.events: list[tuple[str, str, str]] = []
        self.lists: list[tuple[Any, ...]] = []
        self.record_call = self.calls.append

    def record_event(self, *event: Any) -> None:
        self.events.append(event)

    def record_tool_defs(self, *listed: Any) -> None:
        self.lists.append(listed)


class NoState:
    """A state.db that cannot be had: what is kept is kept in memory."""

    def submit(self, job: Any) -> None:
        pass

    async def run(self, job: Any) -> Any:
        raise StateUnavailable("there is none")

    read = run


class Stored:
    """The manifests of an earlier run."""

    def __init__(self) -> None:
        self.rows: dict[str, Params] = {}

    async def load(self, names: list[str]) -> dict[str, Any]:
        return {name: SimpleNamespace(payload=self.rows[name]) for name in names if name in self.rows}

    def save(self, name: str, fingerprint: str, payload: Params) -> None:
        self.rows[name] = payload


class World:
    """`tables` says what each server answers, by its name; one that is no table is why it cannot be reached."""

    def __init__(self, folder: Path, servers: dict[str, Any], **tables: Any) -> None:
        self.folder = folder
        self.tables: dict[str, Any] = {name: handshake() for name in servers}
        self.links: dict[str, list[FakeLink]] = {name: [] for name in servers}
        self.records, self.stored = Records(), Stored()
        loaded, state, workers = self.loaded(servers, **tables), NoState(), Workers()
        cache = ResponseCache(AnswerStore(state, loaded.config.cache), Epochs(folder / "epochs"), workers)  # type: ignore[arg-type]
        parts = Parts({"HOME": str(folder)}, self.stored, self.records, Tracer(ObservabilityConfig()),  # type: ignore[arg-type]
                      Pipeline((), 1000), NoChildren(), Stash(state, loaded.config.stash), cache, workers,  # type: ignore[arg-type]
                      lambda name: lambda data: None)  # fmt: skip
        self.gateway = Gateway(loaded, parts)

    def loaded(self, servers: dict[str, Any], **tables: Any) -> Loaded:
        config = {"servers": {name: {"command": name, "era": "legacy", **keys} for name, keys in servers.items()}}
        return Loaded(Config.model_validate({**config, **tables}), Paths(self.folder), self.folder / "config.toml")

    async def open_link(self, settings: Any, around: Any, events: Any, *, sse: bool = False) -> FakeLink:
        name = settings.command or settings.url
        table = self.tables[name]
        if isinstance(table, Exception):
            raise table
        link = FakeLink(answers=table)
        link.events = events
        self.links[name].append(link)
        return link

    def remember(self, name: str, **lists: Any) -> None:
        """A stored manifest, so that the server is not started to be listed."""
        settings = self.gateway.config.server(name)
        made = {key: tuple(value) if isinstance(value, list) else value for key, value in lists.items()}
        fresh = Manifest(**{"fingerprint": fingerprint(settings), "modern": False, "version": "2025-11-25", **made})
        self.stored.rows[name] = fresh.to_payload()

    def link(self, name: str) -> FakeLink:
        return self.links[name][-1]

    def front(self, caller: Caller | None = None, **session: Any) -> FakeFront:
        made = FakeFront(**({"caller": caller} if caller else {}))
        made.session = Session("in_process", caller=made.caller, **session)
        self.gateway.open_session(made.session)
        return made

    def ask(self, front: FakeFront, method: str, **params: Any) -> Any:
        return self.gateway.handle(front, method, params)
