"""A notebook as an MCP server of the handshake era (2025-11-25): `python -m remora.demo.notes`."""

from __future__ import annotations

import time

from remora.demo.server import Message, Progress, Server, Tool, run, schema

_NOTES = [
    {"title": "Checkout runbook", "text": "Errors after a deploy: look at the pool size first, it is set per region."},
    {"title": "On call", "text": "Write down what you tried. The next one awake will thank you."},
    {"title": "Deploys", "text": "Tuesday and Thursday. Never on a Friday, whatever the ticket says."},
]
_TEXT = {"type": "string"}
_NOTE = schema({"title": _TEXT, "text": _TEXT})
_FOUND = schema({"notes": {"type": "array", "items": _NOTE}})


def _search(arguments: Message, progress: Progress) -> Message:
    words = str(arguments.get("query", "")).lower().split()

    def matches(note: dict[str, str]) -> bool:
        return all(word in f"{note['title']} {note['text']}".lower() for word in words)

    return {"notes": [note for note in _NOTES if matches(note)]}


def _add(arguments: Message, progress: Progress) -> Message:
    _NOTES.append({"title": str(arguments.get("title")), "text": str(arguments.get("text"))})
    return {"notes": len(_NOTES)}


def _tidy(arguments: Message, progress: Progress) -> Message:
    """Takes its time and says so: what an agent sees of a long job."""
    for done, note in enumerate(_NOTES, start=1):
        time.sleep(0.1)
        progress(done, len(_NOTES), note["title"])
    return {"tidied": len(_NOTES)}


def server() -> Server:
    tools = [
        Tool({"name": "search_notes", "description": "Find notes that contain all the words.",
              "inputSchema": schema({"query": _TEXT}), "outputSchema": _FOUND, "annotations": {"readOnlyHint": True}},
             _search),
        Tool({"name": "add_note", "description": "Write a note.", "inputSchema": _NOTE}, _add),
        Tool({"name": "tidy_notes", "description": "Go through all notes, slowly.", "inputSchema": schema(),
              "annotations": {"idempotentHint": True}}, _tidy),
    ]  # fmt: skip
    return Server("notes", "handshake", "A team's notebook: search it before you ask a person.", tools)


if __name__ == "__main__":
    run(server())
