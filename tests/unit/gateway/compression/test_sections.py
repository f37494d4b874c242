from __future__ import annotations

import json

import pytest

from remora.gateway.compression.sections import join, pick, split


@pytest.mark.parametrize(
    ("text", "kind", "keys"),
    [
        ("intro\n# A\n1\n# A\n2", "markdown", ["Preamble", "A", "A#2"]),
        ("import x\ndef f():\n  1\nclass B:\n  2", "python", ["Preamble", "f", "B"]),
        ("one\n\ntwo\n\n\nthree", "log", ["Paragraph 1", "Paragraph 2", "Paragraph 3"]),
        ("\n".join(map(str, range(90))), "log", ["Paragraph 1", "Paragraph 2", "Paragraph 3"]),
    ],
)
def test_the_parts_are_the_whole_text(text: str, kind: str, keys: list[str]) -> None:
    found = split(text, kind)
    assert [section.key for section in found] == keys
    assert "".join(section.text for section in found) == text


def test_values_have_paths_and_stay_json() -> None:
    found = split('{"a":{"b":1.50},"c d":[1,{"x":2}],"e":"t"}', "json")
    assert [(s.key, s.type) for s in found] == [
        ("a.b", "value"), ('["c d"][0]', "value"), ('["c d"][1]', "object"), ("e", "value")
    ]  # fmt: skip
    assert [json.loads(s.text) for s in found] == [1.5, 1, {"x": 2}, "t"]
    assert join("a", "b c") == 'a.["b c"]'


def test_names_ranges_and_what_nothing_answers_to() -> None:
    found = split('{"a":[1,2,3],"b":{"c":4}}', "json")
    picked, unknown = pick(found, ["a[1..2]", "b", "no"])
    assert ([s.text for s in picked], unknown) == (["2", "3", "4"], ["no"])
    assert [s.text for s in pick(found, ["#1-2"])[0]] == ["1", "2"]
