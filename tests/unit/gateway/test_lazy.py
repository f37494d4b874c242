from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.gateway.fakes import tool
from tests.unit.gateway.test_view import KEYS, build, junk

from remora.errors import RpcError
from remora.gateway import lazy


def takes(*required, **properties):
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
TOOLS = [
    tool("createIssue", description="Opens a ticket. It is not assigned.", inputSchema=takes("title", title=TEXT)),
    tool("list_issues", description="Lists tickets that are open", annotations={"readOnlyHint": True},
         inputSchema=takes("repo", repo=TEXT, limit=NUMBER, since={"type": ["string", "null"]}, x={"enum": [1]})),
    tool("weather", title="Forecast", description=""),
]  # fmt: skip
VIEW = build({"git": {}}, {"git": {"tools": TOOLS}}, mode="lazy")
ISSUES = VIEW.callable["git__list_issues"]


def found(query, **arguments):
    text = lazy.find(VIEW, {"query": query, **arguments})["content"][0]["text"]
    return [line.partition("(")[0] for line in text.splitlines()]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("list issue", ["git__list_issues", "git__createIssue"]),
        ("create an Issue", ["git__createIssue", "git__list_issues"]),
        ("tickets", ["git__createIssue", "git__list_issues"]),
        ("forecast", ["git__weather"]),
        ("repo", ["git__list_issues"]),
        ("", ["git__createIssue", "git__list_issues", "git__weather"]),
    ],
)
def test_tools_are_found_by_words(query, names):
    assert found(query) == names


def test_no_more_than_asked_for_are_found():
    assert found("git", limit=2) == ["git__createIssue", "git__list_issues"]
    assert len(found("", limit=1)) == 1
    assert len(found("", limit=50)) == 3
    assert lazy.find(VIEW, {"query": "zebra"})["content"][0]["text"] == "No tool matches. Servers here: git."


@pytest.mark.parametrize("arguments", [{}, {"query": 5}, *({"query": "", "limit": n} for n in (0, 51, True, "8"))])
def test_wrong_arguments_are_named(arguments):
    with pytest.raises(RpcError, match=r"find_tools: (query|limit) must be"):
        lazy.find(VIEW, arguments)


def test_what_is_found_says_how_to_call_it():
    lines = lazy.find(VIEW, {"query": ""})["content"][0]["text"].splitlines()
    assert lines == [
        "git__createIssue(title: string): Opens a ticket.",
        "git__list_issues(repo: string, limit?: integer, since?: string|null, x?: any) [read-only]: "
        "Lists tickets that are open",
        "git__weather(): Forecast",
    ]


def test_reading_is_kept_from_writing():
    assert lazy.chosen(VIEW, "call_read_tool", {"name": "git__list_issues"}) is ISSUES
    assert lazy.chosen(VIEW, "call_tool", {"name": "git__createIssue"}).original == "createIssue"
    with pytest.raises(RpcError, match="not read-only: use call_tool"):
        lazy.chosen(VIEW, "call_read_tool", {"name": "git__createIssue"})
    with pytest.raises(RpcError, match="Unknown tool") as unknown:
        lazy.chosen(VIEW, "call_tool", {"name": "git__list_isues"})
    assert unknown.value.data == {"similar": ["git__list_issues", "git__createIssue"]}
    with pytest.raises(RpcError, match="name must be a string"):
        lazy.chosen(VIEW, "call_tool", {"name": None})


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"repo": "r"}, None),
        ({"repo": "r", "limit": 5.0, "since": None, "x": 1, "more": [], "_context_query": 5}, None),
        ({"limit": 5}, "repo is missing"),
        ({"repo": 5}, "repo must be string"),
        ({"repo": "r", "limit": True}, "limit must be integer"),
        ({"repo": "r", "limit": 5.5}, "limit must be integer"),
        ({"repo": "r", "since": 5}, "since must be string or null"),
        ({"repo": "r", "x": 2}, "x must be one of 1"),
        (["r"], "arguments must be an object"),
        (None, "arguments must be an object"),
    ],
)
def test_arguments_that_are_plainly_wrong(arguments, fault):
    assert lazy.fault(ISSUES, arguments) == fault


def test_a_strict_tool_takes_nothing_it_does_not_know():
    strict = tool("t", inputSchema={**takes(a=TEXT), "additionalProperties": False})
    entry = build({"up": {}}, {"up": {"tools": [strict]}}).callable["up__t"]
    assert lazy.fault(entry, {"a": "x", "_context_query": "why"}) is None
    assert lazy.fault(entry, {"b": 1}) == "b is not an argument of this tool"


def test_a_refusal_shows_what_the_tool_takes():
    refused = lazy.refusal(ISSUES, "repo is missing")
    assert refused["isError"]
    assert '{"type":"object","properties":{"repo":{"type":"string"}' in refused["content"][0]["text"]


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), junk), junk)
def test_a_malformed_definition_hides_nobody_elses(definition, arguments):
    view = build({"up": {}}, {"up": {"tools": [{**definition, "name": "x"}, tool("y")]}}, mode="lazy")
    assert "up__y" in lazy.find(view, {"query": "up"})["content"][0]["text"]
    lazy.fault(view.callable["up__x"], arguments)
    lazy.refusal(view.callable["up__x"], "no")
