"""Remora's own memory tools: remember, recall, revise, forget."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from typing import Any

from remora.doors.mcp import memory_answers as answers
from remora.doors.mcp.tools import ContextOf, fields_of, text_item
from remora.errors import MemoryFault, RefusedError, RemoraError, RpcError, UsageError
from remora.gateway.session import Front, Params, ViewKey
from remora.gateway.wire import jsonrpc
from remora.operations import memory as _verbs  # noqa: F401 - registers its operations
from remora.operations import memory_history as _history  # noqa: F401
from remora.operations.registry import run

_REVISE = {"update": "memory.update", "undo": "memory.undo", "restore": "memory.restore", "history": "memory.history",
           "resolve": "memory.resolve"}  # fmt: skip
FIELDS: Mapping[str, tuple[str, ...]] = {
    "remember": tuple(
        "content kind tags subject_key namespace scope importance supersedes ttl valid_from valid_to pinned triggers "
        "metadata conversation_id items".split()
    ),
    "recall": tuple(
        "query ids similar_to kinds tags tag_match subject_key_prefix time as_of namespace path mode limit cursor "
        "min_score include_superseded include_archived".split()
    ),
    "revise": tuple(
        "id content kind tags add_tags remove_tags subject_key scope importance pinned valid_from valid_to expires_at "
        "status metadata reason if_version".split()
    ),
    "forget": tuple("ids tags tag_match kinds subject_key_prefix time session archive hard confirm".split()),
}
BESIDES: Mapping[str, Params] = {
    "recall": {"max_tokens": {"type": "integer"}, "explain": {"type": "boolean"}},
    "revise": {"action": {"enum": list(_REVISE)}, "op_id": {"type": "string"}, "loser": {"type": "string"}},
}
# What the names do not say; the operations' own descriptions are for people who read documentation.
HINTS: Mapping[str, str] = {
    "kind": "fact, decision, lesson, event …",
    "subject_key": "dotted; same key = update",
    "scope": "path glob",
    "supersedes": "ids it replaces",
    "ttl": "30d, 12h",
    "triggers": "path:src/**, cmd:make …",
    "items": "many at once",
    "similar_to": "id",
    "time": 'such as "last week"',
    "as_of": "as known then",
    "confirm": "from the preview",
    "archive": "out of sight, kept",
    "hard": "erase for good",
}
TOLD: Mapping[str, tuple[str, Params]] = {
    "remember": (
        "Keep a fact, decision, lesson or preference for later sessions. One statement per memory, complete in itself; "
        "a correction replaces what it corrects. Never secrets.",
        {"destructiveHint": False},
    ),
    "recall": (
        "Find memories of earlier sessions, best first, by a question, filters or ids. Nothing given: the newest.",
        {"readOnlyHint": True, "idempotentHint": True},
    ),
    "revise": (
        "Change a memory, see its history, undo, restore, or resolve a conflict (id wins over loser).",
        {"destructiveHint": False},
    ),
    "forget": (
        "Put memories away; revise restores them. A filter, or hard, only previews: call again with its confirm word.",
        {"destructiveHint": True, "idempotentHint": True},
    ),
}


class MemoryTools:
    """The memory as agents see it. Nothing of it is opened before the first call."""

    names = list(FIELDS)

    def __init__(self, context_of: ContextOf) -> None:
        self._context_of = context_of

    def serves(self, key: ViewKey) -> bool:
        return True

    def definitions(self) -> list[Params]:
        return [deepcopy(_definition(name)) for name in self.names]

    async def call(self, name: str, arguments: Params, front: Front) -> Params:
        allowed = (*FIELDS[name], *BESIDES.get(name, ()))
        if unknown := [given for given in arguments if given not in allowed]:
            near = difflib.get_close_matches(unknown[0], allowed, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; it takes {', '.join(allowed)}"
            raise RpcError(jsonrpc.INVALID_PARAMS, f"{name}: unknown argument {unknown[0]}{hint} [unknown_argument]")
        try:
            made = await getattr(self, f"_{name}")(dict(arguments), front)
        except UsageError as problem:
            raise RpcError(jsonrpc.INVALID_PARAMS, f"{name}: {problem}") from problem
        except (MemoryFault, RefusedError) as problem:
            return failed(problem)
        text, structured = made
        return {"content": [text_item(text)], "structuredContent": structured}

    async def _remember(self, given: Params, front: Front) -> tuple[str, Params]:
        return answers.remembered(await run(self._context_of(front), "memory.remember", given))

    async def _recall(self, given: Params, front: Front) -> tuple[str, Params]:
        context = self._context_of(front)
        assert context.memory is not None
        room = _number(given.pop("max_tokens", None), context.memory.recall_tokens)
        explain = given.pop("explain", False) in (True, "true")
        most = _number(given.get("limit"), 10)
        if not 1 <= most <= 100:
            raise UsageError("limit: between 1 and 100")
        found = await run(context, "memory.recall", given)
        return answers.recalled(found, room, explain=explain, weak_matters=given.get("min_score") is None)

    async def _revise(self, given: Params, front: Front) -> tuple[str, Params]:
        action = given.pop("action", "update")
        if action not in _REVISE:
            raise UsageError(f"action: one of {', '.join(_REVISE)}")
        op, loser = given.pop("op_id", None), given.pop("loser", None)
        match action:
            case "undo":
                given = {"op_id": op or given.get("id")}
            case "restore":
                given = {"ids": [given.get("id", "")], "drop_key": "subject_key" in given and not given["subject_key"]}
            case "history":
                given = {"id": given.get("id", "")}
            case "resolve":
                given = {"winner": given.get("id", ""), "loser": loser or "", "text": given.get("content")}
        result = await run(self._context_of(front), _REVISE[action], given)
        return answers.revised(action, result)

    async def _forget(self, given: Params, front: Front) -> tuple[str, Params]:
        return answers.forgotten(await run(self._context_of(front), "memory.forget", given))


def failed(problem: RemoraError) -> Params:
    """What went wrong, what to do about it, and a code for programs."""
    hint = f" — {problem.hint}" if problem.hint else ""
    return {"content": [text_item(f"Error: {problem}{hint} [{problem.code}]")], "isError": True}


def _number(value: Any, default: int) -> int:
    if value is None:
        return default
    try:
        return int(value)
    except (TypeError, ValueError) as problem:
        raise UsageError(f"{value!r} is not a number") from problem


@cache  # schemas take a while, and every view asks for them
def _definition(name: str) -> Params:
    said, hints = TOLD[name]
    operation = "memory.update" if name == "revise" else f"memory.{name}"
    known = fields_of(operation)
    properties = {field: _lean(field, known[field]) for field in FIELDS[name]} | BESIDES.get(name, {})
    return {
        "name": name,
        "title": name.capitalize(),
        "description": said,
        "inputSchema": {"type": "object", "properties": properties, "additionalProperties": False},
        "annotations": {**hints, "openWorldHint": False},
    }


def _lean(name: str, field: Params) -> Params:
    """What a caller must know of a field: its type and a word or two; null is the same as leaving it out."""
    variants = [each for each in field.get("anyOf", ()) if each.get("type") != "null"]
    kept = {**(variants[0] if variants else {}), **{key: field[key] for key in field if key != "anyOf"}}
    if kept.get("type") == "array" and "$ref" in kept.get("items", {}):
        kept["items"] = {"type": "object"}
    if not kept.get("type") and "enum" not in kept:
        kept["type"] = "string"
    if "enum" in kept:
        kept.pop("type", None)
    hint = {"description": HINTS[name]} if name in HINTS else {}
    return {key: kept[key] for key in ("type", "enum", "items") if key in kept} | hint
