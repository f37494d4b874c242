from __future__ import annotations

import json

from remora.gateway.compression.formats import factor, table
from remora.gateway.compression.formats.values import parse

ROWS = [
    {
        "id": i,
        "mail": f"user{i}@example.com",
        "state": ("closed", "waiting")[i % 2],
        "at": f"2026-01-{i + 10}T00:00:00Z",
    }
    for i in range(20)
]


def encoded(rows: list[dict[str, object]]) -> str:
    found = table.as_table(parse(json.dumps(rows)))
    assert found is not None
    return factor.encode(found)


def test_what_columns_share_is_said_once() -> None:
    shown = json.loads(encoded(ROWS))
    assert shown["same"] == {"mail": {"id": ["user", "@example.com"]}}
    assert shown["codes"] == {"state": ["closed", "waiting"]}
    assert shown["prefix"]["at"] == "2026-01-"
    assert table.decode(shown) == ROWS


def test_absent_null_and_numbers_as_text_stay_apart() -> None:
    rows = [{"n": f"no. 0{i}", "of": None if i % 2 else "something long"} for i in range(12)]
    rows += [{"n": "no. 99"}]  # type: ignore[dict-item]
    assert table.decode(json.loads(encoded(rows))) == rows  # type: ignore[arg-type]
