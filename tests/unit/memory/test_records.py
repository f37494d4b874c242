from __future__ import annotations

from datetime import UTC

from remora import AsyncMemory
from remora.memory.records import Records


async def test_a_stored_result_is_its_id(memory: AsyncMemory) -> None:
    stored = await memory.store("text", author="Ann", provenance={"file": "x.py"})
    assert isinstance(stored, str)
    assert stored.id == str(stored) == stored.record.id
    assert stored.record.provenance["author"] == "Ann"
    assert stored.record.provenance["file"] == "x.py"
    assert stored.record.created_at.tzinfo is UTC
    assert stored.record.archived_at is None


def test_lists_know_how_they_go_on() -> None:
    rows = Records([1, 2], next_cursor="c", warnings=["w"])
    assert (list(rows), rows.next_cursor, rows.warnings) == ([1, 2], "c", ("w",))
