from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import Field

from remora.errors import RefusedError, UsageError
from remora.gateway.session import Principal, Scope
from remora.operations import registry
from remora.operations.registry import Context, Input, Operation, operation, run


class Given(Input):
    names: list[str] = Field(default_factory=list)
    count: int = Field(1, ge=1)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[Given]:
    """Two operations of ours in an empty registry, and what they were given."""
    monkeypatch.setattr(registry, "OPERATIONS", {})
    found: list[Given] = []

    @operation("things.look", "Look.", "read", Given, str)
    async def look(context: Context, given: Given) -> dict[str, Any]:
        found.append(given)
        return {"by": context.principal.name}

    @operation("things.change", "Change.", "write", Given, str)
    async def change(context: Context, given: Given) -> dict[str, Any]:
        found.append(given)
        return {}

    return found


def by(scope: Scope) -> Any:
    return SimpleNamespace(principal=Principal("somebody", scope))


def test_an_operation_is_defined_once_with_all_that_doors_need(called: list[Given]) -> None:
    assert list(registry.OPERATIONS) == ["things.look", "things.change"]
    found = registry.OPERATIONS["things.look"]
    assert isinstance(found, Operation)
    assert (found.action, found.summary, found.scope, found.input) == ("look", "Look.", "read", Given)
    assert found.render({"a": 1}) == "{'a': 1}"


async def test_the_handler_gets_what_was_validated(called: list[Given]) -> None:
    assert await run(by("read"), "things.look", {"names": ["a"], "count": "3"}) == {"by": "somebody"}
    assert called == [Given(names=["a"], count=3)]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [({"count": 0}, "count"), ({"count": "many"}, "count"), ({"names": ["a", 7]}, "names.1"), ({"more": 1}, "more")],
)
async def test_a_wrong_argument_is_named(called: list[Given], arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(UsageError, match=rf"^{field}: ") as refused:
        await run(by("admin"), "things.look", arguments)
    assert (refused.value.exit_code, called) == (2, [])


@pytest.mark.parametrize(
    ("scope", "name", "allowed"),
    [("read", "things.look", True), ("write", "things.look", True), ("admin", "things.look", True),
     ("read", "things.change", False), ("write", "things.change", True), ("admin", "things.change", True)],
)  # fmt: skip
async def test_a_scope_allows_itself_and_everything_below(
    called: list[Given], scope: Scope, name: str, allowed: bool
) -> None:
    if allowed:
        await run(by(scope), name, {})
    else:
        with pytest.raises(RefusedError, match=r"things\.change needs the scope 'write'; this login has 'read'"):
            await run(by(scope), name, {})
    assert bool(called) is allowed


async def test_who_may_not_is_told_nothing_about_the_arguments(called: list[Given]) -> None:
    with pytest.raises(RefusedError):
        await run(by("read"), "things.change", {"more": 1})
