"""Where answers are kept: the newest in memory, all of them in state.db, least recently used out first."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from remora.gateway.session import Params
from remora.gateway.wire import jsonrpc
from remora.gateway.wire.jsonrpc import RawResult
from remora.storage.sqlite.connection import StateUnavailable

if TYPE_CHECKING:
    import apsw

    from remora.config.results import CacheConfig
    from remora.storage.sqlite.state import StateDb

log = logging.getLogger(__name__)

MEMORY_BYTES = 16 << 20
TRIM_EVERY = 200  # answers written between two looks at the quotas
INLINE_BYTES = 64 << 10

FIND = "SELECT result, created, expires FROM cache WHERE key = ? AND (expires IS NULL OR expires > ?)"
KEEP = """
INSERT OR REPLACE INTO cache (key, server, tool, result, size, created, expires, used) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
TOUCH = "UPDATE cache SET used = ? WHERE key = ?"
EXPIRED = "DELETE FROM cache WHERE expires <= ?"
TOO_MANY = "DELETE FROM cache WHERE key IN (SELECT key FROM cache ORDER BY used DESC LIMIT -1 OFFSET ?)"
TOO_LARGE = """
DELETE FROM cache WHERE key IN (
  SELECT key FROM (SELECT key, sum(size) OVER (ORDER BY used DESC, key) AS total FROM cache) WHERE total > ?)
"""
CLEAR = "DELETE FROM cache WHERE (:server = '' OR server = :server) AND (:tool = '' OR tool = :tool)"


@dataclass(frozen=True, slots=True)
class Answer:
    """A kept result; `size` is that of its JSON."""

    result: Params
    created: float
    expires: float | None
    server: str
    tool: str
    size: int

    def lives(self, now: float) -> bool:
        return self.expires is None or self.expires > now


class AnswerStore:
    """A store that fails keeps nothing; no call fails by it."""

    def __init__(self, state: StateDb, config: CacheConfig) -> None:
        self.config = config
        self._state = state
        self._memory: OrderedDict[str, Answer] = OrderedDict()
        self._bytes = 0
        self._written = 0

    def held(self, key: str, now: float) -> Answer | None:
        """From memory: no wait at all."""
        found = self._memory.get(key)
        if found is None or not found.lives(now):
            return None
        self._memory.move_to_end(key)
        return found

    async def load(self, key: str, server: str, tool: str, now: float) -> Answer | None:
        try:
            row = await self._state.read(lambda db: next(iter(db.execute(FIND, (key, now))), None))
        except StateUnavailable as problem:
            log.warning("no cache: %s", problem)
            return None
        if row is None:
            return None
        self._state.submit(lambda db: db.execute(TOUCH, (now, key)))
        raw, result = await _off_loop(len(row[0]) * 4, _unpacked, row[0])
        answer = Answer(result, row[1], row[2], server, tool, len(raw))
        self._hold(key, answer)
        return answer

    async def keep(self, key: str, answer: Answer) -> None:
        if answer.size > self.config.max_entry_bytes:
            return
        packed = await _off_loop(answer.size, _packed, answer.result)
        self._hold(key, answer)
        row = (key, answer.server, answer.tool, packed, len(packed), answer.created, answer.expires, answer.created)
        self._state.submit(lambda db: db.execute(KEEP, row))
        self._written += 1
        if self._written % TRIM_EVERY == 1:
            most, space, now = self.config.max_entries, self.config.max_bytes, answer.created
            self._state.submit(lambda db: _trim(db, now, most, space))

    async def clear(self, server: str = "", tool: str = "") -> int:
        """Forget all, or those of a server or tool; how many there were."""
        for key, each in list(self._memory.items()):
            if server in ("", each.server) and tool in ("", each.tool):
                del self._memory[key]
                self._bytes -= each.size
        return await self._state.run(lambda db: _clear(db, server, tool))

    def _hold(self, key: str, answer: Answer) -> None:
        if answer.size > MEMORY_BYTES // 4:
            return
        earlier = self._memory.pop(key, None)
        self._bytes += answer.size - (earlier.size if earlier else 0)
        self._memory[key] = answer
        while self._bytes > MEMORY_BYTES or len(self._memory) > self.config.max_entries:
            self._bytes -= self._memory.popitem(last=False)[1].size


def size_of(result: Params) -> int:
    return len(result.raw) if type(result) is RawResult else len(jsonrpc.encode(result))


async def _off_loop(size: int, work: Any, value: Any) -> Any:
    return work(value) if size <= INLINE_BYTES else await asyncio.to_thread(work, value)


def _packed(result: Params) -> bytes:
    import zstandard

    raw = result.raw if type(result) is RawResult else jsonrpc.encode(result)
    return zstandard.ZstdCompressor(level=3).compress(raw)


def _unpacked(packed: bytes) -> tuple[bytes, Params]:
    import zstandard

    raw = zstandard.ZstdDecompressor().decompress(packed)
    result = json.loads(raw)
    if len(raw) <= jsonrpc.RAW_RESULT_BYTES:
        return raw, result
    kept = RawResult(result)
    kept.raw = raw
    return raw, kept


def _trim(db: apsw.Connection, now: float, most: int, space: int) -> None:
    db.execute(EXPIRED, (now,))
    db.execute(TOO_MANY, (most,))
    db.execute(TOO_LARGE, (space,))


def _clear(db: apsw.Connection, server: str, tool: str) -> int:
    db.execute(CLEAR, {"server": server, "tool": tool})
    return db.changes()


def now() -> float:
    return time.time()
