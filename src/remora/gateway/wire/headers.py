"""HTTP headers of the modern era that repeat parts of the body, so that proxies can route without reading it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any

VERSION, METHOD, NAME, PARAM = "mcp-protocol-version", "mcp-method", "mcp-name", "mcp-param-"
SESSION, LAST_EVENT = "mcp-session-id", "last-event-id"
ROUTING = frozenset({VERSION, METHOD, NAME})
NAMED_BY: Mapping[str, str] = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
ANNOTATION = "x-mcp-header"

_WRAPPED = re.compile(r"=\?base64\?(.*)\?=")
_PLAIN = re.compile(r"[\x20-\x7e]*")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_DECIMAL = re.compile(r"(-?[0-9]+)(?:\.0+)?")
_ONE = frozenset({"items", "contains", "unevaluatedItems", "additionalProperties", "propertyNames", "not", "if", "then",
                  "unevaluatedProperties", "else", "contentSchema"})  # fmt: skip
_MANY = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED = frozenset({"patternProperties", "dependentSchemas", "$defs", "definitions"})


def encode_value(value: str) -> str:
    if _PLAIN.fullmatch(value) and value == value.strip() and not _WRAPPED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def decode_value(value: str | None) -> str | None:
    """The header's value; None when there is none or its base64 is broken (so that it matches nothing)."""
    if value is None or not (wrapped := _WRAPPED.fullmatch(value)):
        return value
    try:
        raw = base64.b64decode(wrapped[1], validate=True)
        return raw.decode() if base64.b64encode(raw).decode() == wrapped[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def _positions(root: Any) -> Iterator[tuple[tuple[str, ...] | None, dict[str, Any]]]:
    """Every schema position with its chain of property names, or None once anything else was crossed."""
    stack: list[tuple[tuple[str, ...] | None, Any]] = [((), root)]
    while stack:
        path, node = stack.pop()
        if not isinstance(node, dict):
            continue
        yield path, node
        for key, value in node.items():
            if key == "properties" and isinstance(value, dict):
                stack += [((*path, name) if path is not None else None, sub) for name, sub in value.items()]
            elif key in _ONE:
                stack.append((None, value))
            elif key in _MANY and isinstance(value, list):
                stack += [(None, sub) for sub in value]
            elif key in _NAMED and isinstance(value, dict):
                stack += [(None, sub) for sub in value.values()]


def annotation_fault(schema: Any) -> str | None:
    """Why a tool's header annotations are invalid (such a tool is left out of the catalog), or None."""
    seen: set[str] = set()
    for path, node in _positions(schema):
        if ANNOTATION not in node:
            continue
        header, where = node[ANNOTATION], ".".join(path or ())
        if not path:
            return f"{ANNOTATION} stands where no plain property is"
        if not isinstance(header, str) or not _TOKEN.fullmatch(header):
            return f"property {where!r}: {ANNOTATION} is not a header name"
        if node.get("type") not in ("string", "integer", "boolean"):
            return f"property {where!r}: {ANNOTATION} needs type string, integer or boolean"
        if header.lower() in seen:
            return f"property {where!r}: {ANNOTATION} {header!r} occurs twice"
        seen.add(header.lower())
    return None


def _annotated(schema: Any) -> Iterator[tuple[tuple[str, ...], str, dict[str, Any]]]:
    for path, node in _positions(schema):
        if path and isinstance(header := node.get(ANNOTATION), str):
            yield path, header, node


def _at(arguments: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        arguments = arguments.get(key) if isinstance(arguments, dict) else None
    return arguments


def _written(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    try:
        return str(value) if isinstance(value, str | int | float) else None
    except ValueError:  # an integer of thousands of digits
        return None


def for_request(method: str, params: Mapping[str, Any], version: str, schema: Any = None) -> dict[str, str]:
    """The headers a modern request carries."""
    made = {VERSION: version, METHOD: method}
    named = params.get(NAMED_BY.get(method, ""))
    if isinstance(named, str):
        made[NAME] = encode_value(named)
    if method == "tools/call" and schema is not None:
        for path, header, _ in _annotated(schema):
            if (text := _written(_at(params.get("arguments"), path))) is not None:
                made[PARAM + header] = encode_value(text)
    return made


def param_mismatch(schema: Any, arguments: Any, received: list[tuple[str, str]]) -> str | None:
    """What is wrong with the `Mcp-Param-*` headers of a call, or None."""
    if annotation_fault(schema) is not None:
        return None
    for path, header, node in _annotated(schema):
        name = (PARAM + header).lower()
        values = [v for k, v in received if k == name]
        text = _written(_at(arguments, path))
        if len(values) > 1:
            return f"{name} appears more than once"
        if text is None and not values:
            continue
        if text is None or not values:
            missing = "the argument" if text is None else "the header"
            return f"{name} and argument {'.'.join(path)!r} do not agree: {missing} is missing"
        decoded = decode_value(values[0])
        if decoded != text and not _same_integer(node, decoded, text):
            return f"{name} does not match argument {'.'.join(path)!r}"
    return None


def _same_integer(node: dict[str, Any], left: str | None, right: str) -> bool:
    if node.get("type") != "integer" or left is None:
        return False
    a, b = _DECIMAL.fullmatch(left), _DECIMAL.fullmatch(right)
    return a is not None and b is not None and a[1].lstrip("0") == b[1].lstrip("0")


def routing_mismatch(message: Mapping[str, Any], meta_version: Any, received: list[tuple[str, str]]) -> str | None:
    """What is wrong with the routing headers of a modern request, or None."""
    found: dict[str, str] = {}
    for key, value in received:
        if key in ROUTING and key in found:
            return f"{key} appears more than once"
        found[key] = value
    if found.get(VERSION) != meta_version:
        return f"{VERSION} does not match the version in params._meta"
    if found.get(METHOD) != message["method"]:
        return f"{METHOD} does not match the body's method"
    named = message.get("params", {}).get(NAMED_BY.get(message["method"], ""))
    if named is not None and decode_value(found.get(NAME)) != named:
        return f"{NAME} does not match the body"
    return None
