"""Runs a model of this machine on one worker thread, so that no event loop waits for arithmetic."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Protocol

import numpy as np

from remora.embedding.protocol import EmbeddingUnavailable, Identity, Role

if TYPE_CHECKING:
    from remora.embedding.protocol import Floats

TOKEN_BUDGET = 512  # padded tokens per run: as fast as thousands, and a query waits for one run at most
WAVE = 512  # waiting texts that are sorted by length together


class LocalModel(Protocol):
    """A model in this process. `load` is called once, on the worker thread, and raises `EmbeddingUnavailable`."""

    name: str
    identity: Identity
    multilingual: bool

    def load(self) -> None: ...

    def tokens(self, text: str, role: Role) -> list[int]: ...

    def run(self, token_lists: Sequence[list[int]]) -> Floats: ...

    def describe(self) -> Mapping[str, object]: ...


class _Job:
    """Texts of one caller, answered when the last of them has been run."""

    def __init__(self, texts: Sequence[str], role: Role, dim: int) -> None:
        self.texts, self.role = texts, role
        self.vectors = np.empty((len(texts), dim), np.float32)
        self.left = len(texts)
        self.future: Future[Floats] = Future()

    def put(self, at: int, vector: Floats) -> None:
        self.vectors[at] = vector
        self.left -= 1
        if not self.left and not self.future.done():
            self.future.set_result(self.vectors)

    def fail(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)


def batches(lengths: Sequence[int], budget: int = TOKEN_BUDGET) -> Iterator[list[int]]:
    """Positions sorted by length, cut so that rows x longest stays within the budget."""
    batch: list[int] = []
    for at in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[at] > budget:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


class LocalProvider:
    """A queue before one thread. Between two runs it looks for queries, which go first."""

    remote = False

    def __init__(self, model: LocalModel) -> None:
        self.model = model
        self.name = model.name
        self.multilingual = model.multilingual
        self._queries: deque[_Job] = deque()
        self._documents: deque[tuple[_Job, int]] = deque()
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._failure: EmbeddingUnavailable | None = None
        self._loaded = False

    @property
    def identity(self) -> Identity:
        return self.model.identity

    async def embed(self, texts: Sequence[str], role: Role) -> Floats:
        if not texts:
            return np.empty((0, self.identity.dim), np.float32)
        job = _Job(texts, role, self.identity.dim)
        with self._wake:
            if self._closed:
                raise EmbeddingUnavailable("the embedding worker is closed", retry=False)
            if self._failure is not None:
                raise self._failure
            if role == "query":
                self._queries.append(job)
            else:
                self._documents.extend((job, at) for at in range(len(texts)))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=f"remora-embed-{self.name}", daemon=True)
                self._thread.start()
            self._wake.notify()
        return await asyncio.wrap_future(job.future)

    def health(self) -> Mapping[str, object]:
        if self._failure is not None:
            return {"status": "failed", "reason": str(self._failure)}
        with self._wake:
            waiting = len(self._documents)
        return {"status": "ready" if self._loaded else "not loaded", "waiting": waiting, **self.model.describe()}

    async def close(self) -> None:
        with self._wake:
            self._closed = True
            self._wake.notify()
            thread = self._thread
        if thread is not None:
            await asyncio.to_thread(thread.join)

    def _work(self) -> None:
        try:
            self.model.load()
            self._loaded = True
            while self._run_queries():
                self._run_documents(self._wave())
            self._abandon(EmbeddingUnavailable("the embedding worker was closed"))
        except EmbeddingUnavailable as error:
            self._failure = error
            self._abandon(error)
        except Exception as error:  # noqa: BLE001  root of the thread: whoever waits must be told, whatever broke
            self._failure = EmbeddingUnavailable(f"{self.name}: {type(error).__name__}: {error}", retry=False)
            self._abandon(self._failure)

    def _run_queries(self, *, wait: bool = True) -> bool:
        """Answer what is asked; then wait until there is work. False once closed."""
        while True:
            with self._wake:
                while wait and not (self._queries or self._documents or self._closed):
                    self._wake.wait()
                if self._closed:
                    return False
                if not self._queries:
                    return True
                job = self._queries.popleft()
            if not job.future.cancelled():
                self._run([(job, at) for at in range(len(job.texts))], first_queries=False)

    def _wave(self) -> list[tuple[_Job, int]]:
        with self._wake:
            taken = [self._documents.popleft() for _ in range(min(WAVE, len(self._documents)))]
        return [(job, at) for job, at in taken if not job.future.cancelled()]

    def _run_documents(self, wave: list[tuple[_Job, int]]) -> None:
        self._run(wave, first_queries=True)

    def _run(self, items: list[tuple[_Job, int]], *, first_queries: bool) -> None:
        try:
            token_lists = [self.model.tokens(job.texts[at], job.role) for job, at in items]
            for batch in batches([len(tokens) for tokens in token_lists]):
                if first_queries and not self._run_queries(wait=False):
                    raise EmbeddingUnavailable("the embedding worker was closed")
                for position, vector in zip(batch, self.model.run([token_lists[at] for at in batch]), strict=True):
                    job, at = items[position]
                    job.put(at, vector)
        except Exception as error:  # whoever waits for these texts must be told, whatever broke
            for job, _ in items:
                job.fail(error)
            raise

    def _abandon(self, error: EmbeddingUnavailable) -> None:
        with self._wake:
            waiting = [*self._queries, *(job for job, _ in self._documents)]
            self._queries.clear()
            self._documents.clear()
        for job in waiting:
            job.fail(error)
