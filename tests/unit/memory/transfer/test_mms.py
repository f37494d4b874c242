from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from remora import AsyncMemory
from remora.errors import WrongFormat

CREATED = 1_700_000_000.25


def mms_database(path: Path) -> None:
    """Tables and rows as mcp-memory-service writes them."""
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA journal_mode=wal")
        db.executescript("""
            CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, content_hash TEXT UNIQUE NOT NULL,
              content TEXT NOT NULL,
              tags TEXT, memory_type TEXT, metadata TEXT, created_at REAL, updated_at REAL, created_at_iso TEXT,
              updated_at_iso TEXT, deleted_at REAL DEFAULT NULL, superseded_by TEXT DEFAULT NULL);
            CREATE TABLE memory_graph (source_hash TEXT, target_hash TEXT, similarity REAL, connection_types TEXT,
              metadata TEXT,
              created_at REAL, relationship_type TEXT DEFAULT 'related', PRIMARY KEY (source_hash, target_hash));
        """)
        rows = [
            ("h1", "We use Postgres", "db,decision", "decision", {"access_count": 3, "credibility": 0.9}, None, None),
            ("h2", "Postgres 14 was old", "db", "error", {}, None, "h1"),
            ("h3", "gone", "", "note", {}, CREATED, None),
            ("h4", "wobbly", "x", "wobble", {"tags": "y"}, None, None),
        ]
        for hash_, content, tags, kind, metadata, deleted, superseded in rows:
            db.execute(
                "INSERT INTO memories VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, '', '', ?, ?)",
                (hash_, content, tags, kind, json.dumps(metadata), CREATED, CREATED + 5, deleted, superseded),
            )
        db.execute("INSERT INTO memory_graph VALUES ('h4', 'h1', .7, '[\"semantic\"]', '{}', ?, 'fixes')", (CREATED,))
        db.execute("INSERT INTO memory_graph VALUES ('h1', 'h4', .5, '[]', '{}', ?, 'related')", (CREATED,))
        db.execute("INSERT INTO memory_graph VALUES ('h1', 'zz', .5, '[]', '{}', ?, 'related')", (CREATED,))


async def test_a_database_of_mcp_memory_service(memory: AsyncMemory, tmp_path: Path) -> None:
    path = tmp_path / "sqlite_vec.db"
    mms_database(path)
    before = path.read_bytes()
    preview = await memory.import_(path, dry_run=True)
    assert preview["new"] == 3
    assert await memory.list() == []
    report = await memory.import_(path)
    assert (report["found"], report["new"], report["relations"]) == (4, 3, 2)
    assert report["warnings"] == {"relations to memories that are not there": 1}
    first = (await memory.recall("h1"))[0]
    assert (first.content, first.kind, first.tags, first.trust) == (
        "We use Postgres",
        "decision",
        ("db", "decision"),
        "import",
    )
    assert first.created_at.timestamp() == CREATED
    assert first.metadata == {"credibility": 0.9, "import": {"mms": {"access_count": 3}}}
    (wobbly,) = await memory.recall("wobbly", mode="exact")
    assert (wobbly.kind, wobbly.tags) == ("observation", ("x", "y"))
    assert {(edge.type, edge.src, edge.dst) for edge in await memory.relations(wobbly.id)} >= {
        ("fixes", wobbly.id, first.id)
    }
    old = await memory.recall("Postgres 14", include_superseded=True, mode="exact")
    assert old[0].superseded_by == first.id
    again = await memory.import_(path)
    assert (again["new"], again["known"]) == (0, 4)
    assert path.read_bytes() == before
    await memory.undo(report["batch"])
    assert await memory.list() == []
    assert (await memory.import_(path))["new"] == 3


async def test_a_json_export_of_mcp_memory_service(memory: AsyncMemory, tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    row = {
        "content": "from json",
        "content_hash": "abc",
        "tags": ["a"],
        "memory_type": "note",
        "metadata": {},
        "created_at": CREATED,
    }
    path.write_text(json.dumps({"export_metadata": {"total": 1}, "memories": [row]}))
    assert (await memory.import_(path))["new"] == 1
    assert (await memory.get("abc")).tags == ("a",)


async def test_another_programs_database_is_no_store(tmp_path: Path) -> None:
    mms_database(tmp_path / "foreign.db")
    with pytest.raises(WrongFormat) as refused:
        await AsyncMemory(tmp_path / "foreign.db", embedder="none").open()
    assert "mcp-memory-service" in str(refused.value.hint)
