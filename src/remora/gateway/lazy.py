"""Catalogs too big to list: tools are found by words and called through two tools of ours."""

from __future__ import annotations

import re
from typing import Any

from remora.errors import RpcError
from remora.gateway.catalog import Entry
from remora.gateway.metadata import cut, slim
from remora.gateway.session import Params
from remora.gateway.view import View
from remora.gateway.wire import jsonrpc

_WORD = re.compile(r"[a-z0-9]+")
_KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict,
    "null": type(None),
}  # fmt: skip


def find(view: View, arguments: Params) -> Params:
    query, limit = arguments.get("query"), arguments.get("limit", 8)
    if not isinstance(query, str):
        raise RpcError(jsonrpc.INVALID_PARAMS, "find_tools: query must be a string")
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= 50:
        raise RpcError(jsonrpc.INVALID_PARAMS, "find_tools: limit must be an integer from 1 to 50")
    words = _words(query)
    scored = [(_score(words, entry), -place, entry) for place, entry in enumerate(view.unlisted)]
    best = [
        entry for score, _, entry in sorted(scored, key=lambda s: s[:2], reverse=True)[:limit] if score > 0 or not words
    ]
    lines = [f"{signature(entry)}: {_sentence(entry)}" for entry in best]
    text = "\n".join(lines) or f"No tool matches. Servers here: {', '.join(view.servers)}."
    return {"content": [{"type": "text", "text": text}]}


def _words(text: str) -> set[str]:
    found = _WORD.findall(re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower())
    return {word.removesuffix("s") for word in found}


def _score(words: set[str], entry: Entry) -> float:
    schema = entry.definition.get("inputSchema") or {}
    name = _words(entry.served)
    rest = _words(f"{entry.definition.get('title', '')} {entry.definition.get('description', '')}")
    parameters = _words(" ".join(schema.get("properties") or {}))
    return 3.0 * len(words & name) + len(words & rest) + 0.5 * len(words & parameters)


def signature(entry: Entry) -> str:
    schema = entry.definition.get("inputSchema") or {}
    required = schema.get("required") or []
    shown = [
        f"{name}{'' if name in required else '?'}: {_type(sub)}"
        for name, sub in (schema.get("properties") or {}).items()
    ]
    mark = " [read-only]" if entry.hint("readOnlyHint") else ""
    return f"{entry.served}({', '.join(shown)}){mark}"


def _type(schema: Any) -> str:
    kind = schema.get("type", "any") if isinstance(schema, dict) else "any"
    return "|".join(map(str, kind)) if isinstance(kind, list) else str(kind)


def _sentence(entry: Entry) -> str:
    text = " ".join(str(entry.definition.get("description") or entry.definition.get("title") or "").split())
    match = re.search(r"[.!?](?=\s|$)", text)
    return cut(text[: match.end()] if match else text, 160)


def chosen(view: View, via: str, arguments: Params) -> Entry:
    name = arguments.get("name")
    if not isinstance(name, str):
        raise RpcError(jsonrpc.INVALID_PARAMS, f"{via}: name must be a string")
    entry = view.callable.get(name)
    if entry is None:
        from remora.gateway.calls import unknown_tool

        raise unknown_tool(view, [], name)
    if via == "call_read_tool" and not entry.hint("readOnlyHint"):
        raise RpcError(jsonrpc.INVALID_PARAMS, f"{name} is not read-only: use call_tool")
    return entry


def fault(entry: Entry, arguments: Any) -> str | None:
    """What is plainly wrong with the arguments by the tool's original schema; the server judges the rest."""
    if not isinstance(arguments, dict):
        return "arguments must be an object"
    schema = entry.definition.get("inputSchema") or {}
    properties = schema.get("properties") or {}
    for name in schema.get("required") or []:
        if name not in arguments:
            return f"{name} is missing"
    for name, value in arguments.items():
        if name == "_context_query":
            continue
        if name not in properties:
            if schema.get("additionalProperties") is False:
                return f"{name} is not an argument of this tool"
            continue
        if complaint := _mistyped(properties[name], value):
            return f"{name} {complaint}"
    return None


def _mistyped(schema: Any, value: Any) -> str | None:
    if not isinstance(schema, dict):
        return None
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if isinstance(kinds, list) and kinds and not any(_is(value, kind) for kind in kinds):
        return f"must be {' or '.join(map(str, kinds))}"
    if isinstance(choices := schema.get("enum"), list) and value not in choices:
        return f"must be one of {', '.join(map(str, choices))}"
    return None


def _is(value: Any, kind: Any) -> bool:
    if kind in ("integer", "number") and isinstance(value, bool):
        return False
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return kind not in _KINDS or isinstance(value, _KINDS[kind])


def refusal(entry: Entry, fault: str) -> Params:
    schema = jsonrpc.encode(slim(entry.definition, 300).get("inputSchema") or {}).decode()
    text = f"remora: {entry.served}: {fault}. Its arguments: {schema}"
    return {"content": [{"type": "text", "text": text}], "isError": True}
