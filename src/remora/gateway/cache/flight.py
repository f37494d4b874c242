"""One request to a server on behalf of everybody who asks the same at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from remora.errors import RpcError
from remora.gateway.session import Caller, Front, Params, Session
from remora.gateway.wire import jsonrpc

Ask = Callable[[Front, Params], Awaitable[Params]]
TOKEN = "shared"


class Flight:
    """Stands before the server as one front; each caller hears of its progress under its own token.

    The request is cancelled when the last caller has gone, not when the first one goes.
    """

    def __init__(self, leader: Front, params: Params, ask: Ask) -> None:
        self.session: Session = leader.session
        self.caller: Caller = leader.caller
        self.request_id: Any = leader.request_id
        self._callers: dict[int, tuple[Front, Any]] = {}
        self._joined = 0
        self.abandoned = False
        meta = params.get("_meta")
        sent = {**params, "_meta": {**(meta if isinstance(meta, dict) else {}), "progressToken": TOKEN}}
        self.task: asyncio.Future[Params] = asyncio.ensure_future(ask(self, sent))
        self.task.add_done_callback(_seen)

    async def join(self, front: Front, params: Params) -> Params:
        """The shared answer, or the shared failure."""
        self._joined += 1
        mine = self._joined
        meta = params.get("_meta")
        self._callers[mine] = front, meta.get("progressToken") if isinstance(meta, dict) else None
        try:
            return await asyncio.shield(self.task)
        finally:
            del self._callers[mine]
            if not self._callers and not self.task.done():
                self.abandoned = True  # who asks from now on needs a request of his own
                self.task.cancel()

    # -- the front that the server sees ------------------------------------------------------------------------------

    def notify(self, method: str, params: Params) -> None:
        for front, token in list(self._callers.values()):
            if method != "notifications/progress":
                front.notify(method, params)
            elif token is not None:
                front.notify(method, {**params, "progressToken": token})

    async def ask(self, method: str, params: Params) -> Params:
        for front, _ in self._callers.values():
            return await front.ask(method, params)
        raise RpcError(jsonrpc.INTERNAL_ERROR, "nobody is left who could be asked")

    def close_stream(self) -> None:
        for front, _ in list(self._callers.values()):
            front.close_stream()


def _seen(task: asyncio.Future[Params]) -> None:
    """A failure that nobody waits for any more is no news."""
    if not task.cancelled():
        task.exception()
