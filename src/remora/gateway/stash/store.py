"""Originals of what was made smaller: by content, in state.db, for days. Those with secrets live in memory alone."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from remora.gateway.session import Principal
from remora.storage.sqlite.connection import StateUnavailable

if TYPE_CHECKING:
    import apsw

    from remora.config.results import StashConfig
    from remora.storage.sqlite.state import StateDb

log = logging.getLogger(__name__)

MEMORY_BYTES = 64 << 20  # of entries with secrets
RECENT_BYTES = 16 << 20  # of the others: they survive a state.db that is deleted under us
FRESH_SECONDS = 3600.0  # younger entries make room for nothing
INLINE_BYTES = 64 << 10

FIND = """
SELECT original, cleaned, kind, cleaned_kind, server, tool, trace_id, created, used FROM stash
WHERE handle = :handle AND used > :oldest
  AND (:any OR EXISTS (SELECT 1 FROM stash_owners o WHERE o.handle = stash.handle AND o.principal = :principal))
"""
KEEP = """
INSERT INTO stash (handle, original, cleaned, chars, size, kind, cleaned_kind, server, tool, trace_id, created, used)
VALUES (:handle, :original, :cleaned, :chars, :size, :kind, :cleaned_kind, :server, :tool, :trace_id, :now, :now)
ON CONFLICT (handle) DO UPDATE SET used = excluded.used, original = excluded.original, cleaned = excluded.cleaned,
  kind = excluded.kind, cleaned_kind = excluded.cleaned_kind, size = excluded.size
"""
OWN = "INSERT OR IGNORE INTO stash_owners (handle, principal) VALUES (?, ?)"
TOUCH = "UPDATE stash SET used = ? WHERE handle = ?"
USED_BYTES = "SELECT coalesce(sum(size), 0) FROM stash"
EXPIRED = "DELETE FROM stash WHERE used <= ?"
OLDEST = "SELECT handle, size FROM stash WHERE created < ? ORDER BY used"
DROP = "DELETE FROM stash WHERE handle = ?"
ORPHANS = "DELETE FROM stash_owners WHERE handle NOT IN (SELECT handle FROM stash)"
LIST = "SELECT handle, chars, kind, server, tool, created, used FROM stash WHERE used > ? ORDER BY used DESC LIMIT ?"


class NotKept(Exception):
    """There is no room for it, or nowhere to put it: then nothing may be left out of a result."""


@dataclass(frozen=True, slots=True)
class Kept:
    """`cleaned` is the text that was shown in part; `text` what the server sent."""

    handle: str
    text: str
    cleaned: str
    kind: str
    cleaned_kind: str
    server: str
    tool: str
    trace_id: str
    created: float
    used: float
    in_memory: bool = False
    owners: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Row:
    handle: str
    chars: int
    kind: str
    server: str
    tool: str
    created: float
    used: float
    in_memory: bool = False


class Stash:
    """`config` may be replaced at any time."""

    def __init__(self, state: StateDb, config: StashConfig) -> None:
        self.config = config
        self._state = state
        self._secret = _Memory(MEMORY_BYTES)
        self._recent = _Memory(RECENT_BYTES)

    @property
    def ttl(self) -> float:
        return self.config.ttl_hours * 3600.0

    async def put(
        self,
        text: str,
        *,
        principal: str,
        server: str = "",
        tool: str = "",
        trace_id: str = "",
        kind: str = "unknown",
        cleaned: str = "",
        cleaned_kind: str = "",
        secret: bool = False,
    ) -> str:
        """The handle of the text once it is safely kept; NotKept if it cannot be."""
        now = time.time()
        handle = handle_of(text)
        kept = Kept(handle, text, cleaned or text, kind, cleaned_kind or kind, server, tool, trace_id, now, now, secret,
                    frozenset((principal,)))  # fmt: skip
        if len(text) > self.config.max_entry_bytes:
            raise NotKept(f"it has {len(text):,} characters, more than stash.max_entry_bytes")
        if secret:
            self._secret.add(kept)
            return handle
        row = await _packed(kept)
        if row["size"] > self.config.max_entry_bytes:
            raise NotKept("it is larger than stash.max_entry_bytes")
        most, oldest = self.config.max_bytes, now - self.ttl
        try:
            stored = await self._state.run(lambda db: _insert(db, row, principal, now, oldest, most))
        except StateUnavailable as problem:
            raise NotKept(str(problem)) from problem
        if not stored:
            raise NotKept("stash.max_bytes is used up by entries of the last hour")
        self._recent.add(kept)
        return handle

    async def get(self, handle: str, principal: Principal) -> Kept | None:
        """None for what is unknown, expired, evicted or somebody else's: the same answer to all four."""
        now = time.time()
        admin = principal.scope == "admin"
        for memory in (self._secret, self._recent):
            held = memory.get(handle, now - self.ttl)
            if held is not None and (admin or principal.name in held.owners):
                memory.add(replace(held, used=now))
                if not held.in_memory:
                    self._state.submit(lambda db: db.execute(TOUCH, (now, handle)))
                return held
        values = {"handle": handle, "oldest": now - self.ttl, "any": admin, "principal": principal.name}
        try:
            found = await self._state.read(lambda db: _find(db, values))
        except StateUnavailable as problem:
            log.warning("the stash cannot be read: %s", problem)
            return None
        if found is not None:
            self._state.submit(lambda db: db.execute(TOUCH, (now, handle)))
        return found

    async def list(self, limit: int = 100) -> list[Row]:
        """The most recently used first."""
        oldest = time.time() - self.ttl
        stored = [Row(*row) for row in await self._state.read(lambda db: list(db.execute(LIST, (oldest, limit))))]
        held = [
            Row(one.handle, len(one.text), one.kind, one.server, one.tool, one.created, one.used, True)
            for one in self._secret.entries.values()
            if one.used > oldest
        ]
        return sorted([*held, *stored], key=lambda row: -row.used)[:limit]

    async def clear(self, handle: str = "") -> int:
        """Forget one entry, or all; how many there were."""
        held = self._secret.drop(handle)
        self._recent.drop(handle)
        return held + await self._state.run(lambda db: _clear(db, handle))


class _Memory:
    """Entries within a number of bytes, least recently used out first."""

    def __init__(self, limit: int) -> None:
        self.entries: OrderedDict[str, Kept] = OrderedDict()
        self._limit = limit
        self._bytes = 0

    def add(self, kept: Kept) -> None:
        earlier = self.entries.pop(kept.handle, None)
        if earlier is not None:
            self._bytes -= _size(earlier)
            kept = replace(kept, owners=kept.owners | earlier.owners)
        if _size(kept) > self._limit:
            if kept.in_memory:
                raise NotKept("it holds a secret and is too large to be kept in memory")
            return
        self.entries[kept.handle] = kept
        self._bytes += _size(kept)
        while self._bytes > self._limit:
            self._bytes -= _size(self.entries.popitem(last=False)[1])

    def get(self, handle: str, oldest: float) -> Kept | None:
        held = self.entries.get(handle)
        return held if held is not None and held.used > oldest else None

    def drop(self, handle: str) -> int:
        gone = [self.entries.pop(name) for name in ([handle] if handle else list(self.entries)) if name in self.entries]
        self._bytes -= sum(map(_size, gone))
        return len(gone)


def handle_of(text: str) -> str:
    return hashlib.sha256(_bytes_of(text)).hexdigest()[:16]


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _size(kept: Kept) -> int:
    return len(kept.text) + (len(kept.cleaned) if kept.cleaned is not kept.text else 0)


async def _packed(kept: Kept) -> dict[str, Any]:
    if len(kept.text) <= INLINE_BYTES:
        return _pack(kept)
    return await asyncio.to_thread(_pack, kept)


def _pack(kept: Kept) -> dict[str, Any]:
    import zstandard

    packer = zstandard.ZstdCompressor(level=3)
    original = packer.compress(_bytes_of(kept.text))
    cleaned = packer.compress(_bytes_of(kept.cleaned)) if kept.cleaned != kept.text else None
    return {
        "handle": kept.handle, "original": original, "cleaned": cleaned, "chars": len(kept.text),
        "size": len(original) + len(cleaned or b""), "kind": kept.kind, "cleaned_kind": kept.cleaned_kind,
        "server": kept.server, "tool": kept.tool, "trace_id": kept.trace_id, "now": kept.created,
    }  # fmt: skip


def _insert(db: apsw.Connection, row: dict[str, Any], principal: str, now: float, oldest: float, most: int) -> bool:
    used = int(next(iter(db.execute(USED_BYTES)))[0])
    if used + row["size"] > most:
        db.execute(EXPIRED, (oldest,))
        used = int(next(iter(db.execute(USED_BYTES)))[0])
        for handle, size in list(db.execute(OLDEST, (now - FRESH_SECONDS,))):
            if used + row["size"] <= most * 9 // 10:
                break
            db.execute(DROP, (handle,))
            used -= size
        db.execute(ORPHANS)
        if used + row["size"] > most:
            return False
    db.execute(KEEP, row)
    db.execute(OWN, (row["handle"], principal))
    return True


def _find(db: apsw.Connection, values: dict[str, Any]) -> Kept | None:
    row = next(iter(db.execute(FIND, values)), None)
    if row is None:
        return None
    import zstandard

    unpacker = zstandard.ZstdDecompressor()
    text = unpacker.decompress(row[0]).decode("utf-8", "surrogatepass")
    cleaned = unpacker.decompress(row[1]).decode("utf-8", "surrogatepass") if row[1] is not None else text
    return Kept(values["handle"], text, cleaned, *row[2:])


def _clear(db: apsw.Connection, handle: str) -> int:
    db.execute("DELETE FROM stash WHERE :handle = '' OR handle = :handle", {"handle": handle})
    gone = db.changes()
    db.execute(ORPHANS)
    return gone
