from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from remora.gateway.compression.formats.factor import encode
from remora.gateway.compression.formats.table import as_table, decode
from remora.gateway.compression.formats.values import parse

ROWS: list[dict[str, Any]] = [
    {"id": f"item-{i:04d}", "url": f"https://example.org/things/item-{i:04d}/view",
     "state": ("running", "stopped")[i % 2], "n": i}
    for i in range(40)
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


def test_equal_rows_are_still_as_many() -> None:
    assert decode(shown([{"a": 1, "b": None}] * 5)) == [{"a": 1, "b": None}] * 5


def test_a_prefix_does_not_cut_a_number() -> None:
    made = shown([{"i": i * 3, "name": f"https://example.org/item/100{i}"} for i in range(10)])
    assert made["prefix"] == {"name": "https://example.org/item/"}


cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from(["", "0", "01", "12", "open issue", "https://a.example/1", "https://a.example/22", "…", "a,b\n"]),
)


@given(
    st.lists(st.fixed_dictionaries({"a": cells, "b": cells, "c": st.just("same")}, optional={"d": cells}), min_size=4)
)
def test_rows_of_every_sort_come_back(rows: list[dict[str, Any]]) -> None:
    table = as_table(parse(json.dumps(rows)))
    assert table is None or decode(json.loads(encode(table))) == rows
