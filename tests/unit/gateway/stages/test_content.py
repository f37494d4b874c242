from typing import Any

from remora.gateway.compression.budget import Budget
from remora.gateway.stages.content import STRUCTURED, TEXT, Texts

SMALL = Budget(tokens=20)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def names(found: Texts) -> list[str]:
    return [name for name, _, _ in found.parts(SMALL, "")]


def test_several_texts_are_one_and_stand_where_the_first_stood():
    image = {"type": "image", "data": "AA=="}
    found = Texts.of({"content": [image, text("one"), image, text("two")], "x": 1}, True)
    assert list(found.parts(SMALL, "")) == [(TEXT, "one\ntwo", "")]
    assert found.with_texts({TEXT: "short"}) == {"content": [image, text("short"), image], "x": 1}


def test_an_embedded_text_over_budget_becomes_a_text():
    resource = {"uri": "a://b", "mimeType": "text/csv", "text": "1,2\n" * 300}
    found = Texts.of({"content": [{"type": "resource", "resource": resource}]}, True)
    assert names(found) == ["0"]
    assert found.with_texts({"0": "less"})["content"] == [text("[resource a://b text/csv]\nless")]
    little = {"content": [{"type": "resource", "resource": {**resource, "text": "1,2"}}]}
    assert names(Texts.of(little, True)) == []


def test_structured_content_that_says_the_same_goes_with_the_text():
    data = {"rows": list(range(300))}
    for mirror in ('{"rows": [' + ", ".join(map(str, range(300))) + "]}",):
        found = Texts.of({"content": [text(mirror)], "structuredContent": data}, False)
        assert names(found) == [TEXT]
        assert found.with_texts({TEXT: "less"}) == {"content": [text("less")]}
    wrapped = Texts.of({"content": [text("words")], "structuredContent": {"result": "words"}}, False)
    assert wrapped.mirrored


def test_structured_content_of_its_own_is_told_in_a_text():
    data = {"rows": list(range(300))}
    found = Texts.of({"content": [text("300 rows")], "structuredContent": data}, False)
    assert names(found) == [TEXT, STRUCTURED]
    assert found.with_texts({STRUCTURED: "[]"}) == {"content": [text("300 rows"), text("[]")]}
    assert names(Texts.of({"content": [], "structuredContent": {"a": 1}}, False)) == []
    assert names(Texts.of({"content": [], "structuredContent": data}, True)) == []
