from __future__ import annotations

from remora.doors.mcp.feedback import FeedbackTool
from remora.gateway.session import ViewKey
from remora.operations.registry import registered


def test_its_definition_is_the_operation_s() -> None:
    registered()
    tool = FeedbackTool(lambda front: None)  # type: ignore[arg-type, return-value]
    (definition,) = tool.definitions()
    assert tool.serves(ViewKey())
    assert definition["inputSchema"]["required"] == ["server", "tool", "missing"]
    assert list(definition["inputSchema"]["properties"]) == [
        "target", "server", "tool", "missing", "kind", "trace_id",
    ]  # fmt: skip
    assert definition["annotations"]["destructiveHint"] is False
