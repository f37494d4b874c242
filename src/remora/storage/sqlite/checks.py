"""Is the file sound, and do its derived tables agree with the memories; counts; upkeep."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remora.storage.sqlite.opening import Connection, schema_version, steps

if TYPE_CHECKING:
    from remora.storage.sqlite.store import SqliteView

Check = tuple[str, str, str]  # ok | warn | FAIL, name, detail
KEPT_US = 86_400_000_000


def counts(connection: Connection, tenant: str, now: int) -> dict[str, Any]:
    def one(sql: str, *values: Any) -> int:
        return int(connection.execute(sql, values).fetchone()[0])  # type: ignore[index]

    spaces = {}
    for n, id_, label, dim, active in connection.execute("SELECT n, id, label, dim, active FROM spaces").fetchall():
        spaces[str(id_)[:12]] = {
            "label": label,
            "dim": dim,
            "active": bool(active),
            "vectors": one(f"SELECT count(*) FROM codes_{n}"),
            "waiting": one("SELECT count(*) FROM embed_queue WHERE space = ?", n),
        }
    return {
        "memories": one("SELECT count(*) FROM live_memories WHERE tenant = ?", tenant),
        "status": dict(
            connection.execute("SELECT status, count(*) FROM memories WHERE tenant = ? GROUP BY 1", (tenant,))
        ),
        "superseded": one(
            "SELECT count(*) FROM memories WHERE tenant = ? AND superseded_by IS NOT NULL AND status <> 'deleted'",
            tenant,
        ),
        "kinds": dict(
            connection.execute("SELECT kind, count(*) FROM live_memories WHERE tenant = ? GROUP BY 1", (tenant,))
        ),
        "namespaces": dict(
            connection.execute("SELECT namespace, count(*) FROM live_memories WHERE tenant = ? GROUP BY 1", (tenant,))
        ),
        "relations": one("SELECT count(*) FROM relations WHERE tenant = ? AND status = 'active'", tenant),
        "conflicts": one("SELECT count(*) FROM conflicts WHERE tenant = ? AND status = 'open'", tenant),
        "operations": one("SELECT count(*) FROM ops WHERE tenant = ?", tenant),
        "chunks": one("SELECT count(*) FROM chunks"),
        "spaces": spaces,
        "undo_horizon": connection.execute("SELECT min(at) FROM ops WHERE tenant = ?", (tenant,)).fetchone()[0],  # type: ignore[index]
    }


def verify(view: SqliteView, path: Path, *, deep: bool) -> list[Check]:
    connection = view.connection

    def one(sql: str) -> int:
        return int(connection.execute(sql).fetchone()[0])  # type: ignore[index]

    def zero(name: str, sql: str, bad: str, level: str = "FAIL") -> Check:
        found = one(sql)
        return ("ok", name, "0 differences") if not found else (level, name, f"{found} {bad}")

    mode = stat.S_IMODE(path.stat().st_mode)
    result: list[Check] = [
        ("ok", "file", f"{path}, mode {mode:04o}")
        if not mode & 0o077
        else ("warn", "file", f"mode {mode:04o}, wider than 0600")
    ]
    for table in ("words", "grams"):
        # FTS5 checks against the segments it has in mind; a query first makes it look again after a merge elsewhere.
        connection.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH '\"a\"' LIMIT 1").fetchall()
    answer = connection.pragma("integrity_check" if deep else "quick_check")
    result.append(("ok" if answer == "ok" else "FAIL", "integrity", str(answer)))
    version, known = schema_version(connection), steps()[-1][0]
    result.append(("ok" if version == known else "FAIL", "schema", f"version {version} of {known}"))
    result.append(zero("lexical rows", LEXICAL, "memories without their lexical rows, or the reverse"))
    waiting = one("SELECT count(*) FROM embed_queue q JOIN spaces s ON s.n = q.space WHERE s.active")
    result.append(("ok" if not waiting else "warn", "vectors", f"{waiting} chunks wait for their vector"))
    spaces: list[Any] = connection.execute("SELECT n, dim FROM spaces").fetchall()
    for n, dim in spaces:
        result.append(
            zero(
                f"vectors of space {n}",
                f"SELECT count(*) FROM vectors_{n} WHERE length(e) <> {dim * 2}",
                "of a wrong size",
            )
        )
        result.append(zero(f"codes of space {n}", _codes(n), "chunks neither embedded nor queued, or without a code"))
    result.append(zero("keys", KEYS, "keys with more than one active row"))
    journal = connection.pragma("journal_mode")
    result.append(("ok" if journal == "wal" else "warn", "journal", str(journal)))
    return [*result, *_deep(view, zero)] if deep else result


LEXICAL = """SELECT
    (SELECT count(*) FROM memories m LEFT JOIN word_tf w ON w.rid = m.rid
      WHERE (m.status <> 'deleted') <> (w.rid IS NOT NULL))
    + abs((SELECT count(*) FROM words_docsize) - (SELECT count(*) FROM word_tf))
    + abs((SELECT count(*) FROM grams_docsize) - (SELECT count(*) FROM word_tf))
    + (SELECT count(*) FROM memories m
      WHERE m.status <> 'deleted' AND NOT EXISTS (SELECT 1 FROM chunks k WHERE k.rid = m.rid))
    + (SELECT count(*) FROM chunks k LEFT JOIN memories m ON m.rid = k.rid
      WHERE m.rid IS NULL OR m.status = 'deleted')"""
KEYS = """SELECT count(*) FROM (SELECT 1 FROM memories
    WHERE status = 'active' AND superseded_by IS NULL AND subject_key IS NOT NULL
    GROUP BY tenant, namespace, subject_key HAVING count(*) > 1)"""


def _codes(n: int) -> str:
    return f"""SELECT count(*) FROM chunks k LEFT JOIN vectors_{n} v ON v.chunk_rid = k.chunk_rid
        LEFT JOIN codes_{n} c ON c.chunk_rid = k.chunk_rid
        LEFT JOIN embed_queue q ON q.space = {n} AND q.chunk_rid = k.chunk_rid
        WHERE (v.chunk_rid IS NULL AND q.chunk_rid IS NULL) OR (v.chunk_rid IS NULL) <> (c.chunk_rid IS NULL)"""


def _deep(view: SqliteView, zero: Any) -> list[Check]:
    """The invariants of the model, one by one."""
    result: list[Check] = [
        zero("versions", VERSIONS, "memories with a gap in their versions"),
        zero("supersession", DANGLING, "pointers to nothing"),
        zero(
            "tombstones",
            "SELECT count(*) FROM memories WHERE status = 'deleted' AND content = '' AND tags <> '[]'",
            "hold text",
        ),
        zero("relations", ORPHANS, "relations without both memories", "warn"),
        zero(
            "aliases",
            NAMELESS,
            "aliases of nothing",
        ),
        zero(
            "json",
            "SELECT count(*) FROM memories WHERE NOT (json_valid(tags) AND json_valid(metadata))",
            "rows",
        ),
        zero(
            "clock",
            "SELECT count(*) FROM memories WHERE created_at > updated_at AND status <> 'deleted'",
            "rows created after their last change",
            "warn",
        ),
        zero("tags", TAGS, "tag rows that differ from their memory"),
    ]
    rows: Any = view.connection.execute("SELECT id, superseded_by FROM memories WHERE superseded_by IS NOT NULL")
    pointers: dict[str, str] = dict(rows)
    cycles = sum(_cyclic(pointers, start) for start in pointers)
    result.append(
        ("ok", "cycles", "none") if not cycles else ("FAIL", "cycles", f"{cycles} memories supersede each other")
    )
    bad = sum(
        tag != " ".join(tag.lower().split())
        for (tags,) in view.connection.execute("SELECT tags FROM memories WHERE tags <> '[]'")
        for tag in json.loads(tags)
    )
    result.append(("ok", "tag form", "normal") if not bad else ("FAIL", "tag form", f"{bad} tags not normalised"))
    return result


VERSIONS = """SELECT count(*) FROM memories m
    LEFT JOIN (SELECT tenant, id, count(*) n, min(version) low, max(version) high
    FROM memory_versions GROUP BY 1, 2) v ON v.tenant = m.tenant AND v.id = m.id
    WHERE v.id IS NOT NULL AND (v.high <> m.version - 1 OR v.n <> v.high - v.low + 1)"""
DANGLING = """SELECT count(*) FROM memories m LEFT JOIN memories h ON h.tenant = m.tenant AND h.id = m.superseded_by
    WHERE m.superseded_by IS NOT NULL AND h.rid IS NULL"""
ORPHANS = """SELECT count(*) FROM relations r LEFT JOIN memories a ON a.tenant = r.tenant AND a.id = r.src
    LEFT JOIN memories b ON b.tenant = r.tenant AND b.id = r.dst WHERE a.rid IS NULL OR b.rid IS NULL"""
NAMELESS = """SELECT count(*) FROM aliases a LEFT JOIN memories m ON m.tenant = a.tenant AND m.id = a.id
    WHERE m.rid IS NULL"""
TAGS = """SELECT abs((SELECT count(*) FROM memory_tags) -
    (SELECT ifnull(sum(json_array_length(tags)), 0) FROM memories WHERE status <> 'deleted'))"""


def _cyclic(pointers: dict[str, str], start: str) -> bool:
    seen, at = {start}, pointers.get(start)
    while at is not None and at not in seen:
        seen.add(at)
        at = pointers.get(at)
    return at is not None


def scrub(connection: Connection) -> None:
    """Merge the full-text segments into one each: only then are the words of deleted rows gone from the file."""
    connection.execute("INSERT INTO words (words) VALUES ('optimize')")
    connection.execute("INSERT INTO grams (grams) VALUES ('optimize')")
    connection.execute("DELETE FROM tag_counts WHERE n <= 0")
    connection.execute("DELETE FROM speakers WHERE name NOT IN (SELECT speaker FROM word_tf WHERE speaker IS NOT NULL)")
    connection.pragma("secure_delete", "fast")


def repair(connection: Connection, now: int) -> list[str]:
    """Empty the derived tables of rows that have no business there; what is missing is indexed anew by the caller."""
    done = []
    for name, sql in (
        (
            "chunks of no memory",
            "DELETE FROM chunks WHERE rid NOT IN (SELECT rid FROM memories WHERE status <> 'deleted')",
        ),
        (
            "lexical rows of no memory",
            "DELETE FROM word_tf WHERE rid NOT IN (SELECT rid FROM memories WHERE status <> 'deleted')",
        ),
        ("queue entries of no chunk", "DELETE FROM embed_queue WHERE chunk_rid NOT IN (SELECT chunk_rid FROM chunks)"),
    ):
        connection.execute(sql)
        if connection.changes():
            done.append(f"{connection.changes()} {name} removed")
    for (n,) in connection.execute("SELECT n FROM spaces").fetchall():
        for table in (f"vectors_{n}", f"codes_{n}"):
            connection.execute(f"DELETE FROM {table} WHERE chunk_rid NOT IN (SELECT chunk_rid FROM chunks)")
        connection.execute(f"DELETE FROM vectors_{n} WHERE chunk_rid NOT IN (SELECT chunk_rid FROM codes_{n})")
        connection.execute(f"DELETE FROM codes_{n} WHERE chunk_rid NOT IN (SELECT chunk_rid FROM vectors_{n})")
        connection.execute(
            f"""INSERT OR IGNORE INTO embed_queue SELECT {n}, chunk_rid, 0, 0 FROM chunks
                WHERE chunk_rid NOT IN (SELECT chunk_rid FROM vectors_{n})"""
        )
        if connection.changes():
            done.append(f"{connection.changes()} chunks queued for their vector")
    connection.execute("INSERT INTO changes (rid, at) VALUES (0, ?)", (now,))
    return done


def clear_lexical(connection: Connection) -> None:
    """Drop every lexical row, before all are written anew."""
    connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
    connection.execute("INSERT INTO grams (grams) VALUES ('delete-all')")
    connection.execute("DELETE FROM word_tf")
    connection.execute("DELETE FROM word_totals")


def maintain(connection: Connection, now: int) -> None:
    """Small steps of upkeep for idle times."""
    connection.execute("INSERT INTO words (words, rank) VALUES ('merge', 500)")
    connection.execute("INSERT INTO grams (grams, rank) VALUES ('merge', 500)")
    connection.execute("DELETE FROM changes WHERE at < ? AND seq < (SELECT max(seq) FROM changes)", (now - KEPT_US,))
    connection.execute("DELETE FROM idempotency WHERE at < ?", (now - KEPT_US,))
