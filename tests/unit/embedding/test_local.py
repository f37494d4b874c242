import asyncio

import pytest
from tests.unit.embedding.fake_model import FakeModel

from remora.embedding.local import LocalProvider, batches
from remora.embedding.protocol import EmbeddingUnavailable


def test_batches_are_sorted_by_length_and_bounded():
    found = list(batches([10, 3, 500, 3, 10], budget=40))
    assert found == [[1, 3, 0, 4], [2]]


async def test_rows_come_in_the_order_of_the_texts():
    provider = LocalProvider(FakeModel())
    vectors = await provider.embed(["aaa", "a", "aa"], "document")
    assert vectors[:, 0].tolist() == [3, 1, 2]
    assert (await provider.embed([], "document")).shape == (0, 2)
    assert provider.health()["status"] == "ready"
    await provider.close()


async def test_a_query_overtakes_waiting_documents():
    model = FakeModel()
    model.gate.clear()
    provider = LocalProvider(model)
    documents = asyncio.create_task(provider.embed(["d" * 1500, "d" * 1600, "d" * 1700], "document"))
    await asyncio.to_thread(model.running.wait)
    query = asyncio.create_task(provider.embed(["q"], "query"))
    while not provider._queries:  # the query has been queued while the first document runs
        await asyncio.sleep(0)
    model.gate.set()
    await asyncio.gather(documents, query)
    assert model.runs[0] == [1500]
    assert model.runs[1] == [1]
    await provider.close()


async def test_texts_of_several_callers_share_a_batch():
    model = FakeModel()
    model.gate.clear()
    provider = LocalProvider(model)
    first = asyncio.create_task(provider.embed(["a"], "document"))
    await asyncio.to_thread(model.running.wait)
    others = [asyncio.create_task(provider.embed(["b" * 5], "document")) for _ in range(8)]
    while len(provider._documents) < 8:
        await asyncio.sleep(0)
    model.gate.set()
    await asyncio.gather(first, *others)
    assert model.runs == [[1], [5] * 8]
    await provider.close()


@pytest.mark.parametrize("model", [FakeModel(broken=True), FakeModel(fails=True)])
async def test_failures_reach_everybody_and_later_callers(model):
    provider = LocalProvider(model)
    for _ in range(2):
        with pytest.raises((EmbeddingUnavailable, RuntimeError)):
            await provider.embed(["a"], "document")
    await provider.close()
    assert provider.health()["status"] == "failed"


async def test_closing_answers_who_waits():
    model = FakeModel()
    model.gate.clear()
    provider = LocalProvider(model)
    waiting = asyncio.create_task(provider.embed(["a" * 1500, "b" * 1600], "document"))
    await asyncio.to_thread(model.running.wait)
    closing = asyncio.create_task(provider.close())
    await asyncio.sleep(0)
    model.gate.set()
    with pytest.raises(EmbeddingUnavailable):
        await waiting
    await closing
    with pytest.raises(EmbeddingUnavailable):
        await provider.embed(["a"], "query")
