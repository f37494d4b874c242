from __future__ import annotations

import json

from remora.gateway.compression.formats import table
from remora.gateway.compression.formats.values import parse

ROWS = [
    {
        "id": i,
        "user": {"login": "a", "x.y": i},
        "url": f"https://git.example/acme/issues/{i}",
        "tags": ["t"],
        "kind": "k",
    }
    for i in range(20)
]


def test_null_missing_and_empty_stay_apart() -> None:
    rows = [{"a": None, "b": 1}, {"b": 2}, {"a": "", "b": 3}, {"a": {}, "b": 4}, {"a": {"c": 1}, "b": 5}]
    found = table.as_table(parse(json.dumps(rows)))
    assert found
    assert table.decode_tree(json.loads(table.encode(found))) == rows


def test_constants_and_path_prefixes_are_said_once() -> None:
    found = table.as_table(parse(json.dumps(ROWS)))
    assert found
    shown = table.encode(found)
    assert shown.count("https://git.example/acme/issues/") == 1
    assert shown.count('"k"') == 1
    assert table.decode_tree(json.loads(shown)) == ROWS


def test_chosen_rows_keep_their_index() -> None:
    found = table.as_table(parse(json.dumps(ROWS)))
    assert found
    shown = json.loads(table.encode(found, [3, 7]))
    assert shown["index"] == [3, 7]
    assert shown["omitted"] == {"rows": 18}
    assert table.decode(shown) == [ROWS[3], ROWS[7]]


def test_unlike_rows_are_no_table() -> None:
    assert table.as_table([{"a": 1}, {"b": 1}, {"c": 1}, {"d": 1}]) is None
    assert table.as_table([1, 2, 3, 4]) is None
