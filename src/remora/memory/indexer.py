"""Gives every chunk its vector, in the background: the space that answers, and the one that shall answer next."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from remora.embedding.protocol import EmbeddingUnavailable
from remora.embedding.registry import plan_move, settle
from remora.memory.indexing import pieces

if TYPE_CHECKING:
    from remora.embedding.embedder import Embedder
    from remora.model.memory import Memory
    from remora.model.search import Space
    from remora.storage.protocol import Store, Unembedded, View

log = logging.getLogger(__name__)

BATCH = 256
RETRY_SECONDS = (1, 5, 30, 300, 3600)


class Indexer:
    """`answering`: the space that queries are put to now; None = words alone."""

    def __init__(self, store: Store, embedder: Embedder) -> None:
        self.store = store
        self.embedder = embedder
        self.answering: str | None = None
        self.problem = ""
        self._wanted: str | None = None
        self._work = asyncio.Event()
        self._idle = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Loads nothing yet: the model is opened when the store has something to embed or to answer."""
        self._work.set()
        self._task = asyncio.get_running_loop().create_task(self._run(), name="memory-index")

    def wake(self) -> None:
        self._idle.clear()
        self._work.set()

    async def wait(self) -> None:
        """Until every chunk has its vector, or the encoder cannot be used."""
        self.wake()
        await self._idle.wait()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        failures = 0
        while True:
            await self._work.wait()
            self._work.clear()
            try:
                if await self._catch_up():  # what failed stays out of sight for a while: that is no success
                    failures, self.problem = 0, ""
            except EmbeddingUnavailable as cause:
                self.problem = str(cause)
                self._idle.set()
                seconds = RETRY_SECONDS[min(failures, len(RETRY_SECONDS) - 1)]
                failures += 1
                log.warning("no vectors for now (%s); trying again in %d s", cause, seconds)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._work.wait(), seconds)
                self._work.set()
            except Exception:  # root of a background task: logged, and the next write wakes it again
                log.exception("indexing stopped")
                self._idle.set()

    async def _catch_up(self) -> bool:
        """Whether every chunk has its vector now."""
        if self._wanted is None:
            await self._settle()
        while await self._move():
            pass
        if not self._work.is_set():
            self._idle.set()
        _, covered = await self.store.read(_state)
        done, all_of_them = covered.get(self._wanted or "", (0, 0))
        return done == all_of_them

    async def _settle(self) -> None:
        """Find or make the space of the encoder that is configured now."""
        known = await self.store.read(lambda view: view.spaces())
        settled = await settle(self.embedder, known)
        if settled.new:
            await self.store.add_space(settled.space)
        if settled.drifted:
            log.warning("the embedding model changed under the same name; its vectors are made anew")
        self._wanted = settled.space.id

    async def _move(self) -> bool:
        """One step; False when there is nothing left to do."""
        spaces, covered = await self.store.read(_state)
        active = next((space.id for space in spaces if space.active), None)
        move = plan_move(active, self._wanted, covered)
        # Only vectors of the model that is loaded can be compared with its queries.
        self.answering = self._wanted if move.answer == self._wanted else None
        if move.switch and self._wanted is not None:
            await self.store.activate_space(self._wanted)
        for space in move.drop:
            await self.store.drop_space(space)
        return await self._fill(self._wanted) if self._wanted in move.fill and self._wanted is not None else False

    async def _fill(self, space: str) -> bool:
        taken = await self.store.take_unembedded(space, BATCH)
        if self.embedder.remote:
            taken = [chunk for chunk in taken if not chunk.private]
        if not taken:
            return False
        ids = list({chunk.memory_id for chunk in taken})
        memories = await self.store.read(lambda view: view.get_many(ids))
        texts = {(chunk.chunk, chunk.hash): text for chunk in taken if (text := _text(chunk, memories)) is not None}
        if texts:
            try:
                vectors = await self.embedder.embed_documents(list(texts.values()))
            except EmbeddingUnavailable:
                await self.store.release_unembedded(space, [chunk.chunk for chunk in taken])
                raise
            await self.store.put_vectors(space, list(texts), vectors)
        return True


def _state(view: View) -> tuple[list[Space], dict[str, tuple[int, int]]]:
    spaces = list(view.spaces())
    return spaces, {space.id: view.covered(space.id) for space in spaces}


def _text(chunk: Unembedded, memories: dict[str, Memory]) -> str | None:
    """What the encoder shall see; None when the memory has changed meanwhile."""
    memory = memories.get(chunk.memory_id)
    if memory is None:
        return None
    return next((piece.text for piece in pieces(memory) if piece.hash == chunk.hash), None)
