"""Tool definitions made smaller without changing what a call may say. Slimming twice gives the same as once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

Definition = dict[str, Any]

# Where a schema holds schemas: one, a list of them, or a map of names to them. Only there a key is a keyword.
_ONE = frozenset({"items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else",
                  "unevaluatedItems", "unevaluatedProperties", "contentSchema"})  # fmt: skip
_LIST = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_MAP = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_NOISE = frozenset({"$schema", "$id", "examples"})
_REF = re.compile(r"#/(\$defs|definitions)/([^/]+)\Z")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]|\n\n")


def slim(definition: Definition, max_chars: int) -> Definition:
    """A tool definition without schema noise and with its descriptions cut at a sentence end."""
    made = dict(definition)
    for key in ("inputSchema", "outputSchema"):
        if isinstance(made.get(key), dict):
            made[key] = _slim_schema(_inline_single_refs(made[key]), max_chars)
    if isinstance(made.get("description"), str):
        made["description"] = cut(made["description"], max_chars)
    return made


def cut(text: str, limit: int) -> str:
    if not limit or len(text) <= limit:
        return text
    head = text[: limit - 1]
    ends = [match.end() for match in _SENTENCE_END.finditer(head)]
    kept = head[: ends[-1]] if ends and ends[-1] >= limit // 3 else head[: head.rfind(" ") if " " in head else None]
    return kept.rstrip() + "…"


def _slim_schema(node: Any, max_chars: int) -> Any:
    if not isinstance(node, dict):
        return node
    made: Definition = {}
    for key, value in node.items():
        if key in _NOISE or _says_nothing(key, value):
            continue
        if key in _MAP and isinstance(value, dict):
            made[key] = {name: _slim_schema(sub, max_chars) for name, sub in value.items()}
        elif key in _LIST and isinstance(value, list):
            made[key] = [_slim_schema(sub, max_chars) for sub in value]
        elif key in _ONE:
            made[key] = _slim_schema(value, max_chars)
        elif key == "description" and isinstance(value, str):
            made[key] = cut(value, max_chars)
        else:
            made[key] = value
    return made


def _says_nothing(key: str, value: Any) -> bool:
    return (
        (key == "title" and isinstance(value, str))
        or (key == "default" and (value is None or value is False or value == ""))
        or (key == "additionalProperties" and value is False)
        or (key == "required" and value == [])
    )


def _inline_single_refs(schema: Definition) -> Definition:
    """Put a definition that is used once where it is used; recursive ones stay."""
    counts = Counter(ref for ref in _refs(schema))
    single = {ref for ref, used in counts.items() if used == 1 and (found := _look_up(schema, ref)) is not None
              and not any(True for _ in _refs(found))}  # fmt: skip
    if not single:
        return schema
    made: Definition = _replace(schema, schema, single)
    for group in ("$defs", "definitions"):
        if isinstance(made.get(group), dict):
            left = {name: sub for name, sub in made[group].items() if f"#/{group}/{name}" not in single}
            made = {k: v for k, v in made.items() if k != group} | ({group: left} if left else {})
    return made


def _look_up(schema: Definition, ref: str) -> Definition | None:
    match = _REF.match(ref)
    found = schema.get(match[1], {}).get(match[2]) if match else None
    return found if isinstance(found, dict) else None


def _refs(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from _refs(value)
    elif isinstance(node, list):
        for value in node:
            yield from _refs(value)


def _replace(node: Any, root: Definition, single: set[str]) -> Any:
    if isinstance(node, list):
        return [_replace(value, root, single) for value in node]
    if not isinstance(node, dict):
        return node
    if node.get("$ref") in single:
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return {**(_look_up(root, node["$ref"]) or {}), **beside}
    return {key: _replace(value, root, single) for key, value in node.items()}
