from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from remora.gateway.compression.sections import join, pick, split

NOTES = "before\n# Notes\none\n# Notes\ntwo\n## Deep\n# Notes\nthree\n"


@given(st.lists(st.sampled_from(["# A", "# B", "text", "", "def f():", "class C:", "    body"]), max_size=60))
def test_all_sections_together_are_the_text_and_each_has_its_own_name(lines: list[str]) -> None:
    text = "\n".join(lines)
    for kind in ("markdown", "python", "unknown"):
        found = split(text, kind)
        assert "".join(s.text for s in found) == text
        assert len({s.key for s in found}) == len(found)


def test_equal_titles_are_numbered_and_what_is_before_them_has_a_name() -> None:
    assert [s.key for s in split(NOTES, "markdown")] == ["Preamble", "Notes", "Notes#2", "Deep", "Notes#3"]


def test_definitions_of_code_are_sections() -> None:
    found = split("import os\ndef first():\n    pass\nclass Second:\n    x = 1", "python")
    assert [(s.key, s.type) for s in found] == [
        ("Preamble", "definition"), ("first", "definition"), ("Second", "definition"),
    ]  # fmt: skip


def test_keys_of_json_are_paths_to_valid_json() -> None:
    source = '{"a": {"b": [1.0, 2], "c d": "x"}, "e": [true], "f": {}}'
    found = {s.key: s for s in split(source, "json")}
    assert [*found] == ["a.b", 'a.["c d"]', "e[0]", "f"]
    assert found["a.b"].text == "[1.0, 2]"
    assert all(json.loads(s.text) is not None for s in found.values())
    assert [s.key for s in split(source, "json", depth=1)] == ["a", "e", "f"]
    assert join("", "x") == "x"


def test_a_text_without_structure_is_cut_every_forty_lines() -> None:
    found = split("\n".join(f"line {i}" for i in range(100)), "unknown")
    assert [s.key for s in found] == ["Paragraph 1", "Paragraph 2", "Paragraph 3"]
    assert found[1].text.startswith("line 40\n")


def test_sections_come_in_the_order_asked_for_and_unknown_names_are_told() -> None:
    found, unknown = pick(split(NOTES, "markdown"), ["Notes#3", "Absent", "Preamble"])
    assert [s.key for s in found] == ["Notes#3", "Preamble"]
    assert unknown == ["Absent"]


def test_ranges_and_parents_name_several() -> None:
    listed = split(json.dumps({"a": list(range(6)), "b": {"x": 1, "y": 2}}), "json")
    assert [s.text for s in pick(listed, ["a[2..4]"])[0]] == ["2", "3", "4"]
    assert [s.key for s in pick(listed, ["b"])[0]] == ["b.x", "b.y"]
    parts = split("\n\n".join(f"part {i}" for i in range(1, 9)), "prose")
    assert [s.text.strip() for s in pick(parts, ["Paragraph 3-4", "#1-2"])[0]] == [
        "part 3",
        "part 4",
        "part 1",
        "part 2",
    ]
