"""A ticket desk as an MCP server of the modern era (2026-07-28): `python -m remora.demo.tickets`."""

from __future__ import annotations

import time

from remora.demo.server import Message, Progress, Server, Tool, ToolError, run, schema

_TICKETS = [
    {"id": "T-7", "title": "Checkout fails with error 502", "state": "open"},
    {"id": "T-8", "title": "Invoice shows the wrong currency", "state": "open"},
    {"id": "T-9", "title": "Logo is blurred on tablets", "state": "closed"},
]
_TEXT = {"type": "string"}
_STATE = {"type": "string", "enum": ["open", "closed"]}
_TICKET = schema({"id": _TEXT, "title": _TEXT, "state": _STATE})
_FOUND = schema({"tickets": {"type": "array", "items": _TICKET}})


def _find(arguments: Message, progress: Progress) -> Message:
    state = arguments.get("state")
    return {"tickets": [ticket for ticket in _TICKETS if state in (None, ticket["state"])]}


def _close(arguments: Message, progress: Progress) -> Message:
    ticket = next((each for each in _TICKETS if each["id"] == arguments.get("id")), None)
    if ticket is None:
        raise ToolError(f"there is no ticket {arguments.get('id')}")
    if ticket["state"] == "closed":
        raise ToolError(f"{ticket['id']} is closed already")
    ticket["state"] = "closed"
    return dict(ticket)


def _wait(arguments: Message, progress: Progress) -> Message:
    time.sleep(min(float(arguments.get("ms", 100)), 10_000) / 1000)
    return {"reply": "It works again, thank you."}


def server() -> Server:
    tools = [
        Tool({"name": "find_tickets", "description": "List tickets, all or those in one state.",
              "inputSchema": schema(state=_STATE), "outputSchema": _FOUND,
              "annotations": {"readOnlyHint": True}}, _find),
        Tool({"name": "close_ticket", "description": "Close an open ticket.", "inputSchema": schema({"id": _TEXT}),
              "annotations": {"destructiveHint": True}}, _close),
        Tool({"name": "wait_for_reply", "description": "Wait for the customer to write back.",
              "inputSchema": schema(ms={"type": "integer", "maximum": 10_000}),
              "annotations": {"readOnlyHint": True}}, _wait),
    ]  # fmt: skip
    return Server("tickets", "modern", "The support desk. Close a ticket only when the customer has confirmed.", tools)


if __name__ == "__main__":
    run(server())
