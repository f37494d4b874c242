from __future__ import annotations

import json
from typing import Any

from remora.gateway.compression.budget import Budget
from remora.gateway.stages.content import STRUCTURED, TEXT, Texts

DATA = {"a": list(range(200))}
IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}


def item(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def resource(text: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": "test://r", "mimeType": "text/css", "text": text}}


def names(texts: Texts, tokens: int = 50) -> list[str]:
    return [name for name, _, _ in texts.parts(Budget(tokens=tokens), "")]


def test_texts_are_one_text_at_the_place_of_the_first() -> None:
    result = {"content": [IMAGE, item("a", annotations={"x": 1}), IMAGE, item("b")], "_meta": {"m": 1}}
    found = Texts.of(result, True)
    assert (found.text, found.size) == ("a\nb", 3)
    made = found.with_texts({TEXT: "short"})
    assert made == {"content": [IMAGE, item("short", annotations={"x": 1}), IMAGE], "_meta": {"m": 1}}
    assert len(result["content"]) == 4


def test_a_resource_becomes_a_text_that_names_it() -> None:
    found = Texts.of({"content": [resource("x " * 500), resource("small")]}, True)
    assert names(found) == ["0"]
    assert found.with_texts({"0": "less"})["content"] == [item("[resource test://r text/css]\nless"), resource("small")]


def test_structured_content_that_the_text_says_goes_with_it() -> None:
    for text in (json.dumps(DATA), json.dumps(DATA["a"])):
        found = Texts.of({"content": [item(text)], "structuredContent": DATA}, False)
        assert names(found) == [TEXT]
        assert "structuredContent" not in found.with_texts({TEXT: "less"})


def test_structured_content_of_its_own_becomes_text_when_it_is_long() -> None:
    result = {"content": [item("done")], "structuredContent": DATA}
    found = Texts.of(result, False)
    assert names(found) == [TEXT, STRUCTURED]
    assert names(found, 10_000) == [TEXT]
    assert found.with_texts({STRUCTURED: "less"}) == {"content": [item("done"), item("less")]}
    assert names(Texts.of(result, True)) == [TEXT]


def test_odd_content_is_no_text() -> None:
    for content in ("odd", [1, {"type": "text"}, {"type": "resource", "resource": 1}], None):
        assert Texts.of({"content": content}, True).size == 0
