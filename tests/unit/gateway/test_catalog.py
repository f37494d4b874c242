from __future__ import annotations

import pytest
from tests.unit.gateway.fakes import catalog, source, tool

from remora.config.model import ServerConfig
from remora.gateway.catalog import template_matches

UP, OTHER = ServerConfig(command="up"), ServerConfig(command="other")


def resource(uri, **more):
    return {"uri": uri, "name": uri, **more}


def test_everything_is_served_in_the_order_of_the_servers_and_their_lists():
    made = catalog(
        source("b", tools=[tool("two"), tool("one")], prompts=[{"name": "p"}, {"nameless": 1}]),
        source("a", OTHER, tools=[tool("one")], prompts=[{"name": "p"}]),
    )
    assert list(made.tools) == ["b__two", "b__one", "a__one"]
    assert list(made.prompts) == ["b__p", "a__p"]
    assert made.names == {("b", "two"): "b__two", ("b", "one"): "b__one", ("a", "one"): "a__one"}
    entry = made.tools["a__one"]
    assert (entry.original, entry.source.name, entry.definition) == ("one", "a", tool("one"))


def test_one_server_may_go_without_prefix():
    bare = ServerConfig(command="up", bare_names=True)
    made = catalog(source("up", bare, tools=[tool("one"), tool("remora")], prompts=[{"name": "p"}]))
    assert (list(made.tools), list(made.prompts)) == (["one", "up__remora"], ["p"])


@pytest.mark.parametrize(
    ("annotations", "settings", "safe"),
    [
        ({}, {}, False),
        ({"readOnlyHint": True}, {}, True),
        ({"idempotentHint": True}, {}, True),
        ({"readOnlyHint": "yes"}, {}, False),
        ({"destructiveHint": True}, {}, False),
        (["odd"], {}, False),
        ({"readOnlyHint": True}, {"trust_annotations": False}, False),
        ({"readOnlyHint": True}, {"tools": {"t": {"safe": False}}}, False),
        ({}, {"tools": {"t": {"safe": True}}}, True),
        ({}, {"tools": {"t": {"annotations": {"readOnlyHint": True}}}}, True),
        ({"readOnlyHint": True}, {"tools": {"t": {"annotations": {"readOnlyHint": False}}}}, False),
    ],
)
def test_what_may_be_sent_twice(annotations, settings, safe):
    configured = ServerConfig.model_validate({"command": "up", **settings})
    made = catalog(source("up", configured, tools=[tool("t", annotations=annotations)]))
    assert made.tools["up__t"].is_safe() == safe


@pytest.mark.parametrize(
    ("settings", "reads_only"),
    [
        ({}, True),
        ({"trust_annotations": False}, False),
        ({"tools": {"t": {"annotations": {"readOnlyHint": False}}}}, False),
        ({"trust_annotations": False, "tools": {"t": {"annotations": {"readOnlyHint": True}}}}, True),
    ],
)
def test_what_a_login_that_only_reads_may_call(settings, reads_only):
    configured = ServerConfig.model_validate({"command": "up", **settings})
    made = catalog(source("up", configured, tools=[tool("t", annotations={"readOnlyHint": True}), tool("w")]))
    assert made.tools["up__t"].reads_only() == reads_only
    assert not made.tools["up__w"].reads_only()


def test_a_uri_another_server_has_already_moves():
    made = catalog(
        source("one", UP, resources=[resource("test://a"), resource("ui://panel")]),
        source("two", OTHER, resources=[resource("test://a"), resource("ui://panel"), resource("test://own")]),
    )
    assert list(made.resources) == [
        "test://a", "ui://panel", "rem://two/test%3A%2F%2Fa", "ui://two.panel", "test://own"
    ]  # fmt: skip
    assert made.resources["ui://two.panel"].original == "ui://panel"
    assert made.moved == {"two": {"test://a": "rem://two/test%3A%2F%2Fa", "ui://panel": "ui://two.panel"}}


def test_a_moved_uri_is_moved_wherever_the_server_says_it():
    made = catalog(
        source("one", resources=[resource("test://a")]),
        source("two", OTHER, resources=[resource("test://a")]),
    )
    result = {
        "content": [{"type": "resource_link", "uri": "test://a"}, {"type": "text", "text": "test://a"}],
        "_meta": {"ui": {"resourceUri": "test://a"}, "uri": 5},
        "contents": [{"uri": "test://else"}],
        "structuredContent": {"uri": "test://a"},  # a value of the tool's own
    }
    moved = made.rewrite("two", result)
    link = "rem://two/test%3A%2F%2Fa"
    assert moved["content"] == [{"type": "resource_link", "uri": link}, {"type": "text", "text": "test://a"}]
    assert moved["_meta"] == {"ui": {"resourceUri": link}, "uri": 5}
    assert (moved["contents"], moved["structuredContent"]) == (result["contents"], {"uri": "test://a"})
    assert made.rewrite("one", result) is result


def test_a_servers_own_uris_twice_are_one():
    made = catalog(source(resources=[resource("test://a", n=1), resource("test://a", n=2), {"uri": 5}]))
    assert list(made.resources) == ["test://a"]
    assert made.moved == {}


@pytest.mark.parametrize(
    ("template", "uri", "fits"),
    [
        ("test://item/{id}", "test://item/1", True),
        ("test://item/{id}", "test://item/", False),
        ("test://item/{id}", "test://item/1/2", False),
        ("test://item/{id}", "other://item/1", False),
        ("file:///{+path}", "file:///a/b.txt", True),
        ("a{.kind}", "a.txt", True),
        ("a{/rest*}", "a/b/c", True),
        ("a{/rest*}", "a", True),
        ("a{?q,n}", "a?q=1&n=2", True),
        ("a{?q}", "a", True),
        ("a{#at}", "a#x", True),
        ("a.b({x})", "a.b(1)", True),
        ("a.b{x}", "aXb1", False),
        ("no expression", "no expression", True),
        ("open {brace", "open {brace", True),
        ("x://{a}", "x://with\nline", True),
        ("x://{a}", "x://" + "a" * 3000, False),
        ("{+a}" * 9, "x" * 20, False),
    ],
)
def test_templates(template, uri, fits):
    assert template_matches(template, uri) == fits
