from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from remora.gateway.metadata import cut, slim


def slimmed(schema: Any, max_chars: int = 0) -> Any:
    return slim({"name": "t", "inputSchema": schema}, max_chars)["inputSchema"]


def test_keywords_that_say_nothing_go():
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.com",
        "title": "Arguments",
        "type": "object",
        "properties": {
            "a": {"type": "string", "title": "A", "default": "", "examples": ["x"]},
            "b": {"anyOf": [{"type": "integer", "title": "B"}, {"type": "null"}], "default": None},
            "c": {"type": "array", "items": {"type": "object", "required": [], "additionalProperties": False}},
            "d": {"type": "boolean", "default": False},
        },
        "required": [],
        "additionalProperties": False,
    }
    assert slimmed(schema) == {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "c": {"type": "array", "items": {"type": "object"}},
            "d": {"type": "boolean"},
        },
    }


def test_what_says_something_stays():
    schema = {
        "type": "object",
        "properties": {
            "description": {"type": "string"},
            "title": {"type": "string", "default": "x"},
            "default": {"enum": [{"title": "kept", "examples": [1]}], "const": {"$id": 1}},
            "examples": {"type": "integer", "default": 0},
            "$schema": {"type": "string", "x-vendor": {"title": "kept"}},
            "required": {"type": "array", "default": []},
        },
        "required": ["title"],
        "additionalProperties": {"type": "string"},
    }
    assert slimmed(schema) == schema


def test_the_definition_itself_is_not_changed():
    schema = {"title": "x", "properties": {"a": {"title": "y"}}}
    definition = {"name": "t", "title": "T", "description": "d", "inputSchema": schema, "x": {"title": "kept"}}
    made = slim(definition, 0)
    assert schema["properties"] == {"a": {"title": "y"}}
    assert made == {**definition, "inputSchema": {"properties": {"a": {}}}}
    assert slim({"name": "t", "inputSchema": True, "outputSchema": {"title": "x"}}, 0)["outputSchema"] == {}


def test_a_definition_used_once_stands_where_it_is_used():
    point = {"type": "object", "properties": {"x": {"type": "number"}}}
    schema = {
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/Point", "description": "where"}, "of": {"$ref": "#/definitions/Line"}},
        "$defs": {"Point": point, "Other": {"type": "null"}},
        "definitions": {"Line": {"type": "array", "items": {"$ref": "#/definitions/End"}}, "End": {"type": "number"}},
    }
    assert slimmed(schema) == {
        "type": "object",
        "properties": {"at": {**point, "description": "where"}, "of": {"type": "array", "items": {"type": "number"}}},
        "$defs": {"Other": {"type": "null"}},
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}], "$defs": {"A": {"type": "null"}}},
        {"items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"properties": {"a": {"$ref": "#/$defs/A"}}}}},
        {"items": {"$ref": "#/$defs/Missing"}, "$defs": {}},
        {"items": {"$ref": "https://example.com/a"}, "$defs": {"A": {}}},
        {"items": {"$ref": "#/$defs/A"}, "$defs": []},
        {"items": {"$ref": "#/$defs/A"}, "$defs": {"A": True}},
        {
            "items": {"$ref": "#/$defs/A"},
            "contains": {"$ref": "#/$defs/A/properties/a"},
            "$defs": {"A": {"properties": {"a": {"type": "null"}}}},
        },
    ],
    ids=["used twice", "recursive", "missing", "elsewhere", "no map", "no schema", "its inside is used too"],
)
def test_what_cannot_be_moved_stays(schema):
    assert slimmed(schema) == schema


def test_what_stands_beside_a_reference_still_holds():
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A", "properties": {"x": {"$ref": "#/$defs/X"}}, "minProperties": 1}},
        "$defs": {"A": {"minProperties": 2, "properties": {"y": {"type": "string"}}}, "X": {"type": "integer"}},
    }
    made = slimmed(schema)
    assert "$defs" not in made
    for given_, fits in (({"x": 1, "y": "s"}, True), ({"x": 1}, False), ({"x": "s", "y": "s"}, False)):
        assert Draft202012Validator(made).is_valid({"a": given_}) == fits


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [
        ("Short.", 0, "Short."),
        ("Exactly ten", 11, "Exactly ten"),
        ("One sentence. Another one. And more", 30, "One sentence. Another one.…"),
        ("Version 1.2.3 of it is here and goes on", 20, "Version 1.2.3 of…"),
        ("一つ目の文。二つ目の文はとても長い", 10, "一つ目の文。…"),
        ("Paragraph\n\nSecond paragraph that is long", 20, "Paragraph…"),
        ("A. but then very long text without any end", 30, "A. but then very long text…"),
        ("x" * 50, 10, "x" * 9 + "…"),
    ],
)
def test_descriptions_are_cut_at_a_sentence_end(text, limit, kept):
    assert cut(text, limit) == kept


NAMES = ["a", "title", "default", "description", "$ref"]
noise = st.fixed_dictionaries(
    {},
    optional={
        "title": st.text(max_size=3),
        "description": st.text("ab. ", max_size=30),
        "default": st.sampled_from([None, False, "", 0, {"title": "kept"}]),
        "examples": st.just([{"title": 1}]),
        "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
        "minProperties": st.integers(0, 2),
    },
)
GROUPS = ["#/$defs/A", "#/$defs/B", "#/$defs/C"]


def schemas(references: list[str]) -> st.SearchStrategy[Any]:
    """Schemas that refer to some definitions only, so that none refers to itself."""
    leaf = st.builds(lambda kind, more: {"type": kind, **more}, st.sampled_from(["string", "object", "null"]), noise)
    refer = st.builds(lambda ref, more: {"$ref": ref, **more}, st.sampled_from(references or ["#/$defs/None"]), noise)

    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        maps = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
        holders = st.fixed_dictionaries(
            {}, optional={"properties": maps, "items": inner, "anyOf": st.lists(inner, min_size=1, max_size=2)}
        )
        return st.builds(lambda a, b: {**a, **b}, holders, noise)

    return st.recursive(leaf | refer if references else leaf, grow, max_leaves=5)


whole = st.builds(
    lambda root, a, b, c: {**root, "$defs": {"A": a, "B": b, "C": c}},
    schemas(GROUPS), schemas(GROUPS[1:]), schemas(GROUPS[2:]), schemas([])
)  # fmt: skip
instances = st.recursive(
    st.none() | st.just("s"), lambda inner: st.dictionaries(st.sampled_from(NAMES), inner, max_size=3), max_leaves=5
)


@settings(deadline=None, max_examples=60)
@given(whole, st.lists(instances, min_size=1, max_size=4), st.sampled_from([0, 12, 200]))
def test_slimming_changes_no_meaning_and_twice_is_once(schema: Any, given_: list[Any], limit: int) -> None:
    made = slimmed(schema, limit)
    assert slimmed(made, limit) == made
    before, after = Draft202012Validator(schema), Draft202012Validator(made)
    for instance in given_:
        assert before.is_valid(instance) == after.is_valid(instance)
