"""Nearest vectors of one embedding space: 1-bit codes in memory, exact scores from the file.

The codes of all chunks stand word by word (`words[w, i]` = 64 bits of chunk i). A scan counts differing bits over the
rows that the filter leaves, keeps the best few hundred, and only these are read and scored exactly. Small sets are
scored exactly at once.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remora.storage.sqlite.catalog import Mask
from remora.storage.sqlite.opening import Connection

Vector = NDArray[np.float32]
BLOCK = 131_072
FAR = 9_999
FILTERS = 8
EXACT_BELOW = 20_000
SMALL = 200  # not worth a place in the cache
EXACT_FROM_FILE = 6_000  # so many are read once and kept; reading more costs more than the scan
# Of the nearest codes so many are scored exactly: on real texts the ten best are then found to .997 and more.
LEAST_RESCORED, RESCORED_PER_HIT = 400, 4
CACHE_BYTES = 32 << 20
LONG = 4  # chunks; a longer memory counts by the mean of its best three (measured: with 8, .003 less on sessions)


def encode(vectors: Vector) -> NDArray[np.uint64]:
    """Sign bits, padded with zeros to whole words."""
    bits = np.packbits(vectors > 0, axis=1)
    padding = -bits.shape[1] % 8
    return np.ascontiguousarray(np.pad(bits, ((0, 0), (0, padding)))).view(np.uint64)


class Codes:
    """One space in memory; about 57 bytes a chunk at 384 dimensions."""

    def __init__(self, number: int, dim: int) -> None:
        self.number = number
        self.dim = dim
        self.width = -(-dim // 64)
        self._version = 0
        self._filters: dict[int, tuple[Mask, tuple[int, int], Mask, int]] = {}
        self._lock = threading.Lock()  # of the vector cache; scans read arrays that only ever grow
        self.size = 0
        self.first = np.zeros(1024, np.int32)  # by rid: position of its first chunk
        self.count = np.zeros(1024, np.uint16)  # by rid: how many
        self.words = np.zeros((self.width, 0), np.uint64)
        self.chunk: NDArray[np.int64] | NDArray[np.uint32] = np.zeros(0, np.uint32)
        self.rid = np.zeros(0, np.uint32)
        self.slot = np.zeros(0, np.int32)  # by position: where its vector stands in the cache
        self.dead = np.zeros(0, np.bool_)
        self._resize(1024)
        slots = max(1, CACHE_BYTES // (4 * dim))
        self._cache = np.empty((0, dim), np.float32)
        self._slots = slots
        self._owner = np.full(slots, -1, np.int64)
        self._next = 0

    def _resize(self, capacity: int) -> None:
        words = np.zeros((self.width, capacity), np.uint64)
        chunk: Any = np.zeros(capacity, np.int64 if capacity > 2**32 - 1 else np.uint32)
        rid = np.zeros(capacity, np.uint32)
        slot = np.full(capacity, -1, np.int32)
        dead = np.ones(capacity, np.bool_)
        if self.size:
            n = self.size
            words[:, :n], chunk[:n], rid[:n] = self.words[:, :n], self.chunk[:n], self.rid[:n]
            slot[:n], dead[:n] = self.slot[:n], self.dead[:n]
        self.words, self.chunk, self.rid, self.slot, self.dead = words, chunk, rid, slot, dead

    def _place(self, start: int, end: int) -> None:
        """Note where the chunks of each memory stand; they stand side by side."""
        part = self.rid[start:end]
        first = np.flatnonzero(np.concatenate([[True], part[1:] != part[:-1]])) if len(part) else np.empty(0, np.intp)
        rids, counts = part[first], np.diff(first, append=len(part))
        if len(rids) and int(rids[-1]) >= len(self.first):
            grown = int(rids[-1] * 1.25) + 1024
            for name in ("first", "count"):
                old = getattr(self, name)
                fresh = np.zeros(grown, old.dtype)
                fresh[: len(old)] = old
                setattr(self, name, fresh)
        self.first[rids], self.count[rids] = start + first, counts

    def load(self, connection: Connection) -> None:
        found = connection.execute(f"SELECT count(*) FROM codes_{self.number}").fetchone()
        self.size = 0
        self._resize(int(found[0]) + 16_384)  # type: ignore[index]
        self._owner[:] = -1
        cursor = connection.execute(f"SELECT chunk_rid, rid, code FROM codes_{self.number}")
        while rows := list(islice(cursor, 10_000)):
            self._append(rows)
        self._sort()
        self._place(0, self.size)
        if self.size <= min(EXACT_BELOW, self._slots):
            self._fill(connection, np.arange(self.size))

    def _sort(self) -> None:
        """Bring the chunks of edited memories together again."""
        rid = self.rid[: self.size]
        if (rid[1:] < rid[:-1]).any():
            order = np.argsort(rid, kind="stable")
            self.words[:, : self.size] = self.words[:, order]
            self.chunk[: self.size], self.rid[: self.size] = self.chunk[order], rid[order]

    def update(self, connection: Connection, rids: Sequence[int]) -> Codes:
        """Forget the chunks of these rows and read them anew; the answer is what to use from now on."""
        self._version += 1
        for rid in rids:
            if rid < len(self.count) and self.count[rid]:
                self.dead[self.first[rid] : self.first[rid] + self.count[rid]] = True
                self.count[rid] = 0
        listed = f"[{','.join(map(str, rids))}]"
        sql = f"""SELECT c.chunk_rid, c.rid, c.code
            FROM chunks k JOIN codes_{self.number} c ON c.chunk_rid = k.chunk_rid
            WHERE k.rid IN (SELECT value FROM json_each(?)) ORDER BY k.rid, k.chunk_rid"""
        with self._lock:
            start = self.size
            self._append(list(connection.execute(sql, (listed,))))
            self._place(start, self.size)
        dead = int(self.dead[: self.size].sum())
        return self._compacted() if dead > max(1000, self.size // 5) else self

    def _append(self, rows: Sequence[tuple[int, int, bytes]]) -> None:
        if not rows:
            return
        chunks, rids, codes = zip(*rows, strict=True)
        start, end = self.size, self.size + len(rows)
        if end > len(self.dead):
            self._resize(int(end * 1.25) + 1024)
        self.words[:, start:end] = np.frombuffer(b"".join(codes), np.uint64).reshape(len(rows), self.width).T
        self.chunk[start:end], self.rid[start:end] = chunks, rids
        self.slot[start:end], self.dead[start:end] = -1, False
        self.size = end

    def _compacted(self) -> Codes:
        """A copy without the dead rows; scans that are running keep the old one."""
        alive = np.flatnonzero(~self.dead[: self.size])
        fresh = Codes(self.number, self.dim)
        fresh._resize(len(alive) * 5 // 4 + 1024)
        fresh.size = len(alive)
        fresh.words[:, : fresh.size] = self.words[:, alive]
        fresh.chunk[: fresh.size], fresh.rid[: fresh.size] = self.chunk[alive], self.rid[alive]
        fresh.dead[: fresh.size] = False
        fresh._place(0, fresh.size)
        return fresh

    def nearest(self, connection: Connection, vector: Vector, mask: Mask, limit: int) -> list[tuple[int, float]]:
        """The best rows and their cosine; `mask` says by rid which rows may be found."""
        allowed, n = self._allowed(mask)
        if n == 0:
            return []
        query = np.asarray(vector, np.float32)
        cached = self._cached(allowed, n)
        if n <= EXACT_FROM_FILE or cached:
            if not cached and n > SMALL:
                with self._lock:
                    self._fill(connection, np.flatnonzero(allowed))
            return self._exact(connection, query, np.flatnonzero(allowed), limit)
        m = max(LEAST_RESCORED, RESCORED_PER_HIT * limit, n // 1000, 1000 if n < EXACT_BELOW else 0)
        distances = self._distances(encode(query[None])[0], allowed)
        for _ in range(5):
            found = self._exact(connection, query, _smallest(distances, min(m, n)), limit)
            if len(found) >= limit or m >= n:
                return found
            m *= 2
        return found

    def _allowed(self, mask: Mask) -> tuple[Mask, int]:
        """Which chunks the filter leaves, and how many; kept for the filters of the last queries."""
        state = (self.size, self._version)
        held = self._filters.get(id(mask))
        if held is not None and held[0] is mask and held[1] == state:
            return held[2], held[3]
        rid = self.rid[: state[0]]
        # Rows that came after the mask was made are not in it.
        inside = (
            mask if len(mask) > int(rid.max(initial=0)) else np.append(mask, np.zeros(int(rid.max()) + 1, np.bool_))
        )
        allowed = inside[rid] & ~self.dead[: state[0]]
        n = int(np.count_nonzero(allowed))
        with self._lock:
            if len(self._filters) >= FILTERS:
                self._filters.clear()
            self._filters[id(mask)] = (mask, state, allowed, n)
        return allowed, n

    def _cached(self, allowed: Mask, n: int) -> bool:
        return n < EXACT_BELOW and bool((self.slot[: len(allowed)][allowed] >= 0).all())

    def _distances(self, code: NDArray[np.uint64], allowed: Mask) -> NDArray[np.uint16]:
        size = len(allowed)
        distances = np.empty(size, np.uint16)
        buffer = np.empty(min(BLOCK, size), np.uint64)
        bits, sums = np.empty(len(buffer), np.uint8), np.empty(len(buffer), np.uint8)
        for start in range(0, size, BLOCK):
            end = min(start + BLOCK, size)
            part, count, few = buffer[: end - start], bits[: end - start], sums[: end - start]
            total = distances[start:end]
            for word in range(self.width):
                np.bitwise_xor(self.words[word, start:end], code[word], out=part)
                np.bitwise_count(part, out=few if word % 3 == 0 else count)
                if word % 3:
                    few += count  # three words differ in 192 bits at most: a byte holds that
                if word == min(2, self.width - 1):
                    total[:] = few
                elif word % 3 == 2 or word == self.width - 1:
                    total += few
        if not allowed.all():
            distances[~allowed] = FAR
        return distances

    def _exact(
        self, connection: Connection, query: Vector, positions: NDArray[np.intp], limit: int
    ) -> list[tuple[int, float]]:
        """The best memories among these chunks."""
        scores = self._score(connection, query, positions)
        take = 4 * limit + 64
        while True:
            top = np.argpartition(-scores, take)[:take] if take < len(scores) else np.arange(len(scores))
            top = top[np.argsort(-scores[top], kind="stable")]
            rids, first = np.unique(self.rid[positions[top]], return_index=True)
            if len(rids) >= limit or take >= len(scores):
                break
            take *= 4
        best = scores[top][first]
        for i in np.flatnonzero(self.count[rids] > LONG):
            best[i] = self._long(connection, query, int(rids[i]))
        order = np.lexsort((-rids.astype(np.int64), -best))[:limit]
        return list(zip(rids[order].tolist(), best[order].tolist(), strict=True))

    def _long(self, connection: Connection, query: Vector, rid: int) -> float:
        start = int(self.first[rid])
        own = self._score(connection, query, np.arange(start, start + int(self.count[rid])))
        return float(np.sort(own)[-3:].mean())

    def cosines(self, connection: Connection, vector: Vector, rids: Sequence[int]) -> dict[int, float]:
        """The cosine of given rows; a row without a vector is missing in the answer."""
        wanted = np.array(rids, np.int64)
        wanted = wanted[wanted < len(self.count)]
        wanted = wanted[self.count[wanted] > 0]
        if not len(wanted):
            return {}
        if (self.count[wanted] == 1).all():
            positions = self.first[wanted].astype(np.intp)
        else:
            spans = [np.arange(self.first[rid], self.first[rid] + self.count[rid]) for rid in wanted]
            positions = np.concatenate(spans)
        return dict(self._exact(connection, np.asarray(vector, np.float32), positions, len(rids)))

    def _score(self, connection: Connection, query: Vector, positions: NDArray[np.intp]) -> Vector:
        scores = np.full(len(positions), -1.0, np.float32)
        with self._lock:
            slots = self.slot[positions]
            held = slots >= 0
            if held.any():
                # One product over the whole cache reads it in order; picking rows first would copy them.
                whole = 3 * int(held.sum()) > len(self._cache)
                scores[held] = (self._cache @ query)[slots[held]] if whole else self._cache[slots[held]] @ query
        if not held.all():
            missing = np.flatnonzero(~held)
            vectors, present = self._read(connection, self.chunk[positions[missing]])
            scores[missing[present]] = vectors @ query
        return scores

    def _read(self, connection: Connection, chunks: NDArray[Any]) -> tuple[Vector, NDArray[np.intp]]:
        """Vectors of these chunks, and which of them the file has."""
        listed = f"[{','.join(map(str, chunks.tolist()))}]"
        sql = f"SELECT v.chunk_rid, v.e FROM json_each(?) j CROSS JOIN vectors_{self.number} v ON v.chunk_rid = j.value"
        rows = connection.execute(sql, (listed,)).fetchall()
        if not rows:
            return np.empty((0, self.dim), np.float32), np.empty(0, np.intp)
        found, blobs = zip(*rows, strict=True)
        vectors = np.frombuffer(b"".join(blobs), "<f2").reshape(-1, self.dim).astype(np.float32)
        order = {chunk: place for place, chunk in enumerate(chunks.tolist())}
        return vectors, np.array([order[chunk] for chunk in found], np.intp)

    def _fill(self, connection: Connection, positions: NDArray[np.intp]) -> None:
        """Bring these vectors into the cache, in place of the ones that came first."""
        missing = positions[self.slot[positions] < 0]
        if not len(missing):
            return
        vectors, present = self._read(connection, self.chunk[missing])
        missing = missing[present]
        if self._next + len(missing) > len(self._cache) < self._slots:
            grown = np.zeros(
                (min(self._slots, max(1024, int((self._next + len(missing)) * 1.5))), self.dim), np.float32
            )
            grown[: len(self._cache)] = self._cache
            self._cache = grown
        slots = (self._next + np.arange(len(missing))) % len(self._cache)
        displaced = self._owner[slots]
        self.slot[displaced[displaced >= 0]] = -1
        self._cache[slots], self._owner[slots], self.slot[missing] = vectors, missing, slots
        self._next = int((self._next + len(missing)) % self._slots)


def _smallest(distances: NDArray[np.uint16], m: int) -> NDArray[np.intp]:
    """Positions of the m smallest distances. A sample tells where they end, so that the rest is looked at once."""
    step = max(1, len(distances) // 65_536)
    limit = int(np.searchsorted(np.cumsum(np.bincount(distances[::step])), 1.2 * m / step + 1))
    while True:
        near = np.flatnonzero(distances <= limit)
        if len(near) >= m or limit >= FAR:
            break
        limit = min(FAR, limit + max(2, limit // 16))
    return near if len(near) <= m else near[np.argpartition(distances[near], m)[:m]]
