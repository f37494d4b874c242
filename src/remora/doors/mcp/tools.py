"""Remora's own tools, derived from the operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from remora.errors import RefusedError, UsageError
from remora.gateway.session import Front, Params
from remora.operations.registry import OPERATIONS, Context, run

ACTIONS = ("health", "stats", "describe_tool", "status")


class RemoraTool:
    """One tool with an argument `action`, so that asking about the gateway costs one definition."""

    names = ["remora"]

    def __init__(self, context_of: Callable[[Front], Context]) -> None:
        self._context_of = context_of

    def definitions(self) -> list[Params]:
        fields: Params = {}
        for action in ACTIONS:
            schema = OPERATIONS[f"gateway.{action}"].input.model_json_schema()
            for name, field in schema.get("properties", {}).items():
                fields[name] = {key: value for key, value in field.items() if key not in ("title", "default")}
        described = "; ".join(f"{action}: {OPERATIONS[f'gateway.{action}'].summary}" for action in ACTIONS)
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
                "annotations": {"readOnlyHint": True, "openWorldHint": False},
            }
        ]

    def has(self, name: str) -> bool:
        return name == "remora"

    async def call(self, name: str, arguments: Params, front: Front) -> Params:
        given = dict(arguments)
        action = given.pop("action", None)
        if action not in ACTIONS:
            return _failure(f"action must be one of {', '.join(ACTIONS)}")
        try:
            result = await run(self._context_of(front), f"gateway.{action}", given)
        except (UsageError, RefusedError) as problem:
            return _failure(str(problem))
        return {"content": [_text(OPERATIONS[f"gateway.{action}"].render(result))], "structuredContent": result}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _failure(message: str) -> Params:
    return {"content": [_text(f"remora: {message}")], "isError": True}
