from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

from remora import AsyncMemory


def memento_database(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("""CREATE TABLE memories (id TEXT PRIMARY KEY, kind TEXT NOT NULL, content TEXT NOT NULL,
            subject_key TEXT, importance REAL, source TEXT, metadata TEXT, created_at TEXT, updated_at TEXT,
            archived_at TEXT, embedding BLOB)""")
        for id_, content, key, archived in (
            ("01KVF2CKW772AAAAAAAAAAAAA1", "prefers dark mode", "user.theme", None),
            ("01KVF2CKW772AAAAAAAAAAAAA2", "an old note", None, "2025-02-01T00:00:00Z"),
        ):
            db.execute(
                """INSERT INTO memories
                VALUES (?, 'fact', ?, ?, .8, 'manual', '{"a": 1}', '2025-01-01T10:00:00Z', ?, ?, x'00')""",
                (id_, content, key, "2025-01-02T10:00:00Z", archived),
            )


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
