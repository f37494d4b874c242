"""The one face of every encoder: vectors of documents and queries, remembered, with deadlines; or none, and says so."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from remora.embedding import bundled
from remora.embedding.local import LocalProvider
from remora.embedding.protocol import EmbeddingUnavailable, Identity, Provider, Role
from remora.errors import ConfigError
from remora.model.search import Space

if TYPE_CHECKING:
    from pathlib import Path

    from remora.embedding.protocol import Floats

REMEMBERED = 10_000  # vectors, 15 MB at 384 numbers
QUERY_SECONDS, FIRST_QUERY_SECONDS, REMOTE_QUERY_SECONDS = 0.15, 10.0, 2.0
DOCUMENT_SECONDS_PER_TEXT, DOCUMENT_SECONDS = 0.5, 10.0
ProviderName = Literal["auto", "bundled", "static", "openai", "ollama", "onnx", "none"]
PROVIDERS: tuple[ProviderName, ...] = ("auto", "bundled", "static", "openai", "ollama", "onnx", "none")


class Embedder:
    """`provider` None = lexical only, for the `reason`. Never answers with a vector that means nothing."""

    def __init__(self, provider: Provider | None, reason: str = "switched off") -> None:
        self.provider = provider
        self.reason = reason
        self.generation = 0
        self._remembered: OrderedDict[bytes, Floats] = OrderedDict()
        self._answered = False

    @property
    def identity(self) -> Identity | None:
        known = self.provider.identity if self.provider else None
        return replace(known, generation=self.generation) if known else None

    @property
    def space(self) -> Space | None:
        """None without a model, and as long as a remote one has not told its width."""
        known = self.identity
        return Space(id=known.id, dim=known.dim, label=known.to_json()) if known else None

    @property
    def remote(self) -> bool:
        return self.provider is not None and self.provider.remote

    @property
    def multilingual(self) -> bool:
        return self.provider is not None and self.provider.multilingual

    def move_to(self, generation: int) -> None:
        """The model behind the same name has changed: what is remembered lies in another space."""
        if generation != self.generation:
            self.generation = generation
            self._remembered.clear()

    async def embed_documents(self, texts: Sequence[str]) -> Floats:
        """One row per text, in order; raises `EmbeddingUnavailable`."""
        return await self._embed(texts, "document", DOCUMENT_SECONDS + DOCUMENT_SECONDS_PER_TEXT * len(texts))

    async def embed_query(self, text: str, deadline: float | None = None, *, remember: bool = True) -> Floats | None:
        """None when there is no model or it does not answer in time: the caller goes on with words alone.

        The first query may wait until the model is loaded; `remember=False` leaves no trace in the cache.
        """
        if self.provider is None:
            return None
        if deadline is None:
            deadline = REMOTE_QUERY_SECONDS if self.remote else QUERY_SECONDS if self._answered else FIRST_QUERY_SECONDS
        try:
            vectors = await self._embed([text], "query", deadline, remember=remember)
        except EmbeddingUnavailable:
            return None
        self._answered = True
        vector: Floats = vectors[0]
        return vector

    async def _embed(self, texts: Sequence[str], role: Role, seconds: float, *, remember: bool = True) -> Floats:
        import numpy as np

        if self.provider is None:
            raise EmbeddingUnavailable(f"there is no encoder: {self.reason}", retry=False)
        keys = [hashlib.sha256(f"{role}\0{text}".encode("utf-8", "surrogatepass")).digest() for text in texts]
        known = {key: self._recall(key) for key in keys if key in self._remembered}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            try:
                async with asyncio.timeout(seconds):
                    vectors = await self.provider.embed(list(missing.values()), role)
            except TimeoutError:
                raise EmbeddingUnavailable(f"{self.provider.name}: no answer in {seconds:g} s") from None
            fresh = dict(zip(missing, vectors, strict=True))
            known |= fresh
            if remember:
                self._remember(fresh)
        return np.array([known[key] for key in keys], np.float32)

    def _recall(self, key: bytes) -> Floats:
        self._remembered.move_to_end(key)
        return self._remembered[key]

    def _remember(self, fresh: Mapping[bytes, Floats]) -> None:
        for key, vector in fresh.items():
            self._remembered[key] = vector.copy()  # a view would keep its whole batch alive
        while len(self._remembered) > REMEMBERED:
            self._remembered.popitem(last=False)

    def health(self) -> dict[str, object]:
        if self.provider is None:
            return {"provider": "none", "status": "lexical only", "reason": self.reason}
        return {"provider": self.provider.name, "remote": self.remote, **self.provider.health()}

    async def close(self) -> None:
        self._remembered.clear()
        if self.provider is not None:
            await self.provider.close()


def open_embedder(
    provider: str = "auto",
    model: str = "",
    url: str | None = None,
    *,
    path: Path | None = None,
    api_key: str | None = None,
    dimensions: int | None = None,
    query_prefix: str | None = None,
    document_prefix: str | None = None,
    multilingual: bool = True,
    threads: int = 1,
) -> Embedder:
    """Nothing is loaded or asked yet. "auto" = the bundled encoder where its files are, else words alone."""
    match provider:
        case "none":
            return Embedder(None)
        case "auto" | "bundled":
            if bundled.available():
                return Embedder(LocalProvider(bundled.BundledModel(threads=threads)))
            if provider == "bundled":
                raise ConfigError("the bundled encoder's files are not part of this installation", path="embedding")
            return Embedder(None, "the model's files are not part of this installation")
        case "static":
            from remora.embedding.static import StaticModel

            if path is None:
                raise ConfigError("embedding.provider = static needs embedding.path, a table of word vectors")
            return Embedder(LocalProvider(StaticModel(path)))
        case "onnx":
            from remora.embedding.onnx_folder import OnnxFolder

            if path is None:
                raise ConfigError("embedding.provider = onnx needs embedding.path, a folder with model and tokenizer")
            prefixes = (query_prefix, document_prefix)
            return Embedder(LocalProvider(OnnxFolder(path, *prefixes, multilingual=multilingual, threads=threads)))
        case "openai" | "ollama":
            from remora.embedding.openai_compatible import RemoteProvider

            if not model:
                raise ConfigError(f"embedding.provider = {provider} needs embedding.model")
            return Embedder(
                RemoteProvider(
                    provider,
                    model,
                    url,
                    api_key=api_key,
                    dimensions=dimensions,
                    query_prefix=query_prefix,
                    document_prefix=document_prefix,
                    multilingual=multilingual,
                )
            )
        case _:
            raise ConfigError(f"embedding.provider = {provider!r}; known are {', '.join(PROVIDERS)}", path="embedding")
