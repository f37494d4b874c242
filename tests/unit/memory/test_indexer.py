from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from remora import AsyncMemory
from remora.embedding.embedder import Embedder
from remora.embedding.protocol import EmbeddingUnavailable, Identity


class Fake:
    """Every word is a direction; `model` makes another space of it."""

    multilingual = remote = False

    def __init__(self, model: str = "one", dim: int = 64) -> None:
        self.name, self.model, self.dim = "fake", model, dim
        self.down = False
        self.seen: list[str] = []

    @property
    def identity(self) -> Identity:
        return Identity("fake", self.model, "r1", self.dim)

    async def embed(self, texts: Sequence[str], role: Any) -> Any:
        if self.down:
            raise EmbeddingUnavailable("it is down")
        self.seen += texts
        found = np.zeros((len(texts), self.dim), np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                found[row, int(hashlib.sha256(f"{self.model}{word}".encode()).hexdigest(), 16) % self.dim] += 1
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)

    def health(self) -> dict[str, object]:
        return {"status": "ready"}

    async def close(self) -> None:
        pass


@pytest.fixture
async def fake() -> Fake:
    return Fake()


@pytest.fixture
async def memory(tmp_path: Path, fake: Fake) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(tmp_path / "m.db", embedder=Embedder(fake)) as opened:
        yield opened


async def test_everything_gets_its_vector_and_is_found_by_it(memory: AsyncMemory) -> None:
    await memory.store_many([f"word{n} alpha" for n in range(150)])
    await memory.wait_indexed()
    assert await memory.engine.store.read(lambda view: view.covered(view.spaces()[0].id)) == (150, 150)
    found = await memory.recall("word7 alpha")
    assert found.mode_used == "hybrid"
    assert found[0].content == "word7 alpha"
    assert [hit.content for hit in await memory.similar(found[0].id, limit=1)] != []


async def test_another_model_makes_its_own_space_and_then_the_old_one_goes(memory: AsyncMemory, tmp_path: Path) -> None:
    await memory.store_many([f"word{n} alpha" for n in range(20)])
    await memory.wait_indexed()
    await memory.close()
    async with AsyncMemory(tmp_path / "m.db", embedder=Embedder(Fake("two", dim=32))) as moved:
        assert await moved.recall("word3") != [], "no query fails during the move"
        await moved.wait_indexed()
        (space,) = await moved.engine.store.read(lambda view: view.spaces())
        assert (space.dim, space.active) == (32, True)
        assert (await moved.recall("word3 alpha")).mode_used == "hybrid"


async def test_a_model_that_is_down_stops_nothing(memory: AsyncMemory, fake: Fake) -> None:
    await memory.wait_indexed()
    fake.down = True
    await memory.store("stored all the same")
    found = await memory.recall("stored")
    assert found.mode_used == "lexical"
    await memory.wait_indexed()
    assert "down" in (await memory.stats())["embedding"]["problem"]
    fake.down = False
    await memory.reembed()


async def test_edited_texts_are_embedded_anew(memory: AsyncMemory, fake: Fake) -> None:
    id_ = await memory.store("before")
    await memory.wait_indexed()
    await memory.update(id_, content="afterwards")
    await memory.wait_indexed()
    assert "afterwards" in fake.seen
    assert [check for check in await memory.verify(deep=True) if check[0] == "FAIL"] == []
