"""Remora's own tools, derived from the operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol

from remora.errors import MemoryFault, RefusedError, RpcError, UsageError
from remora.gateway.session import Front, Params, ViewKey
from remora.gateway.wire import jsonrpc
from remora.operations.registry import OPERATIONS, Context, run

ACTIONS = {
    "health": "gateway.health",
    "stats": "gateway.stats",
    "describe_tool": "gateway.describe_tool",
    "status": "gateway.status",
    "stash_clear": "stash.clear",
    "cache_clear": "cache.clear",
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
        self._groups = list(groups)
        self.names = [name for group in self._groups for name in group.names]

    def definitions(self, key: ViewKey) -> list[Params]:
        return [tool for group in self._groups if group.serves(key) for tool in group.definitions()]

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
        for action, name in ACTIONS.items():
            if action != "pending":  # takes what the memory's filters are; an agent needs none of them
                fields |= fields_of(name)
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
        if not isinstance(action, str) or action not in ACTIONS:
            return failure(f"action must be one of {', '.join(ACTIONS)}")
        try:
            result = await run(self._context_of(front), ACTIONS[action], given)
        except (UsageError, RefusedError, MemoryFault) as problem:
            return failure(str(problem))
        return {"content": [text_item(OPERATIONS[ACTIONS[action]].render(result))], "structuredContent": result}


class ReadMoreTool:
    """The way back to everything that was left out."""

    names = ["read_more"]

    def __init__(self, context_of: ContextOf) -> None:
        self._context_of = context_of

    def serves(self, key: ViewKey) -> bool:
        return True

    def definitions(self) -> list[Params]:
        return [
            {
                "name": "read_more",
                "title": "Read more",
                "description": "Read what was left out of a shortened result, by the handle in its last line. "
                "Give q what you look for: words, lines (120-180), a JSONPath ($.items[3]); or a mode.",
                "inputSchema": {"type": "object", "properties": fields_of("stash.read"), "required": ["handle"]},
                "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
            }
        ]

    async def call(self, name: str, arguments: Params, front: Front) -> Params:
        try:
            answer = await run(self._context_of(front), "stash.read", arguments)
        except UsageError as problem:
            raise RpcError(jsonrpc.INVALID_PARAMS, f"read_more: {problem}") from problem
        made: Params = {"content": [text_item(answer["text"])]}
        return {**made, "isError": True} if answer["error"] else made


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
