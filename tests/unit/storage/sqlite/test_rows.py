from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from remora.model.search import Where
from remora.storage.contract import NOW, a_batch, a_memory, created
from remora.storage.sqlite.rows import _tags, dump, from_json, from_row, to_json, to_row
from remora.storage.sqlite.store import SqliteStore

TAGS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=5)


@given(TAGS)
def test_rows_and_json_give_the_memory_back(tags: list[str]) -> None:
    memory = a_memory("x", tags=tuple(tags), metadata={"a": [1, None]}, pinned=True)
    assert from_row(to_row(memory, "local", 1, "op")[1:]) == memory
    assert from_json(to_json(memory)) == memory
    assert _tags(dump(tags)) == tuple(tags)


async def test_many_namespaces_and_tags_are_listed_in_order(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "memory.db", now=lambda: NOW)
    memories = [
        a_memory(f"row {n}", namespace=f"n{n}", created_at=NOW - n, tags=("t",) if n % 2 else ()) for n in range(100)
    ]
    await store.apply(a_batch(*map(created, memories)))
    for where, wanted in ((Where(), memories), (Where(tags=("t",)), memories[1::2])):
        page = await store.read(lambda view, where=where: view.list(where, 10))  # type: ignore[misc]
        assert list(page.rows) == wanted[:10]
        more = await store.read(lambda view, where=where, page=page: view.list(where, 10, page.next))  # type: ignore[misc]
        assert list(more.rows) == wanted[10:20]
    await store.close()
