from __future__ import annotations

import json
from typing import Any

from remora.gateway.compression.formats.factor import encode
from remora.gateway.compression.formats.table import as_table, decode

ROWS: list[dict[str, Any]] = [
    {"id": f"item-{i:04d}", "url": f"https://example.org/things/item-{i:04d}/view", "state": ("running", "stopped")[i % 2],
     "n": i} for i in range(40)
]  # fmt: skip


def shown(rows: list[dict[str, Any]]) -> dict[str, Any]:
    table = as_table(rows)
    assert table is not None
    made: dict[str, Any] = json.loads(encode(table))
    return made


def test_what_columns_share_is_said_once_and_comes_back() -> None:
    made = shown(ROWS)
    assert made["same"] == {"url": {"id": ["https://example.org/things/", "/view"]}}
    assert made["codes"] == {"state": ["running", "stopped"]}
    assert decode(made) == ROWS


def test_members_that_are_not_there_stay_away() -> None:
    rows = [{**row, "extra": None} if i % 3 else row for i, row in enumerate(ROWS)]
    assert decode(shown(rows)) == rows


def test_what_saves_nothing_is_left_as_it_is() -> None:
    rows = [{"a": f"{i * 7919 % 97}x", "b": i} for i in range(8)]
    made = shown(rows)
    assert not {"codes", "same", "prefix", "suffix"} & set(made)
    assert decode(made) == rows
