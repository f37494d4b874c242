"""A memory behind its operations, without a gateway: as a user at a terminal and as agents in sessions see it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from remora.config.load import Paths
from remora.config.model import Config
from remora.gateway.session import LOCAL_USER, Caller, Front, Session, ViewKey
from remora.operations import memory as _verbs  # noqa: F401 - registers its operations
from remora.operations import memory_care as _care  # noqa: F401
from remora.operations import memory_history as _history  # noqa: F401
from remora.operations.memory_room import MemoryRoom
from remora.operations.registry import Context, run


@dataclass
class Asking:
    """One request of an agent."""

    session: Session


class Desk:
    """Where operations are run by hand."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        self.folder = folder
        self.config = Config.model_validate({"embedding": {"provider": "none"}, "time": {"zone": "UTC"}} | config)
        self.environ = {"HOME": str(folder)}
        self.room = MemoryRoom(folder / "memory.db", lambda: self.config, self.environ)

    def configure(self, **memory: Any) -> None:
        self.config = self.config.model_copy(update={"memory": self.config.memory.model_copy(update=memory)})

    def context(self, session: Session | None = None) -> Context:
        who = session.principal if session else LOCAL_USER
        return Context(cast(Any, None), cast(Any, None), Paths(self.folder), who, session, self.room)

    def serving(self) -> Context:
        """The gateway as it is now, as far as anybody here asks it."""
        gateway = cast(Any, SimpleNamespace(config=self.config))
        return Context(gateway, cast(Any, None), Paths(self.folder), LOCAL_USER, None, self.room)

    async def run(self, name: str, session: Session | None = None, **given: Any) -> dict[str, Any]:
        return await run(self.context(session), f"memory.{name}", given)

    def agent(self, name: str = "claude", project: Path | None = None) -> Session:
        session = Session("stdio", view=ViewKey(project=project))
        session.caller = Caller(False, "2025-11-25", {"name": name})
        return session

    def of(self, front: Front) -> Context:
        return self.context(front.session)

    def front(self, session: Session | None = None) -> Front:
        return cast(Front, Asking(session or self.agent()))


@asynccontextmanager
async def desk(folder: Path, **config: Any) -> AsyncIterator[Desk]:
    made = Desk(folder, config)
    try:
        yield made
    finally:
        await made.room.close()
