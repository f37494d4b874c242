import numpy as np
import pytest

from remora.embedding.local import LocalProvider
from remora.embedding.static import StaticModel
from remora.errors import ConfigError


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.npz"
    np.savez(
        path,
        words=np.frombuffer(b"cat\nkitten\nserver", np.uint8),
        vectors=np.array([[100, 10], [90, 30], [0, 100]], np.int8),
        scales=np.full(3, 0.01, np.float32),
        weights=np.ones(3, np.float32),
    )
    return path


async def test_words_near_each_other(table):
    provider = LocalProvider(StaticModel(table))
    cat, kittens, server, unknown = await provider.embed(["a cat", "kittens!", "webServer", "zzz"], "document")
    assert cat @ kittens > 0.9 > 0.5 > cat @ server
    assert np.isclose(np.linalg.norm(unknown), 1)
    assert provider.identity.dim == 2
    await provider.close()


def test_another_table_is_another_space(table, tmp_path):
    other = tmp_path / "b" / "table.npz"
    other.parent.mkdir()
    with np.load(table) as old:
        np.savez(other, **(dict(old) | {"vectors": old["vectors"] + 1}))
    assert StaticModel(table).identity.id != StaticModel(other).identity.id


def test_no_table(tmp_path):
    with pytest.raises(ConfigError):
        StaticModel(tmp_path / "none.npz")
