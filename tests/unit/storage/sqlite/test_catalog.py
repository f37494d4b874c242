from __future__ import annotations

from pathlib import Path

import numpy as np

from remora.model.search import Where
from remora.storage.contract import DAY, NOW, a_batch, a_memory, changed, created
from remora.storage.sqlite.catalog import Catalog
from remora.storage.sqlite.store import SqliteStore


async def test_loaded_at_once_or_followed_step_by_step_it_is_the_same(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "memory.db", now=lambda: NOW)
    followed = Catalog()
    await store.read(lambda view: followed.load(view.connection))
    memories = [a_memory(f"row {n}", namespace=f"n{n % 3}", expires_at=NOW + DAY if n % 2 else None) for n in range(40)]
    await store.apply(a_batch(*map(created, memories)))
    _, change = changed(memories[3], status="archived", namespace="other", expires_at=None)
    await store.apply(a_batch(change))
    fresh = Catalog()

    def both(view: object) -> None:
        connection = view.connection  # type: ignore[attr-defined]
        followed.update(connection, list(range(1, 41)))
        fresh.load(connection)

    await store.read(both)
    for where in (Where(), Where(namespaces=("n1",)), Where(statuses=("archived",)), Where(kinds=("fact",))):
        assert np.array_equal(followed.mask("local", where), fresh.mask("local", where))
    for moment in (NOW, NOW + 2 * DAY):
        out = [set(each.outside_bounds(Where(), moment).tolist()) for each in (followed, fresh)]
        assert out[0] == out[1]
    assert len(out[0]) == 19
    assert fresh.live_counts("local", NOW) == followed.live_counts("local", NOW)
    assert fresh.mask("nobody", Where()).sum() == 0
    await store.close()
