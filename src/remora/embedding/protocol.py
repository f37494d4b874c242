"""What turns texts into vectors: providers, and the identity of the space that their vectors lie in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from remora.errors import UnavailableError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

CHUNKING_VERSION = 1
Role = Literal["document", "query"]


class EmbeddingUnavailable(UnavailableError):
    """The texts could not be embedded now; `retry` says whether a later try may succeed."""

    code = "embedding_unavailable"

    def __init__(self, message: str, *, retry: bool = True) -> None:
        super().__init__(message)
        self.retry = retry


@dataclass(frozen=True, slots=True)
class Identity:
    """Everything that decides what a vector means. Vectors of two spaces are never compared, equal width or not."""

    provider: str
    model: str
    revision: str  # hash of the weights, or what a remote endpoint calls its version
    dim: int
    pooling: str = "mean"
    query_prefix: str = ""
    document_prefix: str = ""
    max_tokens: int = 256
    normalised: bool = True
    chunking: int = CHUNKING_VERSION
    generation: int = 0  # counts silent changes of a model behind the same name, noticed by the canaries

    @property
    def id(self) -> str:
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Identity:
        fields: dict[str, Any] = json.loads(text)
        return cls(**fields)


class Provider(Protocol):
    """One model. Rows have length 1; a query overtakes waiting documents. Failures raise `EmbeddingUnavailable`."""

    name: str
    multilingual: bool
    remote: bool

    @property
    def identity(self) -> Identity | None:
        """None as long as a remote model has not told the width of its vectors."""
        ...

    async def embed(self, texts: Sequence[str], role: Role) -> Floats: ...

    def health(self) -> Mapping[str, object]: ...

    async def close(self) -> None: ...
