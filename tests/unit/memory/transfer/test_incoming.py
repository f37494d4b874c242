from __future__ import annotations

import json
from pathlib import Path

from tests.unit.memory.transfer.test_memento import memento_database

from remora import AsyncMemory


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
