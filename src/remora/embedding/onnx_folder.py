"""Any sentence encoder as ONNX: a folder with `model.onnx` and `tokenizer.json` (extra `multilingual`).

Models that serve many languages (multilingual-e5, bge-m3, paraphrase-multilingual) come in this form from their makers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from remora.embedding.protocol import EmbeddingUnavailable, Identity, Role
from remora.embedding.registry import prefixes_of
from remora.errors import ConfigError

if TYPE_CHECKING:
    from remora.embedding.protocol import Floats

MODEL_PLACES = ("model.onnx", "onnx/model.onnx")
MAX_TOKENS = 512


class OnnxFolder:
    """Pooling and width are read from the model's own configuration files."""

    name = "onnx"

    def __init__(
        self,
        folder: Path,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
        *,
        multilingual: bool = True,
        threads: int = 1,
    ) -> None:
        self.multilingual = multilingual
        self._folder, self._threads = folder, threads
        self._file = next((folder / place for place in MODEL_PLACES if (folder / place).is_file()), None)
        if self._file is None or not (folder / "tokenizer.json").is_file():
            raise ConfigError(f"{folder} needs model.onnx and tokenizer.json", path="embedding.path")
        settings = self._json("config.json")
        pooling = self._json("1_Pooling/config.json")
        cls = bool(pooling.get("pooling_mode_cls_token"))
        known = prefixes_of(folder.name)
        self.identity = Identity(
            provider="onnx",
            model=folder.name,
            revision=hashlib.sha256(self._file.read_bytes()).hexdigest()[:16],
            dim=int(settings.get("hidden_size") or pooling.get("word_embedding_dimension") or 0),
            pooling="cls" if cls else "mean",
            query_prefix=known[0] if query_prefix is None else query_prefix,
            document_prefix=known[1] if document_prefix is None else document_prefix,
            max_tokens=min(MAX_TOKENS, int(settings.get("max_position_embeddings") or MAX_TOKENS)),
        )
        if not self.identity.dim:
            raise ConfigError(f"{folder / 'config.json'} does not say hidden_size", path="embedding.path")

    def _json(self, name: str) -> dict[str, Any]:
        try:
            found = json.loads((self._folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def load(self) -> None:
        try:
            import onnxruntime  # type: ignore[import-untyped,unused-ignore]
            from tokenizers import Tokenizer  # type: ignore[import-not-found,unused-ignore]
        except ImportError as error:
            raise EmbeddingUnavailable(f"{error}; install remora[multilingual]", retry=False) from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self._threads, 1
        options.log_severity_level = 3
        # As for the bundled model: 8-bit weights must not make the activations 8-bit too.
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
        try:
            self._tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
            self._session = onnxruntime.InferenceSession(str(self._file), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # both libraries raise classes of their own for a damaged file
            raise EmbeddingUnavailable(f"{self._folder} cannot be loaded: {error}", retry=False) from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self.identity.max_tokens)
        self._inputs = {node.name for node in self._session.get_inputs()}

    def tokens(self, text: str, role: Role) -> list[int]:
        prefix = self.identity.query_prefix if role == "query" else self.identity.document_prefix
        ids: list[int] = self._tokenizer.encode(prefix + text).ids
        return ids

    def run(self, token_lists: Sequence[list[int]]) -> Floats:
        longest = max(map(len, token_lists))
        ids, mask = np.zeros((2, len(token_lists), longest), np.int64)
        for row, tokens in enumerate(token_lists):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        out = self._session.run(None, {name: given[name] for name in self._inputs if name in given})
        pooled = next((array for array in out if array.ndim == 2), None)
        if pooled is None:
            weight = mask[:, :, None].astype(np.float32)
            pooled = out[0][:, 0] if self.identity.pooling == "cls" else (out[0] * weight).sum(1) / weight.sum(1)
        return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True), np.float32)

    def describe(self) -> Mapping[str, object]:
        return {"model": self.identity.model, "runner": "onnxruntime"}
