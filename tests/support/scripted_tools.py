"""The tools of the scripted MCP server. Each is one kind of answer, or one kind of trouble."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.support.scripted_server import TOOLS, Call, Message, Refusal, Tool, plain, question, said

ANY = {"type": "object"}
READ_ONLY = {"annotations": {"readOnlyHint": True}}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def tool(name: str = "", /, **definition: Any) -> Any:
    def register(function: Tool) -> Tool:
        served = name or function.__name__
        TOOLS[served] = ({**plain(served), **definition}, function)
        return function

    return register


def takes(**properties: str) -> Message:
    return {"inputSchema": {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}}


# Answers


@tool(**takes(text="string"), **{"x-vendor": {"keep": [1, None]}}, annotations={"title": "Echo", "x-hint": 1})
async def echo(call: Call, arguments: Message) -> Message:
    return said(str(arguments.get("text", "")))


@tool(**takes(n="integer"))
async def big(call: Call, arguments: Message) -> Message:
    return said("x" * arguments["n"])


@tool(**takes(ms="integer"))
async def sleep(call: Call, arguments: Message) -> Message:
    await asyncio.sleep(arguments["ms"] / 1000)
    return said("slept")


@tool(**takes())
async def media(call: Call, arguments: Message) -> Message:
    return {
        "content": [
            {"type": "image", "data": PIXEL, "mimeType": "image/png", "x-vendor": 1},
            {"type": "text", "text": "between", "annotations": {"audience": ["user"], "priority": 0.5}},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav", "_meta": {"v/k": 2}},
            {"type": "resource_link", "uri": f"test://{call.server.name}/a", "name": "a", "size": 3},
            {"type": "resource", "resource": {"uri": f"test://{call.server.name}/b", "text": "b", "x-vendor": {}}},
            {"type": "x-new-kind", "payload": {"deep": [[1], {"two": None}]}},
        ]
    }


@tool(
    title="Weird",
    outputSchema={"type": "object", "properties": {"a": {"type": "integer"}, "n": {"type": "null"}}},
    icons=[{"src": "data:image/png;base64,AA==", "x-vendor": 1}],
    _meta={"anthropic/searchHint": "weird", "vendor/k": {"z": 1, "a": 2}},
    execution={"x-vendor": "kept"},
)
async def weird(call: Call, arguments: Message) -> Message:
    item = {"type": "text", "text": "w\u2028\u00e9\U0001f980", "x-extra": 1, "annotations": {"x": 0.1}}
    structured = {"z": 1, "a": 1, "n": None, "big": 2**60, "float": 1.5, "nested": [{"b": 1, "a": []}]}
    return {"content": [item], "structuredContent": structured, "x-top": {"b": 1, "a": 2}, "_meta": {"vendor/k": 1}}


@tool(**takes(message="string"))
async def complain(call: Call, arguments: Message) -> Message:
    return {**said(arguments.get("message", "no")), "isError": True, "x-top": 1}


@tool(**takes(code="integer", message="string"))
async def refuse(call: Call, arguments: Message) -> Message:
    data = arguments.get("data", {"vendor": [1, {"deep": None}]})
    raise Refusal(arguments.get("code", -32099), arguments.get("message", "refused"), data)


@tool(inputSchema={"type": "object", "properties": {"q": {"type": "string"}}, "additionalProperties": False})
async def strict(call: Call, arguments: Message) -> Message:
    if set(arguments) - {"q"}:
        raise Refusal(-32602, f"unexpected arguments {sorted(arguments)}")
    return said(json.dumps(arguments))


@tool(**takes(_context_query="integer"))
async def own_query(call: Call, arguments: Message) -> Message:
    """Has an argument of its own by the name that the gateway uses."""
    return said(json.dumps(arguments))


@tool(
    inputSchema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.com/traps",
        "title": "Traps",
        "type": "object",
        "properties": {
            "description": {"type": "string", "title": "Description", "description": "a property of that name"},
            "title": {"type": "string", "default": ""},
            "default": {"type": "integer", "default": None, "examples": [1]},
            "examples": {"type": "array", "items": {"$ref": "#/$defs/One"}},
        },
        "required": [],
        "additionalProperties": False,
        "$defs": {"One": {"title": "One", "type": "string"}},
    }
)
async def schema_traps(call: Call, arguments: Message) -> Message:
    return said(json.dumps(arguments))


@tool(description="First sentence of it. " + "Another sentence follows here. " * 200)
async def talkative(call: Call, arguments: Message) -> Message:
    return said("ok")


@tool("dotted.name")
async def dotted(call: Call, arguments: Message) -> Message:
    return said("dotted")


@tool("seventy_" + "x" * 62)
async def seventy(call: Call, arguments: Message) -> Message:
    return said("seventy")


@tool("seventy_" + "x" * 61 + "y")
async def seventy_too(call: Call, arguments: Message) -> Message:
    return said("seventy too")


@tool(inputSchema={"type": "object", "properties": {"a": {"type": "number", "x-mcp-header": "Bad Name"}}})
async def broken_header(call: Call, arguments: Message) -> Message:
    return said("never listed at a modern HTTP upstream")


@tool(inputSchema={"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}})
async def with_header(call: Call, arguments: Message) -> Message:
    return said(str(arguments.get("region")))


@tool(_meta={"ui": {"resourceUri": "ui://panel"}})
async def with_panel(call: Call, arguments: Message) -> Message:
    link = {"type": "resource_link", "uri": "ui://panel", "name": "panel"}
    return {"content": [link], "_meta": {"ui": {"resourceUri": "ui://panel"}}}


@tool(**takes(name="string"))
async def environment(call: Call, arguments: Message) -> Message:
    return said(json.dumps(dict(os.environ)))


@tool(**READ_ONLY)
async def whoami(call: Call, arguments: Message) -> Message:
    return said(json.dumps({"pid": os.getpid(), "cwd": os.getcwd(), "name": call.server.name}))


# Talking back while running


@tool(**takes(steps="integer"))
async def progress(call: Call, arguments: Message) -> Message:
    steps = arguments.get("steps", 3)
    for step in range(steps):
        call.progress(progress=step + 1, total=steps, message=f"step {step}", **{"x-vendor": {"step": step}})
    return said(f"token={'progressToken' in call.meta}")


@tool(**takes(steps="integer", ms="integer"))
async def slow_progress(call: Call, arguments: Message) -> Message:
    for step in range(arguments["steps"]):
        await asyncio.sleep(arguments["ms"] / 1000)
        call.progress(progress=step + 1)
    return said("done")


@tool()
async def log(call: Call, arguments: Message) -> Message:
    for level in ("debug", "info", "error"):
        call.log(level, {"said": level, "list": [1, None]})
    return said("logged")


@tool(**takes(times="integer"))
async def elicit(call: Call, arguments: Message) -> Message:
    rounds = range(1 if call.modern else arguments.get("times", 1))
    answers = [await call.ask(f"q{n}", "elicitation/create", question(f"Question {n}?")) for n in rounds]
    return {**said("elicited"), "structuredContent": {"answers": answers}}


@tool()
async def sample(call: Call, arguments: Message) -> Message:
    message = {"role": "user", "content": {"type": "text", "text": "2+2?"}}
    params = {"messages": [message], "maxTokens": 10, "x-vendor": {"keep": 1}}
    return {**said("sampled"), "structuredContent": await call.ask("s", "sampling/createMessage", params)}


@tool()
async def ask_roots(call: Call, arguments: Message) -> Message:
    return {**said("roots"), "structuredContent": await call.ask("r", "roots/list", {})}


@tool()
async def block(call: Call, arguments: Message) -> Message:
    """Runs until the order `release` (or a cancellation) comes."""
    call.progress(progress=0)
    call.server.report("blocked", id=call.identity, arguments=arguments)
    await call.server.released.wait()
    return said("released")


@tool()
async def touch(call: Call, arguments: Message) -> Message:
    call.server.touched(arguments["uri"])
    return said("touched")


# Trouble


def first_time(call: Call) -> bool:
    """True once per test and tool, however often the process is started anew."""
    mark = Path(call.server.given.control).with_name(f"{call.server.name}.{call.params['name']}")
    fresh = not mark.exists()
    mark.touch()
    return fresh


@tool()
async def crash(call: Call, arguments: Message) -> Message:
    os._exit(3)


async def crash_first(call: Call, arguments: Message) -> Message:
    if first_time(call):
        os._exit(3)
    return said("survived")


async def stall_first(call: Call, arguments: Message) -> Message:
    if first_time(call):
        await asyncio.Event().wait()
    return said("survived")


tool("crash_once")(crash_first)
tool("crash_once_read", **READ_ONLY)(crash_first)
tool("crash_once_idempotent", annotations={"idempotentHint": True})(crash_first)
tool("crash_once_destructive", annotations={"destructiveHint": True})(crash_first)
tool("stall_once")(stall_first)
tool("stall_once_read", **READ_ONLY)(stall_first)


@tool()
async def go_deaf(call: Call, arguments: Message) -> Message:
    """The process lives and answers nothing any more, `ping` included."""
    call.session.deaf = True
    await asyncio.Event().wait()
    return {}


@tool()
async def cut_off(call: Call, arguments: Message) -> Message:
    """Ends in the middle of a message."""
    emit(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","te' % call.identity)
    os._exit(0)


@tool()
async def close_output(call: Call, arguments: Message) -> Message:
    """Closes stdout and lives on."""
    os.close(1)
    await asyncio.Event().wait()
    return {}


@tool(**takes(mb="integer", id_at="string"))
async def huge(call: Call, arguments: Message) -> None:
    """One line of that many megabytes; the id stands at its start, its end, or in the middle where nobody looks."""
    identity, place = b'"id":%s' % json.dumps(call.identity).encode(), arguments.get("id_at", "start")
    emit(b'{"jsonrpc":"2.0",' + (identity + b"," if place == "start" else b""))
    if place == "middle":
        emit(b'"pad":"' + b"p" * 8192 + b'",' + identity + b",")
    emit(b'"result":{"content":[{"type":"text","text":"')
    for _ in range(arguments["mb"]):
        emit(b"y" * 2**20)
        await asyncio.sleep(0)
    emit(b'"}]}' + (b"," + identity if place == "end" else b"") + b"}\n")


@tool(**takes(line="string"))
async def raw_line(call: Call, arguments: Message) -> None:
    """Prints the given text as its answer, ID standing for the id."""
    emit(arguments["line"].replace("ID", json.dumps(call.identity)).encode() + b"\n")


@tool()
async def list_result(call: Call, arguments: Message) -> Any:
    return ["not", "an", "object"]


@tool()
async def twice(call: Call, arguments: Message) -> Message:
    """Answers a request nobody made, then its own one, then once more."""
    answer = {"jsonrpc": "2.0", "id": call.identity, "result": call.dress(said("once"))}
    call.send({"jsonrpc": "2.0", "id": 987654321, "result": {}})
    call.send(answer)
    return said("again")


def emit(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
