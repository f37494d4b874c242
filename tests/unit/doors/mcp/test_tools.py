from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import Field

from remora.doors.mcp.tools import ACTIONS, RemoraTool
from remora.errors import RefusedError
from remora.gateway.session import Principal
from remora.operations import registry
from remora.operations.registry import OPERATIONS, Context, Input, Operation, registered

registered()

FRONT: Any = SimpleNamespace()


class Asked(Input):
    names: list[str] = Field(default_factory=list, description="Which.")


async def answer(context: Context, given: Asked) -> dict[str, Any]:
    if given.names == ["refuse"]:
        raise RefusedError("not you")
    return {"names": given.names, "scope": context.principal.scope}


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> RemoraTool:
    """The tool with one operation of ours in the place of `gateway.health`."""
    fake = Operation("gateway.health", "Ask.", "read", Asked, answer, lambda result: f"names: {result['names']}")
    monkeypatch.setitem(registry.OPERATIONS, "gateway.health", fake)
    context: Any = SimpleNamespace(principal=Principal("somebody", "read"))
    return RemoraTool(lambda front: context if front is FRONT else None)  # type: ignore[return-value]


def text(result: Any) -> str:
    [item] = result["content"]
    assert item["type"] == "text"
    return str(item["text"])


def test_one_definition_covers_every_action() -> None:
    [definition] = RemoraTool(lambda front: FRONT).definitions()
    schema = definition["inputSchema"]
    assert schema["properties"]["action"]["enum"] == list(ACTIONS)
    assert schema["required"] == ["action"]
    told = [action for action in ACTIONS if action != "pending"]  # its filters are for people, not for agents
    expected = {name for action in told for name in OPERATIONS[ACTIONS[action]].input.model_fields}
    assert set(schema["properties"]) - {"action"} == expected
    for action in ACTIONS:
        assert OPERATIONS[ACTIONS[action]].summary in definition["description"]
    assert definition["annotations"]["readOnlyHint"] is False


def test_every_action_only_reads_but_those_that_forget() -> None:
    changing = {action for action, name in ACTIONS.items() if OPERATIONS[name].scope != "read"}
    assert changing == {"stash_clear", "cache_clear"}


def test_two_listings_are_equal(tool: RemoraTool) -> None:
    assert tool.definitions() == tool.definitions()


def test_it_has_one_name(tool: RemoraTool) -> None:
    assert [definition["name"] for definition in tool.definitions()] == tool.names == ["remora"]


async def test_an_action_is_answered_in_words_and_in_fields(tool: RemoraTool) -> None:
    given = {"action": "health", "names": ["git"]}
    result = await tool.call("remora", given, FRONT)
    assert (text(result), result["structuredContent"]) == ("names: ['git']", {"names": ["git"], "scope": "read"})
    assert "isError" not in result
    assert given == {"action": "health", "names": ["git"]}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [({}, "action must be one of health, stats"), ({"action": "add"}, "action must be one of"),
     ({"action": ["health"]}, "action must be one of"), ({"action": "health", "names": 7}, "names: "),
     ({"action": "health", "more": 1}, "more: "), ({"action": "health", "names": ["refuse"]}, "not you")],
)  # fmt: skip
async def test_what_cannot_be_done_is_said_in_the_result(
    tool: RemoraTool, arguments: dict[str, Any], said: str
) -> None:
    result = await tool.call("remora", arguments, FRONT)
    assert result["isError"] is True
    assert text(result).startswith(f"remora: {said}")
