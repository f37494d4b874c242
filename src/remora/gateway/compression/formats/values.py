"""JSON values whose literals survive: numbers keep the characters they came with."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from typing import Any

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_quote = json.encoder.encode_basestring  # ensure_ascii=False form of one string


class Number(str):
    """A JSON number as it was written."""

    __slots__ = ()


class Unfaithful(ValueError):
    """The document cannot be parsed and written again without changing it (duplicate keys, NaN, lone surrogates)."""


def _constant(name: str) -> Any:
    raise Unfaithful(name)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unfaithful("duplicate key")
    return found


_DECODER = json.JSONDecoder(
    parse_int=Number, parse_float=Number, parse_constant=_constant, object_pairs_hook=_pairs, strict=True
)


@functools.lru_cache(maxsize=2)
def parse(text: str) -> Any:
    """The document with numbers as literals; ValueError when it is no JSON, Unfaithful when it cannot be rewritten.

    Several steps ask for the same document: it is shared, and nobody changes it.
    """
    try:
        value = _DECODER.decode(text)
    except RecursionError as error:
        raise Unfaithful("nested too deeply") from error
    if _SURROGATE.search(text):
        try:
            dump(value).encode()
        except UnicodeEncodeError as error:
            raise Unfaithful("lone surrogate") from error
    return value


def is_json(text: str) -> bool:
    """Parses as JSON in the wide sense (duplicate keys and NaN allowed)."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def joined(values: Sequence[Any], shown: Sequence[str]) -> str:
    """Commas between elements, with a space between two numbers: `1,234` would read as one."""
    out: list[str] = []
    for i, text in enumerate(shown):
        number = isinstance(values[i], Number)
        out.append(f"{', ' if number and isinstance(values[i - 1], Number) else ','}{text}" if i else text)
    return "".join(out)


def dump(value: Any) -> str:
    """Compact JSON with every literal as it came."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return _quote(value)
    if value is None or value is True or value is False:
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quote(k)}:{dump(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + joined(value, list(map(dump, value))) + "]"
    return str(int(value)) if isinstance(value, int) else json.dumps(value)


def count_values(value: Any, most: int) -> int:
    """Members at all depths, counted no further than `most`."""
    count, left = 0, [value] if isinstance(value, (dict, list)) else []
    while left and count < most:
        at = left.pop()
        count += len(at)
        left += [v for v in _members(at) if v and isinstance(v, (dict, list))]
    return count


def is_small(value: Any, most: int) -> bool:
    """A few scalars side by side, no longer than a line."""
    if len(value) > most // 8 or any(isinstance(v, (dict, list)) and v for v in _members(value)):
        return False
    return len(dump(value)) <= most


def _members(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value
