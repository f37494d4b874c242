from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from remora.model.search import Where
from remora.storage.contract import a_batch, a_memory, created
from remora.storage.sqlite.search import _proposing, quote
from remora.storage.sqlite.store import SqliteStore, SqliteView


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path / "memory.db")
    memories = [a_memory(f"common filler word {n} {'rare' if n % 100 == 0 else 'usual'} w{n}") for n in range(1500)]
    for start in range(0, 1500, 500):
        await opened.apply(a_batch(*map(created, memories[start : start + 500])))
    yield opened
    await opened.close()


def contents(view: SqliteView, terms: list[str], where: Where, limit: int = 10) -> list[str]:
    rows = [hit.row for hit in view.lexical(terms, where, limit)]
    texts = {fact.row: fact.content for fact in view.facts(rows)}
    return [texts[row] for row in rows]


async def test_common_terms_propose_nothing_beside_rare_ones(store: SqliteStore) -> None:
    found = await store.read(lambda view: contents(view, ["common", "filler", "rare"], Where(), 100))
    assert len(found) == 15
    assert all("rare" in text for text in found)
    only_common = await store.read(lambda view: contents(view, ["common", "filler"], Where(), 100))
    assert len(only_common) == 100


async def test_more_matching_terms_come_first(store: SqliteStore) -> None:
    found = await store.read(lambda view: contents(view, ["rare", "w500"], Where(), 5))
    assert found[0].endswith("w500")


async def test_counts_follow_writes_at_once(store: SqliteStore) -> None:
    assert (await store.read(lambda view: view.term_stats(["brandnew"]))).df == {"brandnew": 0}
    await store.apply(a_batch(created(a_memory("brandnew"))))
    assert (await store.read(lambda view: view.term_stats(["brandnew"]))).df == {"brandnew": 1}


async def test_masks_are_kept_until_something_changes(store: SqliteStore) -> None:
    where = Where(tags=("t",))
    assert await store.read(lambda view: view.matching(where)) == 0
    await store.apply(a_batch(created(a_memory("tagged", tags=("t",)))))
    assert await store.read(lambda view: view.matching(where)) == 1


def test_which_terms_propose() -> None:
    assert _proposing([(1, "a"), (900, "b")], 999) == ([(1, "a"), (900, "b")], False)
    assert _proposing([(1, "a"), (900, "b")], 2000) == ([(1, "a")], False)
    assert _proposing([(900, "a"), (950, "b"), (999, "c")], 2000) == ([(900, "a"), (950, "b")], True)
    assert _proposing([(30_000, "a"), (30_000, "b")], 1_000_000) == ([(30_000, "a")], False)


def test_quoting() -> None:
    assert quote('a"b\0c') == '"a""bc"'
