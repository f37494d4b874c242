"""The encoder that ships with the package: all-MiniLM-L6-v2 (English, 384 numbers) with 8-bit weights.

No network, no torch, no hub. onnxruntime runs it; where that is missing, numpy does from the same file, half as fast.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

import numpy as np

from remora.embedding.protocol import EmbeddingUnavailable, Identity, Role
from remora.embedding.wordpiece import WordPiece

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from remora.embedding.protocol import Floats

    Run = Callable[[NDArray[np.int64], NDArray[np.int64]], Floats]

MODEL, VOCABULARY = "minilm-l6-v2-w8.onnx", "vocab.txt"
SHA256 = {
    MODEL: "b10752bceb635e81082467ef3c0e05b5bc623e4a108ff437cbd1c61f31e2a125",
    VOCABULARY: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
IDENTITY = Identity(provider="bundled", model="all-MiniLM-L6-v2", revision=SHA256[MODEL][:16], dim=384)


def data_folder() -> Traversable:
    return files("remora.embedding") / "data"


def available() -> bool:
    """Whether the model's files are part of this installation (a slim one leaves them out)."""
    return all((data_folder() / name).is_file() for name in SHA256)


def read_verified(folder: Traversable, name: str) -> bytes:
    """The file's bytes, or a refusal: a damaged model gives vectors that look fine and mean nothing."""
    try:
        data = (folder / name).read_bytes()
    except OSError as error:
        raise EmbeddingUnavailable(f"the bundled encoder's {name} cannot be read: {error}", retry=False) from error
    if hashlib.sha256(data).hexdigest() != SHA256[name]:
        raise EmbeddingUnavailable(f"the bundled encoder's {name} is damaged; reinstall remora", retry=False)
    return data


def onnx_run(data: bytes, threads: int) -> Run | None:
    """The model under onnxruntime, or None where that is not installed."""
    try:
        import onnxruntime  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    # Without this, the activations are quantised as well: less exact and no faster.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])

    def run(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Floats:
        return np.asarray(session.run(["embedding"], {"input_ids": ids, "attention_mask": mask})[0], np.float32)

    return run


class BundledModel:
    """`runner`: "auto" prefers onnxruntime, "numpy" does without."""

    name = "bundled"
    multilingual = False
    identity = IDENTITY

    def __init__(self, *, threads: int = 1, runner: str = "auto", folder: Traversable | None = None) -> None:
        self._threads, self._wanted, self._folder = threads, runner, folder or data_folder()
        self._runner = "none yet"

    def load(self) -> None:
        self._tokenizer = WordPiece(read_verified(self._folder, VOCABULARY).decode())
        data = read_verified(self._folder, MODEL)
        run = onnx_run(data, self._threads) if self._wanted == "auto" else None
        self._runner = "onnxruntime"
        if run is None:
            from remora.embedding.numpy_runner import NumpyModel

            run, self._runner = NumpyModel(data), "numpy"
        self._run = run

    def tokens(self, text: str, role: Role) -> list[int]:
        return self._tokenizer.encode(text, IDENTITY.max_tokens)

    def run(self, token_lists: Sequence[list[int]]) -> Floats:
        longest = max(map(len, token_lists))
        ids, mask = np.zeros((2, len(token_lists), longest), np.int64)
        for row, tokens in enumerate(token_lists):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        return self._run(ids, mask)

    def describe(self) -> Mapping[str, object]:
        return {"model": IDENTITY.model, "runner": self._runner}
