import pytest
from tests.unit.embedding.fake_model import FakeModel

from remora.embedding import bundled
from remora.embedding.embedder import PROVIDERS, Embedder, open_embedder
from remora.embedding.local import LocalProvider
from remora.embedding.protocol import EmbeddingUnavailable
from remora.errors import ConfigError


async def test_none_never_gives_a_vector():
    embedder = open_embedder("none")
    assert embedder.space is None
    assert await embedder.embed_query("x") is None
    with pytest.raises(EmbeddingUnavailable):
        await embedder.embed_documents(["x"])
    assert embedder.health()["status"] == "lexical only"
    await embedder.close()


async def test_equal_texts_are_embedded_once():
    model = FakeModel()
    embedder = Embedder(LocalProvider(model))
    vectors = await embedder.embed_documents(["aa", "b", "aa"])
    assert vectors[:, 0].tolist() == [2, 1, 2]
    await embedder.embed_documents(["b", "ccc"])
    assert sorted(length for run in model.runs for length in run) == [1, 2, 3]
    await embedder.close()


async def test_query_and_document_are_remembered_apart_and_incognito_not_at_all():
    model = FakeModel()
    embedder = Embedder(LocalProvider(model))
    await embedder.embed_documents(["aa"])
    await embedder.embed_query("aa", remember=False)
    await embedder.embed_query("aa")
    await embedder.embed_query("aa")
    assert len(model.runs) == 3
    await embedder.close()


async def test_a_query_that_takes_too_long_is_none():
    model = FakeModel()
    model.gate.clear()
    embedder = Embedder(LocalProvider(model))
    assert await embedder.embed_query("aa", deadline=0.01) is None
    model.gate.set()
    await embedder.close()


async def test_a_changed_model_forgets_what_it_said():
    model = FakeModel()
    embedder = Embedder(LocalProvider(model))
    before = embedder.space
    await embedder.embed_documents(["aa"])
    embedder.move_to(1)
    await embedder.embed_documents(["aa"])
    assert len(model.runs) == 2
    assert embedder.space.id != before.id
    await embedder.close()


def test_a_slim_installation_is_lexical_and_says_so(monkeypatch):
    monkeypatch.setattr(bundled, "available", lambda: False)
    embedder = open_embedder("auto")
    assert embedder.space is None
    assert "not part of this installation" in embedder.health()["reason"]
    with pytest.raises(ConfigError):
        open_embedder("bundled")


@pytest.mark.parametrize("name", [name for name in PROVIDERS if name not in ("auto", "bundled", "none")] + ["wobble"])
def test_incomplete_or_unknown_providers_are_named(name):
    with pytest.raises(ConfigError, match=name):
        open_embedder(name)


def test_the_default_knows_its_space_without_loading():
    embedder = open_embedder()
    assert embedder.space.dim == 384
    assert not embedder.remote
    assert embedder.health()["status"] == "not loaded"
