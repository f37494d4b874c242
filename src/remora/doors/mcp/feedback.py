"""The tool by which an agent says what it missed."""

from __future__ import annotations

from remora.doors.mcp.tools import ContextOf, failure, fields_of, text_item
from remora.errors import RefusedError, UsageError
from remora.gateway.session import Front, Params, ViewKey
from remora.operations.registry import OPERATIONS, run


class FeedbackTool:
    names = ["feedback"]

    def __init__(self, context_of: ContextOf) -> None:
        self._context_of = context_of

    def serves(self, key: ViewKey) -> bool:
        return True

    def definitions(self) -> list[Params]:
        return [
            {
                "name": "feedback",
                "title": "Feedback",
                "description": "Tell what you missed in a shortened result. Settings are tuned by it.",
                "inputSchema": {
                    "type": "object",
                    "properties": fields_of("gateway.feedback"),
                    "required": ["server", "tool", "missing"],
                },
                "annotations": {
                    "readOnlyHint": False,
                    "destructiveHint": False,
                    "idempotentHint": True,
                    "openWorldHint": False,
                },
            }
        ]

    async def call(self, name: str, arguments: Params, front: Front) -> Params:
        try:
            recorded = await run(self._context_of(front), "gateway.feedback", arguments)
        except (UsageError, RefusedError) as problem:
            return failure(str(problem))
        told = OPERATIONS["gateway.feedback"].render(recorded)
        return {"content": [text_item(told)], "structuredContent": recorded}
