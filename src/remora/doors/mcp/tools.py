"""Remora's own tools, derived from the operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol

from remora.errors import MemoryFault, RefusedError, UsageError
from remora.gateway.session import Front, Params, ViewKey
from remora.operations.registry import OPERATIONS, Context, run

ACTIONS = {
    "health": "gateway.health",
    "stats": "gateway.stats",
    "describe_tool": "gateway.describe_tool",
    "status": "gateway.status",
    "mode": "memory.mode",
    "incognito": "memory.incognito",
    "pending": "memory.pending",
}
ContextOf = Callable[[Front], Context]


class Group(Protocol):
    """Tools that are served together."""

    names: list[str]

    def serves(self, key: ViewKey) -> bool:
        """Whether sessions of this kind see them."""

    def definitions(self) -> list[Params]: ...

    async def call(self, name: str, arguments: Params, front: Front) -> Params: ...


class Own:
    """All of Remora's own tools."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._groups = [group for group in groups if group.serves(ViewKey())]
        self.names = [name for group in self._groups for name in group.names]

    def definitions(self) -> list[Params]:
        return [tool for group in self._groups for tool in group.definitions()]

    def has(self, name: str) -> bool:
        return name in self.names

    async def call(self, name: str, arguments: Params, front: Front) -> Params:
        group = next(group for group in self._groups if name in group.names and group.serves(front.session.view))
        return await group.call(name, arguments, front)


class RemoraTool:
    """One tool with an argument `action`, so that asking about the gateway costs one definition."""

    names = ["remora"]

    def __init__(self, context_of: ContextOf) -> None:
        self._context_of = context_of

    def serves(self, key: ViewKey) -> bool:
        return True

    def definitions(self) -> list[Params]:
        fields: Params = {}
        for action in ACTIONS:
            if action != "pending":  # takes what the memory's filters are; an agent needs none of them
                fields |= fields_of(ACTIONS[action])
        described = "; ".join(f"{action}: {OPERATIONS[name].summary}" for action, name in ACTIONS.items())
        return [
            {
                "name": "remora",
                "title": "Remora",
                "description": f"About the gateway itself. {described}",
                "inputSchema": {
                    "type": "object",
                    "properties": {"action": {"type": "string", "enum": list(ACTIONS)}, **fields},
                    "required": ["action"],
                },
                "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
            }
        ]

    async def call(self, name: str, arguments: Params, front: Front) -> Params:
        given = dict(arguments)
        action = given.pop("action", None)
        if action not in ACTIONS:
            return failure(f"action must be one of {', '.join(ACTIONS)}")
        try:
            result = await run(self._context_of(front), ACTIONS[action], given)
        except (UsageError, RefusedError, MemoryFault) as problem:
            return failure(str(problem))
        return {"content": [text_item(OPERATIONS[ACTIONS[action]].render(result))], "structuredContent": result}


def fields_of(name: str) -> Params:
    """The properties of an operation's input, without what only repeats their names."""
    schema = _schema(name)
    return {
        field: {key: value for key, value in said.items() if key not in ("title", "default")}
        for field, said in schema.get("properties", {}).items()
    }


@cache
def _schema(name: str) -> Params:
    return OPERATIONS[name].input.model_json_schema()


def text_item(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def failure(message: str) -> Params:
    return {"content": [text_item(f"remora: {message}")], "isError": True}
