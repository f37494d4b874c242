"""Word vectors without a transformer: a text is the weighted mean of its words. Fast, rough, English.

The table is an npz file: `words` (one UTF-8 string, joined by newlines), `vectors` int8 [words, dim], `scales` and
`weights` float32 (how far a row is from length 1; how much the word says).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from remora.embedding.protocol import EmbeddingUnavailable, Identity, Role
from remora.errors import ConfigError

if TYPE_CHECKING:
    from remora.embedding.protocol import Floats

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ENDINGS = (("ies", "y"), ("es", ""), ("s", ""), ("ing", ""), ("ing", "e"), ("ed", ""), ("ed", "e"), ("ly", ""))


class StaticModel:
    """A text with none of the words gets the table's mean direction, which is near nothing in particular."""

    name = "static"
    multilingual = False

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            data = path.read_bytes()
            with np.load(path) as table:
                self._width = int(table["vectors"].shape[1])
        except (OSError, ValueError, KeyError) as error:
            raise ConfigError(f"the table of word vectors {path} cannot be read: {error}", path="embedding") from error
        digest = hashlib.sha256(data).hexdigest()
        self.identity = Identity("static", path.stem, digest[:16], self._width, pooling="weighted mean", max_tokens=256)

    def load(self) -> None:
        try:
            with np.load(self._path) as table:
                words = bytes(table["words"]).decode().split("\n")
                scale = table["scales"].astype(np.float32) * table["weights"].astype(np.float32)
                self._vectors = table["vectors"].astype(np.float32) * scale[:, None]
        except (OSError, ValueError, KeyError, UnicodeDecodeError) as error:
            raise EmbeddingUnavailable(f"the table of word vectors is damaged: {error}", retry=False) from error
        self._number = {word: at for at, word in enumerate(words)}
        self._unknown = self._vectors.mean(0)

    def tokens(self, text: str, role: Role) -> list[int]:
        found = (self._find(part.lower()) for part in _PART.findall(text))
        return [at for at in found if at >= 0][: self.identity.max_tokens]

    def _find(self, word: str) -> int:
        if (at := self._number.get(word)) is not None:
            return at
        for ending, instead in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                at = self._number.get(word[: -len(ending)] + instead)
                if at is not None:
                    return at
        return -1

    def run(self, token_lists: Sequence[list[int]]) -> Floats:
        rows = [self._vectors[tokens].sum(0) if tokens else self._unknown for tokens in token_lists]
        vectors = np.array(rows, np.float32)
        return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9), np.float32)

    def describe(self) -> Mapping[str, object]:
        return {"model": self.identity.model, "runner": "numpy"}
