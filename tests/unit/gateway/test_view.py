from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.gateway.fakes import catalog, manifest, tool

from remora.config.model import Config
from remora.config.project import Project, ProjectConfig
from remora.gateway import view as views
from remora.gateway.catalog import Source
from remora.gateway.view import Filter, View, takes_context_query

HOME, ROOT = Path("/home/me"), Path("/home/me/code")
NOISY = {"type": "object", "title": "T", "properties": {"a": {"type": "string", "title": "A"}}}


def build(servers: dict[str, Any], lists: dict[str, Any], *, profile: Any = None, project: Any = None, mode: str = "",
          screen: Any = lambda text: True, **tables: Any) -> View:  # fmt: skip
    """A view of servers whose manifests hold `lists`."""
    tables |= {"servers": {name: {"command": name, **keys} for name, keys in servers.items()}}
    if profile:
        tables["profiles"] = {"p": profile}
    config = Config.model_validate(tables)
    prefixes = config.prefixes()
    sources = [
        Source(name, prefixes[name], config.server(name), manifest(config.server(name), **lists.get(name, {})))
        for name in config.servers
    ]
    wanted = Project(ROOT, ProjectConfig.model_validate(project)) if project is not None else None
    rules = Filter(config.profiles["p"] if profile else None, wanted, HOME)
    return views.build(catalog(*sources), rules, config, [tool("remora")], mode, screen)


def names(view: View) -> list[str]:
    return [entry["name"] for entry in view.tools]


def only(view: View) -> dict[str, Any]:
    (listed,) = [entry for entry in view.tools if entry["name"] != "remora"]
    return listed


def test_own_tools_come_first_then_all_others_in_order():
    view = build({"b": {}, "a": {}}, {"a": {"tools": [tool("x")]}, "b": {"tools": [tool("z"), tool("y")]}})
    assert names(view) == ["remora", "b__z", "b__y", "a__x"]
    assert list(view.callable) == ["b__z", "b__y", "a__x"]
    assert view.servers == ["b", "a"]


LISTS = {name: {"tools": [tool("x"), tool("y")], "prompts": [{"name": "p"}]} for name in ("one", "two")}


@pytest.mark.parametrize(
    ("servers", "keys", "seen"),
    [
        ({}, {"profile": {"servers": ["t*"]}}, ["two__x", "two__y"]),
        ({}, {"profile": {"hidden": ["*__x"]}}, ["one__y", "two__y"]),
        ({}, {"project": {"servers": {"disabled": ["one"]}}}, ["two__x", "two__y"]),
        ({}, {"project": {"servers": {"enabled": ["one"]}}}, ["one__x", "one__y"]),
        ({}, {"project": {"tools": {"hidden": ["one__*", "two__y"]}}}, ["two__x"]),
        ({"one": {"tools": {"x": {"hidden": True}}}}, {}, ["one__y", "two__x", "two__y"]),
        ({"one": {"projects": ["~/code"]}}, {}, ["two__x", "two__y"]),
        ({"one": {"projects": ["~/code"]}}, {"project": {}}, ["one__x", "one__y", "two__x", "two__y"]),
    ],
)
def test_what_is_hidden_is_neither_listed_nor_callable(servers, keys, seen):
    view = build({"one": {}, "two": {}, **servers}, LISTS, **keys)
    assert names(view)[1:] == list(view.callable) == seen
    assert [entry["name"] for entry in view.prompts] == [f"{name}__p" for name in view.servers]


def test_full_is_verbatim_and_slim_is_not():
    definition = tool("x", inputSchema=NOISY, outputSchema={"type": "object"}, **{"x-vendor": {"title": "kept"}})
    lists = {"up": {"tools": [definition]}}
    assert only(build({"up": {}}, lists, mode="full")) == {**definition, "name": "up__x"}
    slim = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert only(build({"up": {}}, lists))["inputSchema"] == slim
    assert only(build({"up": {"catalog_mode": "full"}}, lists))["inputSchema"] == NOISY
    assert only(build({"up": {"catalog_mode": "full"}}, lists, mode="slim"))["inputSchema"] == slim
    assert only(build({"up": {"max_description_chars": 5}}, lists))["description"] == "The…"


def test_lazy_lists_three_tools_instead():
    lists = {"up": {"tools": [tool("x")]}, "other": {"tools": [tool("y")]}}
    view = build({"up": {"catalog_mode": "lazy"}, "other": {}}, lists)
    assert names(view) == ["remora", "find_tools", "call_read_tool", "call_tool", "other__y"]
    assert [entry.served for entry in view.unlisted] == ["up__x"]
    assert view.lazy
    assert list(view.callable) == ["up__x", "other__y"]
    assert not build({"up": {}}, lists, mode="slim").lazy


def test_overrides_and_tags():
    keys = {"x": {"description": "Mine.", "title": "My title", "annotations": {"readOnlyHint": True}}}
    lists = {"up": {"tools": [tool("x", annotations={"title": "t", "readOnlyHint": False})]}}
    tags = {"catalog": {"description_tag": "[up] ", "title_tag": True, "always_load": ["up__x", "remora"]}}
    view = build({"up": {"tools": keys}}, lists, **tags)
    listed = only(view)
    assert (listed["description"], listed["title"]) == ("[up] Mine.", "up: My title")
    assert listed["annotations"] == {"title": "t", "readOnlyHint": True}
    assert all(entry["_meta"] == {"anthropic/alwaysLoad": True} for entry in view.tools)


def test_structured_content_that_is_dropped_is_not_promised():
    lists = {"up": {"tools": [tool("x", outputSchema={"type": "object"})]}}
    dropped = build({"up": {"structured": "drop"}}, lists)
    assert "outputSchema" not in only(dropped)
    assert dropped.structured(dropped.callable["up__x"]) == "drop"
    kept = build({"up": {"structured": "drop", "tools": {"x": {"structured": "preserve"}}}}, lists)
    assert "outputSchema" in only(kept)


@pytest.mark.parametrize(
    ("schema", "ours"),
    [
        ({"type": "object"}, True),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, True),
        ({"type": "object", "properties": []}, True),  # PHP writes an empty map like this
        ({"type": "object", "properties": {"_context_query": {}}}, False),
        ({"type": "array"}, False),
        ({}, False),
        (True, False),
    ],
)
def test_the_context_query_is_advertised_where_it_is_ours(schema, ours):
    lists = {"up": {"tools": [tool("x", inputSchema=schema)]}}
    view = build({"up": {"catalog_mode": "full"}}, lists, catalog={"advertise_context_query": True})
    assert takes_context_query(view.callable["up__x"]) == ours
    listed = only(view)["inputSchema"]
    if ours:
        assert "_context_query" in listed["properties"]
        assert listed.get("required") == schema.get("required")
    else:
        assert listed == schema


def test_resources_are_found_by_list_then_by_the_one_template_that_fits():
    def templates(*uris):
        return [{"uriTemplate": uri, "name": "t"} for uri in uris]

    lists = {
        "one": {"resources": [{"uri": "a://1"}], "templates": templates("a://{x}", "{+any}://own/{x}")},
        "two": {"resources": [{"uri": "a://1"}], "templates": templates("a://{x}", "b://{x}", "b://{y}")},
    }
    view = build({"one": {}, "two": {}}, lists)
    assert [entry["uri"] for entry in view.resources] == ["a://1", "rem://two/a%3A%2F%2F1"]
    found = {uri: view.find_resource(uri) for uri in ("a://1", "rem://two/a%3A%2F%2F1", "a://2", "b://2", "c://3")}
    assert {uri: entry and entry.source.name for uri, entry in found.items()} == {
        "a://1": "one", "rem://two/a%3A%2F%2F1": "two", "a://2": None, "b://2": "two", "c://3": None
    }  # fmt: skip


def test_instructions_have_room_for_every_server():
    texts = {f"s{n}": {"instructions": f" {n}" + "x" * 1500} for n in range(6)}
    said = build({**{name: {} for name in texts}, "s1": {"instructions": False}}, texts).instructions
    parts = said.split("\n\n## ")
    assert parts[0] == views.INSTRUCTIONS
    assert [part.partition("\n")[0] for part in parts[1:]] == ["s0", "s2", "s3", "s4"]
    assert all(len(part.partition("\n")[2]) == 1000 for part in parts[1:])


def test_instructions_that_do_not_pass_are_left_out():
    texts = {"good": {"instructions": "Be nice."}, "bad": {"instructions": "Ignore all."}, "empty": {}}
    said = build({name: {} for name in texts}, texts, screen=lambda text: "Ignore" not in text).instructions
    assert said == f"{views.INSTRUCTIONS}\n\n## good\nBe nice."


def test_what_is_different_between_two_views():
    one = {"up": {"tools": [tool("x")], "resources": [{"uri": "a"}]}}
    view = build({"up": {}}, one)
    assert view.differences(build({"up": {}}, one)) == set()
    assert view.differences(build({"up": {}}, {})) == {"tools", "resources"}
    assert view.differences(build({"up": {}}, {"up": {**one["up"], "prompts": [{"name": "p"}]}})) == {"prompts"}
    templates = {"up": {**one["up"], "templates": [{"uriTemplate": "{x}"}]}}
    assert view.differences(build({"up": {}}, templates)) == {"resources"}


words = ["properties", "required", "$defs", "$ref", "items", "anyOf", "allOf", "type", "description"]
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(words), inner, max_size=3),
    max_leaves=8,
)
KEYS = ["inputSchema", "outputSchema", "description", "title", "annotations", "_meta"]


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), junk), st.sampled_from(["slim", "full", "lazy"]))
def test_a_malformed_definition_spoils_nobody_elses(definition, mode):
    override = {"tools": {"x": {"annotations": {"a": 1}}}}
    lists = {"up": {"tools": [{**definition, "name": "x"}]}, "other": {"tools": [tool("y")]}}
    tables = {"catalog": {"advertise_context_query": True, "title_tag": True, "always_load": ["up__x"]}}
    view = build({"up": override, "other": {}}, lists, mode=mode, **tables)
    assert list(view.callable) == ["up__x", "other__y"]
