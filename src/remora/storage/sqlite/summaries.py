"""Summaries that a language model made, so that the same text is not summed up twice."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

    from remora.storage.sqlite.state import StateDb

MOST = 2_000
GET = "SELECT text FROM summaries WHERE key = ? AND ts >= ?"
PUT = "REPLACE INTO summaries (key, ts, text) VALUES (?, ?, ?)"
TRIM = "DELETE FROM summaries WHERE key IN (SELECT key FROM summaries ORDER BY ts DESC LIMIT -1 OFFSET ?)"


class Summaries:
    """The newest are kept, for as long as the originals are (`ttl_hours`)."""

    def __init__(self, state: StateDb, ttl_hours: int) -> None:
        self._state = state
        self._life = ttl_hours * 3_600

    async def get(self, key: str) -> str | None:
        oldest = time.time() - self._life

        def read(db: apsw.Connection) -> str | None:
            row = next(iter(db.execute(GET, (key, oldest))), None)
            return str(row[0]) if row else None

        return await self._state.read(read)

    async def put(self, key: str, text: str) -> None:
        def write(db: apsw.Connection) -> None:
            db.execute(PUT, (key, time.time(), text))
            db.execute(TRIM, (MOST,))

        await self._state.run(write)
