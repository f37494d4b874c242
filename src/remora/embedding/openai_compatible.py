"""Encoders behind HTTP: any endpoint with OpenAI's `/embeddings`, and Ollama's `/api/embed`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import httpx2
import numpy as np

from remora.embedding.protocol import EmbeddingUnavailable, Identity, Role
from remora.embedding.registry import prefixes_of

if TYPE_CHECKING:
    from remora.embedding.protocol import Floats

DEFAULT_URL = {"openai": "https://api.openai.com/v1", "ollama": "http://127.0.0.1:11434"}
BATCH, SECONDS, LONGEST_CHARS = 64, 30.0, 8_000
RETRYABLE = {408, 409, 425, 429, 500, 502, 503, 504}


class RemoteProvider:
    """A remote model that is down does not stop anything: its space is known after its first answer."""

    remote = True

    def __init__(
        self,
        kind: Literal["openai", "ollama"],
        model: str,
        url: str | None = None,
        *,
        api_key: str | None = None,
        dimensions: int | None = None,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
        multilingual: bool = True,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.name = f"{kind}:{model}"
        self.multilingual = multilingual
        self._kind, self._model, self._dimensions = kind, model, dimensions
        self._url = (url or DEFAULT_URL[kind]).rstrip("/")
        known = prefixes_of(model)
        self._prefix: dict[Role, str] = {
            "query": query_prefix if query_prefix is not None else known[0],
            "document": document_prefix if document_prefix is not None else known[1],
        }
        self._dim = dimensions
        self._failure: str | None = None
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx2.AsyncClient(headers=headers, timeout=SECONDS, transport=transport)

    @property
    def identity(self) -> Identity | None:
        if self._dim is None:
            return None
        return Identity(
            provider=self._kind,
            model=self._model,
            revision=self._url,
            dim=self._dim,
            pooling="remote",
            query_prefix=self._prefix["query"],
            document_prefix=self._prefix["document"],
            max_tokens=512,
        )

    async def embed(self, texts: Sequence[str], role: Role) -> Floats:
        rows: list[Floats] = []
        for start in range(0, len(texts), BATCH):
            part = [(self._prefix[role] + text)[:LONGEST_CHARS] or " " for text in texts[start : start + BATCH]]
            try:
                rows.append(self._read(await self._post(part), len(part)))
            except EmbeddingUnavailable as error:
                self._failure = str(error)
                raise
        self._failure = None
        return np.concatenate(rows) if rows else np.empty((0, self._dim or 0), np.float32)

    async def _post(self, texts: Sequence[str]) -> Any:
        body: dict[str, Any] = {"model": self._model, "input": list(texts)}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        path = "/embeddings" if self._kind == "openai" else "/api/embed"
        try:
            answer = await self._client.post(self._url + path, json=body)
        except httpx2.HTTPError as error:
            raise EmbeddingUnavailable(f"{self.name} at {self._url}: {error or type(error).__name__}") from error
        if answer.status_code != 200:
            retry = answer.status_code in RETRYABLE
            raise EmbeddingUnavailable(
                f"{self.name} at {self._url}: HTTP {answer.status_code} {answer.text[:200]}", retry=retry
            )
        try:
            return answer.json()
        except ValueError as error:
            raise EmbeddingUnavailable(f"{self.name} at {self._url}: no JSON", retry=False) from error

    def _read(self, answer: Any, count: int) -> Floats:
        """Checked rows of length 1; an odd answer is a failure, never a vector."""
        try:
            if self._kind == "openai":
                rows = [item["embedding"] for item in sorted(answer["data"], key=lambda item: item["index"])]
            else:
                rows = answer["embeddings"]
            vectors = np.array(rows, np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise EmbeddingUnavailable(f"{self.name}: an answer without vectors", retry=False) from error
        if vectors.ndim != 2 or len(vectors) != count or not np.isfinite(vectors).all():
            raise EmbeddingUnavailable(f"{self.name}: {vectors.shape} numbers for {count} texts", retry=False)
        if self._dim not in (None, vectors.shape[1]):
            raise EmbeddingUnavailable(f"{self.name}: {vectors.shape[1]} numbers, was {self._dim}", retry=False)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (lengths > 0).all():
            raise EmbeddingUnavailable(f"{self.name}: a vector of zeros", retry=False)
        self._dim = vectors.shape[1]
        return np.asarray(vectors / lengths, np.float32)

    def health(self) -> Mapping[str, object]:
        status = "failed" if self._failure else "ready" if self._dim else "not asked yet"
        return {"status": status, "model": self._model, "url": self._url, "reason": self._failure}

    async def close(self) -> None:
        await self._client.aclose()
