"""Validation that reports everything at once: what fails is taken out and the rest is tried again."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from remora.config.keys import annotation_at, fields, nearest
from remora.config.outline import KeyPath, dotted

M = TypeVar("M", bound=BaseModel)

_SHOULD = {
    "bool_type": "should be true or false",
    "int_type": "should be a whole number",
    "float_type": "should be a number",
    "finite_number": "should be a finite number",
    "string_type": "should be text in quotes",
    "string_too_short": "should not be empty",
    "tuple_type": "should be a list",
    "too_short": "should not be empty",
    "dict_type": "should be a table",
    "model_type": "should be a table",
    "model_attributes_type": "should be a table",
    "literal_error": "should be {expected}",
    "greater_than": "should be more than {gt:g}",
    "greater_than_equal": "should be at least {ge:g}",
    "less_than_equal": "should be at most {le:g}",
}
_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "a table"}
_DEADLINES = ("call_timeout_seconds", "overall_deadline_seconds")


@dataclass(frozen=True, slots=True)
class Issue:
    path: KeyPath
    message: str
    hint: str = ""
    broken_server: bool = False
    """Only this server cannot run; the rest of the configuration can."""


def check(model: type[M], data: Mapping[str, Any]) -> tuple[M, list[Issue]]:
    """The valid part of `data` and everything that is wrong with the rest."""
    rest, issues = copy.deepcopy(dict(data)), list[Issue]()
    while True:
        try:
            return model.model_validate(rest), issues
        except ValidationError as failure:
            errors = failure.errors(include_url=False)
        found = [(error, _present(rest, (*error["loc"], *error.get("ctx", {}).get("at", ())))) for error in errors]
        issues += [_issue(error, path, model) for error, path in found if not _follows(error["type"], path, issues)]
        for error, path in found:
            # A prefix taken out would be derived anew and could collide anew: its server goes.
            _remove(rest, path[:2] if error["type"] == "prefix" else path)


def _issue(error: Any, path: KeyPath, model: type[BaseModel]) -> Issue:
    context, kind, value = error.get("ctx", {}), error["type"], error["input"]
    if kind == "extra_forbidden":
        return Issue(path, f'unknown key "{path[-1]}"', _suggestion(path, model))
    if "message" in context:
        return Issue(path, context["message"], context["hint"], kind == "broken_server")
    message = _SHOULD[kind].format(**context) if kind in _SHOULD else error["msg"]
    hint = ""
    if kind == "literal_error" and isinstance(value, str):
        words = [word for word in get_args(annotation_at(path, model)) if isinstance(word, str)]
        message += f', not "{value}"'
        hint = f'did you mean "{close}"?' if (close := nearest(value, words)) else ""
    elif kind.endswith("_type") or kind == "literal_error":
        # Only the kind of the value is told: it may be a secret in the wrong place.
        message += f", not {_KINDS.get(type(value), type(value).__name__)}"
    elif isinstance(value, int | float):
        message += f", not {value:g}"
    return Issue(path, message, hint)


def _suggestion(path: KeyPath, model: type[BaseModel]) -> str:
    word, above = str(path[-1]), annotation_at(path[:-1], model)
    if close := nearest(word, getattr(above, "model_fields", ())):
        return f'did you mean "{close}"?'
    homes = [dotted(known[:-1]) for known, _ in fields(model) if known[-1] == word and len(known) > 1]
    return f"it belongs in [{homes[0]}]" if homes else ""


def _follows(kind: str, path: KeyPath, issues: list[Issue]) -> bool:
    """Whether this only follows from an issue known already: a deadline beside one that was taken out."""
    near = {(*table, key) for table in (path[:-1], ("gateway",)) for key in _DEADLINES}
    return kind == "deadline" and any(issue.path in near for issue in issues)


def _present(data: Any, path: KeyPath) -> KeyPath:
    """The part of the path that the data has."""
    for depth, part in enumerate(path):
        if not (part in data if isinstance(data, dict) else isinstance(data, list) and isinstance(part, int)):
            return path[:depth]
        data = data[part]
    return path


def _remove(data: Any, path: KeyPath) -> None:
    path = _present(data, path)
    # A list with a bad element goes as a whole: its other elements would move.
    while path and isinstance(path[-1], int):
        path = path[:-1]
    if not path:
        data.clear()
        return
    for part in path[:-1]:
        data = data[part]
    del data[path[-1]]
