"""How recall, listing and reopening behave as the store grows; embedding is excluded.

python bench/memory_scale.py --rows 10000 100000 --json out.json
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from remora.memory import fuse
from remora.memory.indexing import entry
from remora.memory.plan import plan
from remora.model.memory import Memory, content_hash, new_id, now_us
from remora.model.ops import Actor, Batch, Change
from remora.model.search import Space, Where
from remora.storage.sqlite.store import SqliteStore, SqliteView

DIM, SPACE, SLICE = 384, "bench", 500
KINDS = ("fact", "decision", "note", "bug", "insight")
ACTOR = Actor(door="bench")


class Texts:
    """Sentences of words by Zipf's law, each with a code of its own; vectors in clusters, as real ones are."""

    def __init__(self, rows: int, seed: int = 7) -> None:
        self.random = np.random.default_rng(seed)
        letters = np.array(list("aeioubcdfghklmnprstvw"))
        self.words = ["".join(self.random.choice(letters, size)) for size in self.random.integers(3, 10, 60_000)]
        weights = 1 / (np.arange(len(self.words)) + 8)
        self.sums = np.cumsum(weights / weights.sum())
        self.centres = self.random.standard_normal((max(8, rows // 200), DIM)).astype(np.float32)

    def sentence(self) -> list[str]:
        picks = np.searchsorted(self.sums, self.random.random(int(self.random.integers(8, 26))))
        return [self.words[at] for at in picks]

    def vectors(self, count: int) -> np.ndarray:
        centres = self.centres[self.random.integers(0, len(self.centres), count)]
        found = centres + self.random.standard_normal((count, DIM)).astype(np.float32) * 0.8
        return found / np.linalg.norm(found, axis=1, keepdims=True)


def memory(texts: Texts, at: int) -> Memory:
    content = f"{' '.join(texts.sentence())} code-{at:07d}"
    kind = KINDS[at % len(KINDS)]
    return Memory(
        id=new_id(), content=content, content_hash=content_hash(content), namespace=f"project-{at % 27}",
        kind=kind, base_kind=kind, created_at=now_us(), updated_at=now_us(), tags=(f"team-{at % 10}",), lang="en",
    )  # fmt: skip


async def fill(store: SqliteStore, texts: Texts, rows: int) -> float:
    began = time.perf_counter()
    for start in range(0, rows, SLICE):
        memories = [memory(texts, at) for at in range(start, min(rows, start + SLICE))]
        changes = tuple(Change(kind="create", before=None, after=one, index=entry(one)) for one in memories)
        await store.apply(Batch(id=new_id(), at=now_us(), actor=ACTOR, changes=changes))
        while taken := await store.take_unembedded(SPACE, SLICE):
            vectors = texts.vectors(len(taken))
            await store.put_vectors(SPACE, [(chunk.chunk, chunk.hash) for chunk in taken], vectors)
    return rows / (time.perf_counter() - began)


async def timed(store: SqliteStore, work: Callable[[SqliteView], Any], times: int) -> dict[str, float]:
    """Wall time of the whole call, and the processor time of its reader thread."""
    spent = []

    def counted(view: SqliteView) -> None:
        began = time.thread_time()
        work(view)
        spent.append((time.thread_time() - began) * 1000)

    await store.read(work)
    took = []
    for _ in range(times):
        began = time.perf_counter()
        await store.read(counted)
        took.append((time.perf_counter() - began) * 1000)
    wall, cpu = np.percentile(took, [50, 95]), float(np.median(spent))
    return {"p50": round(float(wall[0]), 2), "p95": round(float(wall[1]), 2), "cpu": round(cpu, 2)}


def own_memory() -> float:
    """Megabytes that are this process's own; pages of the mapped file belong to the system's cache."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("RssAnon:")[1].split()[0]) / 1024


async def measure(path: Path, texts: Texts, rows: int, times: int) -> dict[str, Any]:
    result: dict[str, Any] = {}
    before = own_memory()
    began = time.perf_counter()
    store = SqliteStore.open(path)
    query = texts.vectors(1)[0]
    await store.read(lambda view: view.nearest(query, SPACE, Where(), 10))
    result["reopen_s"] = round(time.perf_counter() - began, 2)
    filters = {
        "all": Where(),
        "namespace_3.7%": Where(namespaces=("project-5",)),
        "tag_10%": Where(tags=("team-3",)),
        "kind_20%": Where(kinds=("bug",)),
        "recent_half": Where(after=now_us() - 1),
    }
    filters["recent_half"] = Where(
        after=(await store.read(lambda view: view.list(Where(), 1))).rows[0].created_at - 3_000_000
    )

    def search(where: Where) -> Callable[[SqliteView], Any]:
        def run(view: SqliteView) -> Any:
            words = texts.sentence()[:5]
            return fuse.search(view, plan(" ".join(words)), where, 10, [texts.vectors(1)[0]], SPACE)

        return run

    for name, where in filters.items():
        result[f"recall {name}"] = await timed(store, search(where), times)
        result[f"vectors {name}"] = await timed(
            store, lambda view, w=where: view.nearest(texts.vectors(1)[0], SPACE, w, 10), times
        )
        result[f"words {name}"] = await timed(
            store, lambda view, w=where: view.lexical(texts.sentence()[:5], w, 200), times
        )
        result[f"list {name}"] = await timed(store, lambda view, w=where: view.list(w, 20), times)
    codes = [int(at) for at in np.random.default_rng(3).integers(0, rows, 50)]
    hits = 0
    for at in codes:
        ranking = await store.read(
            lambda view, at=at: _first(view, fuse.search(view, plan(f"code-{at:07d}"), Where(), 1))
        )
        hits += f"code-{at:07d}" in ranking
    result["codes_recall@1"] = hits / len(codes)
    result["memory_mb"] = round(own_memory() - before, 1)
    result["vector_recall@10"] = await store.read(lambda view: agreement(view, texts, rows))
    await store.close()
    return result


def _first(view: SqliteView, ranking: fuse.Ranking) -> str:
    facts = view.facts([hit.row for hit in ranking.hits])
    return facts[0].content if facts else ""


def agreement(view: SqliteView, texts: Texts, rows: int, queries: int = 20) -> float:
    """The share of the exact ten nearest that the scan finds."""
    blobs = view.connection.execute("SELECT e FROM vectors_1 ORDER BY chunk_rid LIMIT 200000").fetchall()
    vectors = np.frombuffer(b"".join(blob for (blob,) in blobs), "<f2").reshape(-1, DIM).astype(np.float32)
    if len(vectors) < rows:
        return float("nan")
    shared = 0
    for query in texts.vectors(queries):
        exact = set((np.argsort(-(vectors @ query))[:10] + 1).tolist())
        shared += len(exact & {row for row, _ in view.nearest(query, SPACE, Where(), 10)})
    return round(shared / (10 * queries), 3)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    table: dict[int, Any] = {}
    with tempfile.TemporaryDirectory(prefix="remora-scale-") as folder:
        for rows in given.rows:
            texts = Texts(rows)
            path = (given.keep or Path(folder)) / f"{rows}.db"
            filled = None
            if not path.exists():
                store = SqliteStore.open(path)
                await store.add_space(Space(id=SPACE, dim=DIM, label="bench"))
                filled = await fill(store, texts, rows)
                await store.close()
            table[rows] = {"rows_per_s": filled and round(filled), "file_mb": path.stat().st_size >> 20}
            table[rows] |= await measure(path, replace_random(texts), rows, given.times)
            print(f"# {rows} memories")
            for name, value in table[rows].items():
                print(f"  {name:28} {value}")
    if given.json:
        given.json.write_text(json.dumps(table, indent=2))


def replace_random(texts: Texts) -> Texts:
    texts.random = np.random.default_rng(99)
    return texts


if __name__ == "__main__":
    asyncio.run(main())
