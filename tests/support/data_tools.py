"""Tools whose answers are large, or change: rows, pages, files, notes that are read and written."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.scripted_server import Call, Message, Refusal, said
from tests.support.scripted_tools import READ_ONLY, takes, tool

NOTES: dict[str, str] = {}
SECRET = "sk-proj-" + "Zk3vQ9" * 8


def words(i: int) -> str:
    """A note that shares nothing with the one before it."""
    return " ".join(f"{i * 2654435761 % 4294967291:08x}{i * step % 9973:04x}" for step in (7919, 104729, 15485863))


def rows(n: int) -> list[Message]:
    return [
        {"id": i, "user": f"user{i}", "state": "failed" if i == n // 2 else "done", "note": words(i)} for i in range(n)
    ]


@tool(**takes(n="integer"))
async def table(call: Call, arguments: Message) -> Message:
    """A JSON array, not annotated: calling it twice might do something twice."""
    return said(json.dumps(rows(arguments["n"]), indent=1))


@tool(**takes(n="integer"), outputSchema={"type": "object"})
async def mirrored(call: Call, arguments: Message) -> Message:
    data = {"rows": rows(arguments["n"])}
    return {**said(json.dumps(data)), "structuredContent": data}


@tool(**takes(path="string"), **READ_ONLY)
async def read_file(call: Call, arguments: Message) -> Message:
    return said(Path(arguments["path"]).read_bytes().decode())  # noqa: ASYNC240  (a script of the tests)


@tool(**takes(name="string"), **READ_ONLY)
async def recall_note(call: Call, arguments: Message) -> Message:
    if arguments["name"] not in NOTES:
        raise Refusal(-32602, "no such note")
    return said(NOTES[arguments["name"]])


@tool(**takes(name="string", text="string"))
async def write_note(call: Call, arguments: Message) -> Message:
    NOTES[arguments["name"]] = arguments["text"]
    return said("written")


@tool(**takes(n="integer"), **READ_ONLY)
async def slow_look(call: Call, arguments: Message) -> Message:
    """Runs until released, and tells how far it is."""
    call.progress(progress=1)
    call.server.report("looking", id=call.identity)
    await call.server.released.wait()
    return said("seen")


@tool(**takes(n="integer"), **READ_ONLY)
async def with_secret(call: Call, arguments: Message) -> Message:
    lines = [f"2026-01-01 00:00:{i % 60:02} INFO step {i} done" for i in range(arguments["n"])]
    lines.insert(len(lines) // 2, f"OPENAI_API_KEY={SECRET}")
    return said("\n".join(lines))
