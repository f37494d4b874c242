"""The bundled model in numpy alone, out of the same ONNX file: for machines that onnxruntime has no wheel for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

LAYERS, HEADS, WIDTH = 6, 12, 384
_DTYPES: dict[int, type[np.generic]] = {
    1: np.float32,
    2: np.uint8,
    3: np.int8,
    6: np.int32,
    7: np.int64,
    10: np.float16,
}
_GRAPH, _INITIALIZER = 7, 5  # field numbers: ModelProto.graph, GraphProto.initializer
_DIMS, _DATA_TYPE, _NAME, _RAW = 1, 2, 8, 9  # field numbers of TensorProto

Floats = NDArray[np.float32]
Span = tuple[int, int]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int | Span]]:
    """Field number and value of a protobuf message; a value is an int, or where a byte field starts and ends."""
    while at < end:
        key, at = _varint(data, at)
        match key & 7:
            case 0:
                value, at = _varint(data, at)
                yield key >> 3, value
            case 1:
                at += 8
            case 2:
                size, at = _varint(data, at)
                yield key >> 3, (at, at + size)
                at += size
            case 5:
                at += 4
            case other:
                raise ValueError(f"not an ONNX file: wire type {other}")


def _tensor(data: bytes, start: int, end: int) -> tuple[str, NDArray[np.generic] | None]:
    dims: list[int] = []
    dtype: type[np.generic] = np.float32
    name, raw = "", None
    for field, value in _fields(data, start, end):
        if isinstance(value, int):
            if field == _DIMS:
                dims.append(value)
            elif field == _DATA_TYPE:
                dtype = _DTYPES[value]
        elif field == _DIMS:
            at, stop = value
            while at < stop:
                size, at = _varint(data, at)
                dims.append(size)
        elif field == _NAME:
            name = data[slice(*value)].decode()
        elif field == _RAW:
            raw = value
    if raw is None:
        return name, None
    count = (raw[1] - raw[0]) // np.dtype(dtype).itemsize
    return name, np.frombuffer(data, dtype, count, raw[0]).reshape(dims)


def read_tensors(data: bytes) -> dict[str, NDArray[np.generic]]:
    """The initializers of an ONNX model by name."""
    tensors = {}
    for field, graph in _fields(data, 0, len(data)):
        if field == _GRAPH and not isinstance(graph, int):
            for inner, span in _fields(data, *graph):
                if inner == _INITIALIZER and not isinstance(span, int):
                    name, array = _tensor(data, *span)
                    if array is not None:
                        tensors[name] = array
    return tensors


def _erf(x: Floats) -> Floats:
    """Abramowitz and Stegun 7.1.26, error below 1.5e-7."""
    a = np.abs(x)
    t = 1 / (1 + np.float32(0.3275911) * a)
    poly = np.full_like(t, 1.061405429)
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        poly = poly * t + np.float32(coefficient)
    return np.asarray(np.copysign(1 - poly * t * np.exp(-a * a), x), np.float32)


class NumpyModel:
    """Weights are widened to float32 once; the word table stays int8 and is widened row by row."""

    def __init__(self, data: bytes) -> None:
        tensors = read_tensors(data)
        self.words, self.word_scales = tensors["wemb_q"], np.asarray(tensors["wemb_s"], np.float32)
        self.weights = {name: array for name, array in tensors.items() if not name.endswith(("_q", "_s"))}
        for name, array in tensors.items():
            if name.endswith("_q") and name != "wemb_q":
                self.weights[name[:-2]] = array.astype(np.float32) * tensors[name[:-2] + "_s"].astype(np.float32)

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Floats:
        """int64 [batch, length] twice to float32 [batch, 384], each row of length 1."""
        batch, length = ids.shape
        x = self.words[ids].astype(np.float32) * self.word_scales[ids] + self._weight("pos")[:length]
        x = self._norm(x, "embeddings.LayerNorm")
        bias = ((1 - mask) * np.float32(-1e4)).astype(np.float32)[:, None, None, :]
        for layer in range(LAYERS):
            x = self._layer(x, bias, f"encoder.layer.{layer}.", batch, length)
        weight = mask[:, :, None].astype(np.float32)
        mean = (x * weight).sum(1) / weight.sum(1)
        return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True), np.float32)

    def _weight(self, name: str) -> Floats:
        return np.asarray(self.weights[name], np.float32)

    def _layer(self, x: Floats, bias: Floats, name: str, batch: int, length: int) -> Floats:
        w = self._weight
        qkv = x.reshape(-1, WIDTH) @ w(name + "qkvw") + w(name + "qkvb")  # 1/sqrt(32) is folded into q
        q, k, v = qkv.reshape(batch, length, 3, HEADS, WIDTH // HEADS).transpose(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(-1, -2) + bias
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        context = (scores @ v).transpose(0, 2, 1, 3).reshape(-1, WIDTH)
        attended = (context @ w(name + "ow") + w(name + "ob")).reshape(batch, length, WIDTH)
        x = self._norm(np.asarray(attended + x, np.float32), name + "attention.output.LayerNorm")
        hidden = x.reshape(-1, WIDTH) @ w(name + "iw") + w(name + "ib")
        hidden *= np.float32(0.5) * (1 + _erf(hidden * np.float32(0.70710678)))
        out = (hidden @ w(name + "fw") + w(name + "fb")).reshape(batch, length, WIDTH)
        return self._norm(np.asarray(out + x, np.float32), name + "output.LayerNorm")

    def _norm(self, x: Floats, name: str) -> Floats:
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return np.asarray(x * self._weight(name + ".g") + self._weight(name + ".b"), np.float32)
