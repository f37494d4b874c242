"""Applying a batch inside one write transaction: rows, former versions, tags, search rows, the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import apsw

from remora.model.graph import Conflict, Relation
from remora.model.memory import Memory, new_id
from remora.model.ops import Batch, Change, Op
from remora.model.search import IndexEntry
from remora.storage.protocol import Stale
from remora.storage.sqlite.opening import Connection
from remora.storage.sqlite.rows import INSERT, UPDATE, dump, to_json, to_row

VERSION = "INSERT INTO memory_versions VALUES (?, ?, ?, ?, ?, ?, ?)"
HEAD = "SELECT rid, version, tx_from, op_id FROM memories WHERE tenant = ? AND id = ?"
OP = """INSERT INTO ops
    (tenant, op_id, batch_id, kind, target_type, target, version, at, actor, actor_name, reason, undoes, before, after)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
UNDONE = "UPDATE ops SET undone_by = ? WHERE tenant = ? AND op_id = ?"
REDONE = "UPDATE ops SET undone_by = NULL WHERE tenant = ?1 AND undone_by = ?2"


def apply(connection: Connection, tenant: str, batch: Batch) -> list[Op]:
    """All changes of the batch, or `Stale` and none."""
    ops: list[Op] = []
    actor = {name: value for name, value in asdict(batch.actor).items() if value is not None}
    try:
        for change in batch.changes:
            op_id = change.op_id or new_id()
            if isinstance(change.after, Memory):
                before, after = put_memory(connection, tenant, batch, change, op_id), None
            else:
                before, after = _put_edge(connection, tenant, change)
            kind = type(change.after).__name__.lower()
            values = (
                tenant,
                op_id,
                batch.id,
                change.kind,
                kind,
                change.after.id,
                change.after.version,
                batch.at,
                dump(actor),
            )
            connection.execute(OP, (*values, batch.actor.name, change.reason, change.undoes, before, after))
            if change.undoes:
                connection.execute(UNDONE, (op_id, tenant, change.undoes))
                # Undoing an undo puts the first operation into force again.
                connection.execute(REDONE, (tenant, change.undoes))
            ops.append(
                Op(
                    op_id=op_id,
                    batch_id=batch.id,
                    kind=change.kind,
                    target=change.after.id,
                    target_type=kind,  # type: ignore[arg-type]
                    at=batch.at,
                    actor=actor,
                    before={},
                    after={},
                    version=change.after.version,
                    reason=change.reason,
                    undoes=change.undoes,
                )
            )
        for memory_id, entry in batch.reindex:
            head = connection.execute(HEAD, (tenant, memory_id)).fetchone()
            if head is not None:
                drop_index(connection, tenant, head[0], chunks=False)
                put_index(connection, tenant, head[0], entry, chunks=False)
                connection.execute("INSERT INTO changes (rid, at) VALUES (?, ?)", (head[0], batch.at))
    except apsw.ConstraintError as cause:
        raise Stale(str(cause)) from cause
    connection.executemany(
        "INSERT OR IGNORE INTO aliases (tenant, system, alias, id) VALUES (?, ?, ?, ?)",
        [(tenant, *alias) for alias in batch.aliases],
    )
    if batch.idempotency_key is not None:
        connection.execute(
            "INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?, ?)",
            (tenant, batch.actor.name, batch.idempotency_key, batch.at, dump(dict(batch.result or {}))),
        )
    return ops


def put_memory(connection: Connection, tenant: str, batch: Batch, change: Change, op_id: str) -> str | None:
    before, after = change.before, change.after
    assert isinstance(after, Memory)
    row = to_row(after, tenant, batch.at, op_id)
    if before is None:
        connection.execute(INSERT, row)
        rid = connection.last_insert_rowid()
    else:
        assert isinstance(before, Memory)
        head = connection.execute(HEAD, (tenant, before.id)).fetchone()
        if head is None or head[1] != before.version:
            raise Stale(f"{before.id} is no longer at version {before.version}")
        rid, version, tx_from, made_by = head
        # A row never has two states at one time, even when one batch changes it twice.
        connection.execute(VERSION, (tenant, before.id, version, tx_from, batch.at, made_by, to_json(before)))
        connection.execute(UPDATE, (*row, rid))
    _tags(connection, tenant, rid, before, after)
    if after.status == "deleted":
        drop_index(connection, tenant, rid, chunks=True)
        _count(connection, tenant, before, None)
    elif change.index is not None:
        if before is not None:
            drop_index(connection, tenant, rid, chunks=True, keep=change.index)
        put_index(connection, tenant, rid, change.index, chunks=True)
        speaker = change.index.speaker
        if speaker:
            connection.execute("INSERT OR IGNORE INTO speakers VALUES (?, ?, ?)", (tenant, after.namespace, speaker))
        _count(connection, tenant, before, after)
    else:
        _count(connection, tenant, before, after)
    connection.execute("INSERT INTO changes (rid, at) VALUES (?, ?)", (rid, batch.at))
    return None


def _counted(memory: Memory | None) -> bool:
    return memory is not None and memory.status == "active" and memory.superseded_by is None


def _tags(connection: Connection, tenant: str, rid: int, before: Any, after: Memory) -> None:
    old = set() if before is None or before.status == "deleted" else {(tag, before.created_at) for tag in before.tags}
    new = set() if after.status == "deleted" else {(tag, after.created_at) for tag in after.tags}
    if old - new:
        connection.executemany(
            "DELETE FROM memory_tags WHERE tenant = ? AND tag = ? AND created_at = ? AND rid = ?",
            [(tenant, tag, at, rid) for tag, at in old - new],
        )
    if new - old:
        connection.executemany(
            "INSERT INTO memory_tags VALUES (?, ?, ?, ?)", [(tenant, tag, at, rid) for tag, at in new - old]
        )
    counts: dict[tuple[str, str], int] = {}
    for memory, step in ((before, -1), (after, 1)):
        if _counted(memory):
            for tag in memory.tags:
                counts[memory.namespace, tag] = counts.get((memory.namespace, tag), 0) + step
    changed = [(tenant, namespace, tag, n) for (namespace, tag), n in counts.items() if n]
    if changed:
        connection.executemany(
            "INSERT INTO tag_counts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n", changed
        )


def _count(connection: Connection, tenant: str, before: Any, after: Memory | None) -> None:
    """How many rows are written in which language."""
    old = (before.namespace, before.lang or "en") if before is not None and before.status != "deleted" else None
    new = (after.namespace, after.lang or "en") if after is not None else None
    if old != new:
        for place, step in ((old, -1), (new, 1)):
            if place is not None:
                connection.execute(
                    "INSERT INTO languages VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET rows = rows + excluded.rows",
                    (tenant, *place, step),
                )


def put_index(connection: Connection, tenant: str, rid: int, entry: IndexEntry, *, chunks: bool) -> None:
    """The full-text rows of one memory, and its chunks where they are not there yet."""
    row = entry.row
    connection.execute(
        "INSERT INTO words (rowid, body, ctx, key, tags, title) VALUES (?, ?, ?, ?, ?, ?)", (rid, *row.texts)
    )
    connection.execute(
        "INSERT INTO word_tf VALUES (?, ?, ?, ?, ?)", (rid, row.length, entry.speaker, entry.context_hash, row.tf)
    )
    _total(connection, tenant, 1, row.length)
    if not chunks:
        return
    connection.execute("INSERT INTO grams (rowid, text) VALUES (?, ?)", (rid, entry.grams))
    held = {
        hash_: chunk for chunk, hash_ in connection.execute("SELECT chunk_rid, hash FROM chunks WHERE rid = ?", (rid,))
    }
    spaces = [n for (n,) in connection.execute("SELECT n FROM spaces")]
    for chunk in entry.chunks:
        place = (chunk.no, chunk.start, chunk.end)
        if chunk.hash in held:
            connection.execute(
                'UPDATE chunks SET no = ?, start = ?, "end" = ? WHERE chunk_rid = ?', (*place, held.pop(chunk.hash))
            )
            continue
        connection.execute(
            'INSERT INTO chunks (rid, no, start, "end", hash) VALUES (?, ?, ?, ?, ?)', (rid, *place, chunk.hash)
        )
        if spaces:
            chunk_rid = connection.last_insert_rowid()
            connection.executemany("INSERT INTO embed_queue VALUES (?, ?, 0, 0)", [(n, chunk_rid) for n in spaces])


def drop_index(connection: Connection, tenant: str, rid: int, *, chunks: bool, keep: IndexEntry | None = None) -> None:
    """Take one memory out of the search tables; chunks whose text stays the same keep their vectors."""
    found = connection.execute("DELETE FROM word_tf WHERE rid = ? RETURNING len", (rid,)).fetchone()
    connection.execute("DELETE FROM words WHERE rowid = ?", (rid,))
    if found is not None:
        _total(connection, tenant, -1, -found[0])
    if not chunks:
        return
    connection.execute("DELETE FROM grams WHERE rowid = ?", (rid,))
    kept = {chunk.hash for chunk in keep.chunks} if keep is not None else set()
    rows = list(connection.execute("SELECT chunk_rid, hash FROM chunks WHERE rid = ?", (rid,)))
    gone = [(chunk,) for chunk, hash_ in rows if hash_ not in kept]
    if not gone:
        return
    connection.executemany("DELETE FROM chunks WHERE chunk_rid = ?", gone)
    for n in [n for (n,) in connection.execute("SELECT n FROM spaces")]:
        connection.executemany(f"DELETE FROM vectors_{n} WHERE chunk_rid = ?", gone)
        connection.executemany(f"DELETE FROM codes_{n} WHERE chunk_rid = ?", gone)
        connection.executemany(
            "DELETE FROM embed_queue WHERE space = ? AND chunk_rid = ?", [(n, chunk) for (chunk,) in gone]
        )


def _total(connection: Connection, tenant: str, rows: int, length: int) -> None:
    connection.execute(
        """INSERT INTO word_totals VALUES (?, ?, ?) ON CONFLICT DO UPDATE
            SET rows = rows + excluded.rows, length = length + excluded.length""",
        (tenant, rows, length),
    )


def _put_edge(connection: Connection, tenant: str, change: Change) -> tuple[str | None, str]:
    """A relation or a conflict; its states stand in the log itself."""
    before, after = change.before, change.after
    columns: tuple[str, ...]
    if isinstance(after, Relation):
        table, columns = "relations", (after.id, after.src, after.dst, after.type, after.status)
    else:
        assert isinstance(after, Conflict)
        table, columns = "conflicts", (after.id, after.a, after.b, after.status)
    held = connection.execute(f"SELECT version FROM {table} WHERE tenant = ? AND id = ?", (tenant, after.id)).fetchone()
    if (held[0] if held else None) != (before.version if before is not None else None):
        raise Stale(f"{table} {after.id} was changed meanwhile")
    row = dump(asdict(after))
    if held:
        connection.execute(f"DELETE FROM {table} WHERE tenant = ? AND id = ?", (tenant, after.id))
    marks = ", ".join("?" * (len(columns) + 3))
    connection.execute(f"INSERT INTO {table} VALUES ({marks})", (tenant, *columns, after.version, row))
    return (None if before is None else dump(asdict(before))), row


def put_versions(connection: Connection, tenant: str, rows: Sequence[tuple[Memory, int, int, str]]) -> None:
    connection.executemany(
        VERSION.replace("INSERT", "INSERT OR IGNORE", 1),
        [
            (tenant, memory.id, memory.version, tx_from, tx_to, op_id, to_json(memory))
            for memory, tx_from, tx_to, op_id in rows
        ],
    )


def purge(connection: Connection, tenant: str, batch: Batch, ids: list[str], *, forget_hash: bool) -> list[Op]:
    """Erase what the memories said, everywhere; the rows stay as tombstones."""
    for memory_id in ids:
        for relation in ("src", "dst"):
            sql = f"SELECT id FROM relations WHERE tenant = ? AND {relation} = ?"
            for (edge,) in list(connection.execute(sql, (tenant, memory_id))):
                connection.execute("DELETE FROM relations WHERE tenant = ? AND id = ?", (tenant, edge))
                connection.execute(
                    "UPDATE ops SET before = NULL, after = NULL WHERE tenant = ? AND target = ?", (tenant, edge)
                )
        for side in ("a", "b"):
            connection.execute(f"DELETE FROM conflicts WHERE tenant = ? AND {side} = ?", (tenant, memory_id))
        connection.execute("DELETE FROM aliases WHERE tenant = ? AND id = ?", (tenant, memory_id))
    ops = apply(connection, tenant, batch)
    for memory_id in ids:
        connection.execute("DELETE FROM memory_versions WHERE tenant = ? AND id = ?", (tenant, memory_id))
        connection.execute(
            "UPDATE ops SET reason = NULL, before = NULL, after = NULL WHERE tenant = ? AND target = ?",
            (tenant, memory_id),
        )
        if forget_hash:
            connection.execute("UPDATE memories SET content_hash = '' WHERE tenant = ? AND id = ?", (tenant, memory_id))
    return ops
