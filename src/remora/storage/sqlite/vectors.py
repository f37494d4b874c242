"""Embedding spaces and their vectors: a table of half-precision vectors and one of codes per space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from remora.model.search import Space
from remora.storage.protocol import Unembedded
from remora.storage.sqlite.codes import Vector, encode
from remora.storage.sqlite.opening import Connection

RETRY_US = 60_000_000


class Prepared(NamedTuple):
    chunk: int
    hash: str
    e: bytes
    code: bytes


def add_space(connection: Connection, space: Space, now: int) -> None:
    """Make the tables of a space and queue every chunk for it; nothing when it exists."""
    if connection.execute("SELECT 1 FROM spaces WHERE id = ?", (space.id,)).fetchone():
        return
    first = not connection.execute("SELECT 1 FROM spaces WHERE active").fetchone()
    connection.execute(
        "INSERT INTO spaces (id, dim, label, canaries, active) VALUES (?, ?, ?, ?, ?)",
        (space.id, space.dim, space.label, space.canaries, int(first or space.active)),
    )
    n = connection.last_insert_rowid()
    connection.execute(f"CREATE TABLE vectors_{n} (chunk_rid INTEGER PRIMARY KEY, e BLOB NOT NULL) STRICT")
    connection.execute(
        f"CREATE TABLE codes_{n} (chunk_rid INTEGER PRIMARY KEY, rid INTEGER NOT NULL, code BLOB NOT NULL) STRICT"
    )
    connection.execute("INSERT INTO embed_queue SELECT ?, chunk_rid, 0, 0 FROM chunks", (n,))
    connection.execute("INSERT INTO changes (rid, at) VALUES (0, ?)", (now,))


def activate(connection: Connection, space_id: str) -> None:
    connection.execute("UPDATE spaces SET active = (id = ?)", (space_id,))


def drop_space(connection: Connection, space_id: str, now: int) -> None:
    row = connection.execute("SELECT n FROM spaces WHERE id = ?", (space_id,)).fetchone()
    if row is None:
        return
    connection.execute(f"DROP TABLE vectors_{row[0]}")
    connection.execute(f"DROP TABLE codes_{row[0]}")
    connection.execute("DELETE FROM embed_queue WHERE space = ?", row)
    connection.execute("DELETE FROM spaces WHERE n = ?", row)
    connection.execute("INSERT INTO changes (rid, at) VALUES (0, ?)", (now,))


def take_unembedded(connection: Connection, tenant: str, space_id: str, limit: int, now: int) -> list[Unembedded]:
    """Chunks to embed next. They stay queued, but out of sight for a minute, in case the taker dies."""
    sql = """SELECT q.chunk_rid, m.id, k.hash, k.no, m.sensitivity, q.space
        FROM spaces s JOIN embed_queue q ON q.space = s.n JOIN chunks k ON k.chunk_rid = q.chunk_rid
        JOIN memories m ON m.rid = k.rid
        WHERE s.id = ? AND m.tenant = ? AND q.not_before <= ? LIMIT ?"""
    rows: list[Any] = connection.execute(sql, (space_id, tenant, now, limit)).fetchall()
    connection.executemany(
        """UPDATE embed_queue SET tries = tries + 1, not_before = ? + (1 << min(tries, 6)) * ?
            WHERE space = ? AND chunk_rid = ?""",
        [(now, RETRY_US, space, chunk) for chunk, *_, space in rows],
    )
    return [
        Unembedded(chunk, id_, hash_, no, sensitivity == "private") for chunk, id_, hash_, no, sensitivity, _ in rows
    ]


def release(connection: Connection, space_id: str, chunks: Sequence[int]) -> None:
    """Give back what was taken: the encoder was not there, which is no fault of the texts."""
    connection.executemany(
        """UPDATE embed_queue SET tries = max(0, tries - 1), not_before = 0
            WHERE space = (SELECT n FROM spaces WHERE id = ?) AND chunk_rid = ?""",
        [(space_id, chunk) for chunk in chunks],
    )


def prepared(chunks: Sequence[tuple[int, str]], found: Vector) -> list[Prepared]:
    """Everything costly, outside of the transaction."""
    vectors = np.asarray(found, np.float32)
    halves, codes = vectors.astype("<f2"), encode(vectors)
    return [Prepared(chunk, hash_, halves[i].tobytes(), codes[i].tobytes()) for i, (chunk, hash_) in enumerate(chunks)]


def put(connection: Connection, space_id: str, rows: Sequence[Prepared], now: int) -> None:
    """Keep vectors of chunks that are still there with the same text."""
    space = connection.execute("SELECT n FROM spaces WHERE id = ?", (space_id,)).fetchone()
    if space is None:
        return
    n = space[0]
    changed: dict[int, None] = {}
    for row in rows:
        held = connection.execute(
            "SELECT rid FROM chunks WHERE chunk_rid = ? AND hash = ?", (row.chunk, row.hash)
        ).fetchone()
        if held is None:
            continue
        connection.execute(f"INSERT OR REPLACE INTO vectors_{n} VALUES (?, ?)", (row.chunk, row.e))
        connection.execute(f"INSERT OR REPLACE INTO codes_{n} VALUES (?, ?, ?)", (row.chunk, held[0], row.code))
        connection.execute("DELETE FROM embed_queue WHERE space = ? AND chunk_rid = ?", (n, row.chunk))
        changed[held[0]] = None
    connection.executemany("INSERT INTO changes (rid, at) VALUES (?, ?)", [(rid, now) for rid in changed])
