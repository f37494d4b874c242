from __future__ import annotations

import json

from remora.gateway.stash.search import search

LINES = [f"{i} plain words that say little" for i in range(200)]
LINES[120] = "the zebra crossed the road"
TEXT = "\n".join(LINES)


def test_lines_come_with_their_number_and_the_best_block_first() -> None:
    found = search(TEXT, "unknown", "zebra road", 300)
    assert "121:the zebra crossed the road" in found.split("\n")
    numbers = [int(line.partition(":")[0]) for line in found.split("\n")[:-1]]
    assert list(range(numbers[0], 122)) == numbers[: 122 - numbers[0]]
    assert found.endswith("of 200 lines]")
    assert len(found) <= 300


def test_what_was_shown_before_is_not_shown_again() -> None:
    assert "zebra" not in search(TEXT, "unknown", "zebra road", 300, seen="the  zebra crossed the road")


def test_values_come_with_their_path() -> None:
    document = {
        "a": {"b c": "the zebra"},
        "rows": [{"id": i, "name": f"thing {i}"} for i in range(50)],
        "n": list(range(9)),
    }
    text = json.dumps(document)
    assert search(text, "json", "zebra", 200).startswith('a.["b c"]: "the zebra"')
    rows = search(text, "json", "thing 33", 300).split("\n")
    assert rows[0].startswith('rows: {"rem":"table/1"')
    assert rows[1] == 'rows[33]: [33,"thing 33"]'


def test_json_that_cannot_be_read_goes_by_lines_and_nothing_is_nothing() -> None:
    assert search('{"a":1,"a":2}', "json", "a", 200).startswith("1:")
    assert search("", "unknown", "a", 200) == ""


def test_the_best_block_comes_before_those_above_it_in_the_text() -> None:
    lines = [*LINES]
    lines[20] = "a road"
    found = search("\n".join(lines), "unknown", "zebra road", 2_000)
    assert found.index("121:the zebra") < found.index("21:a road")
