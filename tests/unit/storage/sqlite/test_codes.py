from __future__ import annotations

import numpy as np
import pytest

from remora.storage.sqlite import codes as module
from remora.storage.sqlite.codes import Codes, encode
from remora.storage.sqlite.opening import Connection
from remora.storage.sqlite.vectors import prepared

DIM = 96


@pytest.fixture
def connection() -> Connection:
    opened = Connection(":memory:")
    opened.execute("CREATE TABLE vectors_1 (chunk_rid INTEGER PRIMARY KEY, e BLOB)")
    opened.execute("CREATE TABLE codes_1 (chunk_rid INTEGER PRIMARY KEY, rid INTEGER, code BLOB)")
    opened.execute("CREATE TABLE chunks (chunk_rid INTEGER PRIMARY KEY, rid INTEGER, no INTEGER)")
    return opened


def put(connection: Connection, rids: list[int], vectors: np.ndarray, first: int = 1) -> None:
    chunks = list(range(first, first + len(rids)))
    for rid, row in zip(rids, prepared([(chunk, "h") for chunk in chunks], vectors), strict=True):
        connection.execute("INSERT INTO vectors_1 VALUES (?, ?)", (row.chunk, row.e))
        connection.execute("INSERT INTO codes_1 VALUES (?, ?, ?)", (row.chunk, rid, row.code))
        connection.execute("INSERT INTO chunks VALUES (?, ?, 0)", (row.chunk, rid))


def some_vectors(count: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    found = rng.standard_normal((count, DIM)).astype(np.float32)
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float16).astype(np.float32)


def test_a_code_is_the_signs_in_whole_words() -> None:
    assert encode(np.full((1, 65), 1, np.float32)).tolist() == [[2**64 - 1, 2**7]]


def test_the_scan_finds_what_exact_search_finds(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = some_vectors(4000)
    put(connection, list(range(1, 4001)), vectors)
    index = Codes(1, DIM)
    index.load(connection)
    mask = np.zeros(4001, np.bool_)
    mask[1::2] = True
    query = vectors[10] + 0.1 * some_vectors(1, 5)[0]
    exact = [int(at) + 1 for at in np.argsort(-(vectors @ query)) if mask[at + 1]][:10]
    assert [rid for rid, _ in index.nearest(connection, query, mask, 10)] == exact
    monkeypatch.setattr(module, "EXACT_BELOW", 0)
    monkeypatch.setattr(module, "EXACT_FROM_FILE", 0)
    monkeypatch.setattr(module, "RESCORED_PER_HIT", 100)
    fresh = Codes(1, DIM)
    fresh.load(connection)
    assert len(set(exact) & {rid for rid, _ in fresh.nearest(connection, query, mask, 10)}) >= 9


def test_rows_that_go_and_change_are_followed(connection: Connection) -> None:
    vectors = some_vectors(50)
    put(connection, list(range(1, 51)), vectors)
    index = Codes(1, DIM)
    index.load(connection)
    mask = np.ones(200, np.bool_)
    for table in ("vectors_1", "codes_1", "chunks"):
        connection.execute(f"DELETE FROM {table} WHERE chunk_rid IN (3, 4)")
    put(connection, [4, 120], some_vectors(2, 9), first=60)
    index = index.update(connection, [3, 4, 120])
    assert index.cosines(connection, vectors[2], [3]) == {}
    assert set(index.cosines(connection, vectors[2], [1, 4, 120])) == {1, 4, 120}
    assert index.nearest(connection, some_vectors(2, 9)[1], mask, 1)[0][0] == 120
    for rid in range(1, 51):
        connection.execute("DELETE FROM codes_1 WHERE rid = ?", (rid,))
    many = index
    for start in range(0, 3000, 500):
        put(connection, list(range(200 + start, 700 + start)), some_vectors(500, start), first=1000 + start)
        many = many.update(connection, list(range(200 + start, 700 + start)))
        connection.execute("DELETE FROM codes_1 WHERE rid < ?", (700 + start,))
        many = many.update(connection, list(range(200 + start, 700 + start)))
    assert many.size < 3000, "dead rows are given up"


def test_a_long_memory_counts_by_its_best_three(connection: Connection) -> None:
    vectors = some_vectors(13)
    put(connection, [1] * 12 + [2], vectors)
    index = Codes(1, DIM)
    index.load(connection)
    query = vectors[3]
    own = np.sort(vectors[:12] @ query)[-3:].mean()
    assert index.cosines(connection, query, [1])[1] == pytest.approx(float(own), abs=1e-3)
    assert dict(index.nearest(connection, query, np.ones(3, np.bool_), 2))[1] == pytest.approx(float(own), abs=1e-3)
