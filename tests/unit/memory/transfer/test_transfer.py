from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from remora import AsyncMemory
from remora.errors import Invalid, NotFound, WrongFormat

CREATED = 1_700_000_000.25


def mms_database(path: Path) -> None:
    """Tables and rows as mcp-memory-service writes them."""
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA journal_mode=wal")
        db.executescript("""
            CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, content_hash TEXT UNIQUE NOT NULL, content TEXT NOT NULL,
              tags TEXT, memory_type TEXT, metadata TEXT, created_at REAL, updated_at REAL, created_at_iso TEXT,
              updated_at_iso TEXT, deleted_at REAL DEFAULT NULL, superseded_by TEXT DEFAULT NULL);
            CREATE TABLE memory_graph (source_hash TEXT, target_hash TEXT, similarity REAL, connection_types TEXT, metadata TEXT,
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


def memento_database(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("""CREATE TABLE memories (id TEXT PRIMARY KEY, kind TEXT NOT NULL, content TEXT NOT NULL, subject_key TEXT,
            importance REAL, source TEXT, metadata TEXT, created_at TEXT, updated_at TEXT, archived_at TEXT, embedding BLOB)""")
        for id_, content, key, archived in (
            ("01KVF2CKW772AAAAAAAAAAAAA1", "prefers dark mode", "user.theme", None),
            ("01KVF2CKW772AAAAAAAAAAAAA2", "an old note", None, "2025-02-01T00:00:00Z"),
        ):
            db.execute(
                "INSERT INTO memories VALUES (?, 'fact', ?, ?, .8, 'manual', '{\"a\": 1}', '2025-01-01T10:00:00Z', ?, ?, x'00')",
                (id_, content, key, "2025-01-02T10:00:00Z", archived),
            )


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


async def test_a_database_of_memento(memory: AsyncMemory, tmp_path: Path) -> None:
    path = tmp_path / "memento.db"
    memento_database(path)
    report = await memory.import_(path)
    assert (report["source"], report["new"]) == ("memento", 2)
    row = await memory.get("01KVF2CKW772AAAAAAAAAAAAA1")
    assert (row.subject_key, row.importance, row.source, row.metadata) == ("user.theme", 0.8, "manual", {"a": 1})
    assert row.updated_at.isoformat() == "2025-01-02T10:00:00+00:00"
    archived = await memory.get("01KVF2CKW772AAAAAAAAAAAAA2")
    assert archived.status == "archived"
    assert (await memory.import_(path))["new"] == 0


async def test_lines_of_memento(memory: AsyncMemory, tmp_path: Path) -> None:
    path = tmp_path / "memento.jsonl"
    rows: list[dict[str, Any]] = [
        {"id": "x1", "content": "one", "kind": "lesson"},
        {"id": "x2", "content": " ", "kind": "fact"},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    report = await memory.import_(path)
    assert (report["new"], report["warnings"]) == (1, {"left out: content is empty": 1})
    assert (await memory.get("x1")).kind == "lesson"


async def test_what_was_deleted_here_stays_away(memory: AsyncMemory, tmp_path: Path) -> None:
    await memory.forget(await memory.store("one"))
    path = tmp_path / "memento.jsonl"
    path.write_text(json.dumps({"id": "x1", "content": "one", "kind": "lesson"}))
    assert (await memory.import_(path))["suppressed"] == 1


async def test_a_taken_key_is_left_to_its_owner(memory: AsyncMemory, tmp_path: Path) -> None:
    await memory.store("light", subject_key="user.theme")
    path = tmp_path / "memento.db"
    memento_database(path)
    assert (await memory.import_(path))["key_taken"] == 1
    assert (await memory.browse("user."))[0].content == "light"


async def test_broken_files_are_refused(memory: AsyncMemory, tmp_path: Path) -> None:
    await memory.store("one")
    whole = tmp_path / "whole.jsonl.gz"
    assert await memory.export(whole) == 1
    plain = tmp_path / "plain.jsonl"
    await memory.export(plain)
    lines = plain.read_text().splitlines()
    for name, text, code in (
        ("cut.jsonl", "\n".join(lines[:-1]), "truncated"),
        ("changed.jsonl", plain.read_text().replace("one", "two"), "truncated"),
        ("garbage.txt", "hello", "bad_format"),
        ("other.json", '{"a": 1}', "bad_format"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(Invalid) as refused:
            await memory.import_(tmp_path / name)
        assert refused.value.code == code
    with contextlib.closing(sqlite3.connect(tmp_path / "odd.db")) as db, db:
        db.execute("CREATE TABLE t (x)")
    with pytest.raises(Invalid, match="has tables t"):
        await memory.import_(tmp_path / "odd.db")
    with pytest.raises(NotFound):
        await memory.import_(tmp_path / "nothing")


async def test_another_programs_database_is_no_store(tmp_path: Path) -> None:
    mms_database(tmp_path / "foreign.db")
    with pytest.raises(WrongFormat) as refused:
        await AsyncMemory(tmp_path / "foreign.db", embedder="none").open()
    assert "mcp-memory-service" in str(refused.value.hint)
