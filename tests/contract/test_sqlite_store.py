"""The embedded backend passes the contract of every backend."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from remora.storage.contract import StoreContract
from remora.storage.protocol import Store
from remora.storage.sqlite.store import SqliteStore


class TestSqliteStore(StoreContract):
    async def open_store(self, place: Path, *, tenant: str = "local", now: Callable[[], int]) -> Store:
        return SqliteStore.open(place / "memory.db", tenant=tenant, now=now)
