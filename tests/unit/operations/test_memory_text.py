from __future__ import annotations

from typing import Any

import pytest

from remora.operations import memory_text as text

ID, OTHER = "01KVF2CKW772AAAAAAAAAAAAA1", "01KVF2CKW772AAAAAAAAAAAAA2"


def memory(**fields: Any) -> dict[str, Any]:
    return {"id": ID, "kind": "fact", "importance": 0.8, "subject_key": "user.theme", "content": "dark\nmode"} | fields


def test_a_line_per_memory() -> None:
    assert text.lines([memory()]) == "  01KVF2CKW772  fact    imp=0.80  [user.theme] dark mode"
    assert text.lines([memory(subject_key=None)], ranked=True) == "  1. 01KVF2CKW772  fact    imp=0.80  dark mode"


def test_short_ids_grow_until_they_differ() -> None:
    assert text.short(ID, [ID, OTHER]) == ID
    assert text.short(ID, ["01XXXX"]) == "01KVF2CKW772"


@pytest.mark.parametrize(
    ("status", "said"),
    [("created", f"Stored {ID}"), ("merged", f"Merged into {ID}"), ("updated", f"Updated {ID} (v3)"),
     ("superseded", f"Superseded {OTHER} by {ID}"), ("pending", f"Pending {ID}"),
     ("suppressed", f"Suppressed {ID}: it was deleted before")],
)  # fmt: skip
def test_what_became_of_a_text(status: str, said: str) -> None:
    assert text.stored_text({"status": status, "id": ID, "version": 3, "superseded": [OTHER]}) == said


def test_nothing_found_is_said() -> None:
    assert text.recalled_text({"memories": [], "mode_used": "hybrid"}) == "No matches."
    assert text.listed_text({"memories": []}) == "Nothing there."
    assert text.conflicts_text({"conflicts": []}) == "No open conflicts."


def test_what_would_be_forgotten() -> None:
    told = text.forgotten_text({"done": False, "count": 2, "previews": ["one", "two"]})
    assert told == "Would forget 2 memories\n  one\n  two"
    done = {"done": True, "count": 1, "ids": [ID], "op_ids": ["OP"], "pending": False}
    assert text.forgotten_text(done) == f"Forgot {ID} (operation OP)"
