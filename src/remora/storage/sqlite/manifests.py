"""What each upstream looked like when it was last reached, so that the next start can serve it at once."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import apsw

    from remora.storage.sqlite.state import StateDb

log = logging.getLogger(__name__)

SELECT = "SELECT server, fingerprint, era, payload, ts FROM manifests WHERE server IN (SELECT value FROM json_each(?))"
UPSERT = """
INSERT INTO manifests (server, fingerprint, era, payload, ts) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (server) DO UPDATE SET
  fingerprint = excluded.fingerprint, era = excluded.era, payload = excluded.payload, ts = excluded.ts
"""
DELETE = "DELETE FROM manifests WHERE server = ?"


@dataclass(frozen=True, slots=True)
class Manifest:
    """`payload` is the gateway's own: handshake or discovery result and the lists."""

    server: str
    fingerprint: str
    era: str | None
    payload: dict[str, Any]
    ts: float


class Manifests:
    def __init__(self, state: StateDb) -> None:
        self._state = state

    async def load(self, servers: Iterable[str]) -> dict[str, Manifest]:
        """Those that are there and readable; a state.db that cannot be used is the same as an empty one."""
        from remora.storage.sqlite.connection import StateUnavailable

        names = json.dumps(list(servers))
        try:
            return await self._state.read(lambda db: _load(db, names))
        except StateUnavailable as error:
            log.warning("no manifests: %s", error)
            return {}

    def save(self, server: str, fingerprint: str, payload: Mapping[str, Any]) -> None:
        """Written soon; `payload["era"]`, if a string, is also the row's era."""
        era = payload.get("era")
        row = (server, fingerprint, era if isinstance(era, str) else None, json.dumps(payload), time.time())
        self._state.submit(lambda db: db.execute(UPSERT, row))

    def delete(self, server: str) -> None:
        self._state.submit(lambda db: db.execute(DELETE, (server,)))


def _load(db: apsw.Connection, names: str) -> dict[str, Manifest]:
    found: dict[str, Manifest] = {}
    for server, fingerprint, era, text, ts in db.execute(SELECT, (names,)):
        try:
            payload = json.loads(text)
        except (ValueError, TypeError):
            payload = None
        if isinstance(payload, dict):
            found[server] = Manifest(server, fingerprint, era, payload, ts)
        else:
            log.warning("the stored manifest of %s is damaged and ignored", server)
    return found
