import json

import httpx2
import numpy as np
import pytest

from remora.embedding.openai_compatible import BATCH, RemoteProvider
from remora.embedding.protocol import EmbeddingUnavailable


def provider(answer, kind="openai", model="text-embedding-3-small", **options):
    return RemoteProvider(kind, model, "http://host/v1/", transport=httpx2.MockTransport(answer), **options)


def openai(request):
    texts = json.loads(request.content)["input"]
    data = [{"index": at, "embedding": [3.0, 4.0, float(len(text))]} for at, text in enumerate(texts)]
    return httpx2.Response(200, json={"data": data[::-1]})


async def test_openai_rows_are_ordered_and_of_length_1():
    remote = provider(openai, api_key="k")
    assert remote.identity is None
    vectors = await remote.embed(["a", "bb"], "document")
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert vectors[1, 2] > vectors[0, 2]
    assert remote.identity.dim == 3
    assert remote.health()["status"] == "ready"
    await remote.close()


async def test_what_is_sent():
    seen = []

    def answer(request):
        seen.append(request)
        return openai(request)

    remote = provider(answer, model="nomic-embed-text", api_key="secret", dimensions=3)
    await remote.embed(["x"] * (BATCH + 1), "query")
    body = json.loads(seen[0].content)
    assert str(seen[0].url) == "http://host/v1/embeddings"
    assert seen[0].headers["authorization"] == "Bearer secret"
    assert body["dimensions"] == 3
    assert body["input"][0] == "search_query: x"
    assert [len(json.loads(request.content)["input"]) for request in seen] == [BATCH, 1]
    await remote.close()


async def test_ollama():
    def answer(request):
        assert request.url.path == "/v1/api/embed"
        return httpx2.Response(200, json={"embeddings": [[1.0, 0.0]] * len(json.loads(request.content)["input"])})

    remote = provider(answer, kind="ollama", model="all-minilm")
    assert (await remote.embed(["a", "b"], "query")).tolist() == [[1, 0], [1, 0]]
    await remote.close()


@pytest.mark.parametrize(
    ("answer", "retry"),
    [
        (lambda request: httpx2.Response(503, text="busy"), True),
        (lambda request: httpx2.Response(401, text="no"), False),
        (lambda request: httpx2.Response(200, text="<html>"), False),
        (lambda request: httpx2.Response(200, json={"data": []}), False),
        (lambda request: httpx2.Response(200, json={"wrong": 1}), False),
        (lambda request: httpx2.Response(200, json={"data": [{"index": 0, "embedding": [0.0, 0.0]}]}), False),
        (lambda request: httpx2.Response(200, json={"data": [{"index": 0, "embedding": ["x"]}]}), False),
    ],
)
async def test_an_odd_answer_is_a_failure_never_a_vector(answer, retry):
    remote = provider(answer)
    with pytest.raises(EmbeddingUnavailable) as caught:
        await remote.embed(["a"], "document")
    assert caught.value.retry is retry
    assert remote.health()["status"] == "failed"
    await remote.close()


async def test_nobody_there():
    def answer(request):
        raise httpx2.ConnectError("refused")

    remote = provider(answer)
    with pytest.raises(EmbeddingUnavailable, match="http://host/v1"):
        await remote.embed(["a"], "query")
    await remote.close()


async def test_another_width_is_refused():
    widths = iter([2, 3])

    def answer(request):
        return httpx2.Response(200, json={"data": [{"index": 0, "embedding": [1.0] * next(widths)}]})

    remote = provider(answer)
    await remote.embed(["a"], "document")
    with pytest.raises(EmbeddingUnavailable, match="3 numbers, was 2"):
        await remote.embed(["a"], "document")
    await remote.close()
