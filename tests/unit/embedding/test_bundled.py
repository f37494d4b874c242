import shutil

import numpy as np
import pytest

from remora.embedding import bundled
from remora.embedding.bundled import BundledModel, data_folder
from remora.embedding.local import LocalProvider
from remora.embedding.protocol import EmbeddingUnavailable

TEXTS = (
    "The deploy pipeline uses blue-green releases.",
    "We roll out new versions with two environments and switch traffic.",
    "My cat sleeps on the radiator.",
    "Die Datenbank läuft auf Port 5433. 数据库 😀 naïve café",
)


async def embed(texts, **options):
    provider = LocalProvider(BundledModel(**options))
    try:
        return await provider.embed(texts, "document"), provider.health()
    finally:
        await provider.close()


async def test_vectors_mean_something():
    vectors, health = await embed(TEXTS)
    assert vectors.shape == (4, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > 0.3 > vectors[0] @ vectors[2]
    assert health["status"] == "ready"


async def test_alone_and_batched_and_numpy_agree():
    together, _ = await embed(TEXTS)
    alone = np.vstack([(await embed([text]))[0] for text in TEXTS])
    by_numpy, health = await embed(TEXTS, runner="numpy")
    assert health["runner"] == "numpy"
    assert (together * alone).sum(1).min() > 0.9999
    assert (together * by_numpy).sum(1).min() > 0.9999


async def test_without_onnxruntime_numpy_runs(monkeypatch):
    monkeypatch.setattr(bundled, "onnx_run", lambda data, threads: None)
    _, health = await embed(TEXTS[:1])
    assert health["runner"] == "numpy"


async def test_a_damaged_file_is_refused(tmp_path):
    for name in bundled.SHA256:
        shutil.copy(str(data_folder() / name), tmp_path / name)
    vocabulary = tmp_path / bundled.VOCABULARY
    vocabulary.write_bytes(vocabulary.read_bytes()[:-1])
    with pytest.raises(EmbeddingUnavailable, match="damaged"):
        await embed(TEXTS[:1], folder=tmp_path)
    vocabulary.unlink()
    with pytest.raises(EmbeddingUnavailable, match="cannot be read"):
        await embed(TEXTS[:1], folder=tmp_path)


def test_licence_and_provenance_stand_beside_the_model():
    names = {entry.name for entry in data_folder().iterdir()}
    assert {"LICENSE-APACHE-2.0.txt", "README.md"} <= names
    readme = (data_folder() / "README.md").read_text()
    assert all(digest in readme for digest in bundled.SHA256.values())
