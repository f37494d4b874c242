from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from remora.storage.contract import NOW, a_batch, a_memory, created
from remora.storage.sqlite.checks import _cyclic
from remora.storage.sqlite.store import SqliteStore

DAMAGE = {
    "lexical rows": "DELETE FROM grams WHERE rowid = 1",
    "supersession": "UPDATE memories SET superseded_by = 'nobody' WHERE rid = 1",
    "cycles": "UPDATE memories SET superseded_by = id WHERE rid = 1",
    "json": "UPDATE memories SET metadata = '{' WHERE rid = 1",
    "tags": "INSERT INTO memory_tags VALUES ('local', 'ghost', 0, 1)",
    "tag form": "UPDATE memories SET tags = '[\"Not Normal\"]' WHERE rid = 1",
    "versions": "INSERT INTO memory_versions SELECT tenant, id, 7, 0, 1, '', '{}' FROM memories WHERE rid = 1",
    "aliases": "INSERT INTO aliases VALUES ('local', 'x', 'y', 'nobody')",
}


@pytest.mark.parametrize("name", DAMAGE)
async def test_every_kind_of_damage_is_named(tmp_path: Path, name: str) -> None:
    store = SqliteStore.open(tmp_path / "memory.db", now=lambda: NOW)
    await store.apply(a_batch(created(a_memory("one", tags=("a",))), created(a_memory("two"))))
    assert {check[0] for check in await store.verify(deep=True)} == {"ok"}
    db = apsw.Connection(str(tmp_path / "memory.db"))
    db.execute(DAMAGE[name])
    db.close()
    found = {check[1] for check in await store.verify(deep=True) if check[0] == "FAIL"}
    assert name in found
    await store.close()


def test_circles() -> None:
    assert _cyclic({"a": "b", "b": "a"}, "a")
    assert not _cyclic({"a": "b", "b": "c"}, "a")
