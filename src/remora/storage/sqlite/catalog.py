"""What search keeps of every row in memory: a few bytes each, so that a filter is a mask and not a query.

Rows are numbered by `rid`; arrays are indexed by it. About 15 bytes a memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from remora.model.memory import STATUSES
from remora.model.search import Where
from remora.storage.sqlite.opening import Connection

Mask = NDArray[np.bool_]
Number = TypeVar("Number", bound=np.generic)
ABSENT, STATUS_BITS, SUPERSEDED = 255, 3, 4
# Straight off the listing index: no row is read.
HEADS = """SELECT tenant, namespace, kind, base_kind, status, superseded_by IS NOT NULL gone,
    group_concat(rid), group_concat(created_at) FROM memories {} GROUP BY 1, 2, 3, 4, 5, 6"""
BOUNDS = """SELECT rid, expires_at, valid_from, valid_to FROM memories
    WHERE (expires_at IS NOT NULL OR valid_from IS NOT NULL OR valid_to IS NOT NULL)"""
LENGTHS = "SELECT group_concat(rid), group_concat(len) FROM word_tf {}"
SOME = "WHERE rid IN (SELECT value FROM json_each(?))"
NEVER = np.iinfo(np.int64).max


class Catalog:
    """Namespace, kind, state and time of every row."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], int] = {}  # (tenant, namespace) → number
        self._kinds: dict[tuple[str, str], int] = {}  # (kind, base kind) → number
        self.size = 0
        self.namespace: NDArray[np.uint16] = np.zeros(0, np.uint16)
        self.kind: NDArray[np.uint16] = np.zeros(0, np.uint16)
        self.flags: NDArray[np.uint8] = np.zeros(0, np.uint8)
        self.created: NDArray[np.int64] = np.zeros(0, np.int64)
        self.length: NDArray[np.uint16] = np.zeros(0, np.uint16)
        self._resize(1024)
        self.bounds: dict[int, tuple[int, int, int]] = {}  # rid → expires, valid from, valid to
        self._bound_arrays: tuple[NDArray[np.int64], ...] | None = None

    def _resize(self, capacity: int) -> None:
        self.namespace = _grown(self.namespace, capacity, self.size)
        self.kind = _grown(self.kind, capacity, self.size)
        self.flags = _grown(self.flags, capacity, self.size, ABSENT)
        self.created = _grown(self.created, capacity, self.size)
        self.length = _grown(self.length, capacity, self.size)

    def load(self, connection: Connection) -> None:
        top = connection.execute("SELECT ifnull(max(rid), 0) FROM memories").fetchone()
        self.size = 0
        self.bounds.clear()
        self._resize(int(top[0]) + 16_384)  # type: ignore[index]
        self._read(connection, "", ())

    def update(self, connection: Connection, rids: Sequence[int]) -> None:
        """Read these rows anew."""
        for rid in rids:
            if self.bounds.pop(rid, None) is not None:
                self._bound_arrays = None
        self._read(connection, SOME, (f"[{','.join(map(str, rids))}]",))

    def _read(self, connection: Connection, some: str, values: tuple[str, ...]) -> None:
        numbers = {status: number for number, status in enumerate(STATUSES)}
        for tenant, name, kind, base, status, gone, rids, created in connection.execute(HEADS.format(some), values):
            at = _numbers(rids)
            top = int(at.max())
            if top >= len(self.flags):
                self._resize(int(top * 1.25) + 1024)
            self.namespace[at] = self._names.setdefault((tenant, name), len(self._names))
            self.kind[at] = self._kinds.setdefault((kind, base), len(self._kinds))
            self.flags[at] = numbers[status] | (SUPERSEDED if gone else 0)
            self.created[at] = _numbers(created)
            self.size = max(self.size, top + 1)
        rids, lengths = connection.execute(LENGTHS.format(some), values).fetchall()[0]
        if rids is not None:
            self.length[_numbers(rids)] = np.minimum(_numbers(lengths), 65_535)
        extra = some.replace("WHERE", "AND")
        for rid, expiry, start, end in connection.execute(BOUNDS + extra, values):
            self._bound_arrays = None
            self.bounds[rid] = (
                NEVER if expiry is None else expiry,
                -NEVER if start is None else start,
                NEVER if end is None else end,
            )

    def mask(self, tenant: str, where: Where) -> Mask:
        """Rows that meet the part of the filter that does not depend on the clock."""
        flags = self.flags[: self.size]
        states = np.zeros(256, np.bool_)
        for status in where.statuses:
            states[STATUSES.index(status)] = True
            states[STATUSES.index(status) | SUPERSEDED] = where.superseded
        mask: Mask = states[flags]
        wanted = np.zeros(max(1, len(self._names)), np.bool_)
        for (owner, name), number in self._names.items():
            wanted[number] = owner == tenant and (where.namespaces is None or name in where.namespaces)
        if not wanted.all():
            mask &= wanted[self.namespace[: self.size]]
        if where.kinds:
            allowed = np.zeros(max(1, len(self._kinds)), np.bool_)
            for (kind, base), number in self._kinds.items():
                allowed[number] = kind in where.kinds or base in where.kinds
            mask &= allowed[self.kind[: self.size]]
        if where.after is not None:
            mask &= self.created[: self.size] >= where.after
        if where.before is not None:
            mask &= self.created[: self.size] < where.before
        return mask

    def outside_bounds(self, where: Where, now: int) -> NDArray[np.int64]:
        """Rows that the clock rules out: expired, or not valid at the asked time."""
        if not self.bounds:
            return np.empty(0, np.int64)
        if self._bound_arrays is None:
            rids = np.fromiter(self.bounds, np.int64, len(self.bounds))
            limits = np.array(list(self.bounds.values()), np.int64)
            self._bound_arrays = (rids, limits[:, 0], limits[:, 1], limits[:, 2])
        rids, expiry, start, end = self._bound_arrays
        out = np.zeros(len(rids), np.bool_)
        if not where.expired:
            out |= expiry <= now
        if not where.any_validity:
            at = now if where.valid_at is None else where.valid_at
            out |= (start > at) | (end <= at)
        return rids[out & (rids < self.size)]

    def live_counts(self, tenant: str, now: int) -> dict[str, int]:
        mask = self.mask(tenant, Where())
        mask[self.outside_bounds(Where(), now)] = False
        counts = np.bincount(self.namespace[: self.size][mask], minlength=len(self._names))
        return {name: int(counts[number]) for (owner, name), number in self._names.items() if owner == tenant}


def _numbers(listed: object) -> NDArray[np.int64]:
    return np.fromstring(str(listed), np.int64, sep=",")


def _grown(array: NDArray[Number], capacity: int, used: int, empty: int = 0) -> NDArray[Number]:
    fresh = np.full(capacity, empty, array.dtype)
    fresh[:used] = array[:used]
    return fresh
