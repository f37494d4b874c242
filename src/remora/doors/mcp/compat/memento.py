"""The ten tools of memento, under its names and with its records, on the same memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from remora.doors.mcp.memory import failed
from remora.doors.mcp.tools import ContextOf, text_item
from remora.errors import MemoryFault, RefusedError, UsageError
from remora.gateway import compat
from remora.gateway.session import Front, Params, ViewKey
from remora.operations import memory as _verbs  # noqa: F401 - registers its operations
from remora.operations import memory_care as _care  # noqa: F401
from remora.operations.memory_text import line
from remora.operations.registry import Context, run

_TEXT: Params = {"type": "string"}
_LIMIT: Params = {"type": "integer", "minimum": 1, "maximum": 1000, "default": 10}
_HARD: Params = {"type": "boolean", "default": False}
_KIND: Params = {"type": "string", "description": "fact, event or lesson", "default": "fact"}
_IMPORTANCE: Params = {"type": "number", "minimum": 0, "maximum": 1}
_STORED: Params = {
    "content": _TEXT, "kind": _KIND, "importance": {**_IMPORTANCE, "default": 0.5}, "subject_key": _TEXT,
    "metadata": {"type": "object"},
}  # fmt: skip
_FIELDS = ("id", "content", "kind", "subject_key", "importance", "source", "metadata", "created_at", "updated_at",
           "archived_at")  # fmt: skip
# name: (description, properties, required)
TOOLS: Mapping[str, tuple[str, Params, tuple[str, ...]]] = {
    "memento_store": ("Store a memory; the same subject_key updates it.", _STORED, ("content",)),
    "memento_recall": (
        "Recall memories for a question, best first.",
        {"query": _TEXT, "limit": _LIMIT, "kind": {"type": "string"}},
        ("query",),
    ),
    "memento_update": (
        "Change a memory; metadata is merged.",
        {"id": _TEXT, "content": _TEXT, "importance": _IMPORTANCE, "metadata": {"type": "object"}},
        ("id",),
    ),
    "memento_forget": ("Archive a memory, or delete it with hard.", {"id": _TEXT, "hard": _HARD}, ("id",)),
    "memento_forget_prefix": (
        "Archive all memories below a subject key, or delete them with hard.",
        {"prefix": _TEXT, "hard": _HARD},
        ("prefix",),
    ),
    "memento_recent": ("The newest memories.", {"limit": _LIMIT}, ()),
    "memento_browse": (
        "Memories below a subject key, by key.",
        {"prefix": _TEXT, "limit": {**_LIMIT, "default": 100}},
        ("prefix",),
    ),
    "memento_stats": ("Counts, and what finds memories.", {}, ()),
    "memento_store_many": (
        "Store many memories; one bad item and none is stored.",
        {
            "items": {
                "type": "array",
                "maxItems": 1000,
                "items": {"type": "object", "properties": _STORED, "required": ["content"]},
            }
        },
        ("items",),
    ),
    "memento_recall_many": (
        "Recall for several questions at once.",
        {"queries": {"type": "array", "items": _TEXT, "maxItems": 50}, "limit": _LIMIT},
        ("queries",),
    ),
}
_READS = {"memento_recall", "memento_recall_many", "memento_recent", "memento_browse", "memento_stats"}
_ALIASES = {
    "memento_browse": {"subject_key_prefix": "prefix"},
    "memento_forget_prefix": {"subject_key_prefix": "prefix"},
}


class MementoTools:
    """Unknown arguments are let pass, as memento does."""

    names = list(TOOLS)

    def __init__(self, context_of: ContextOf, serving: Callable[[], Context]) -> None:
        self._context_of = context_of
        self._serving = serving  # the gateway as it is now: its configuration may be edited

    def serves(self, key: ViewKey) -> bool:
        return "memento" in compat.active(self._serving().gateway.config, key)

    def definitions(self) -> list[Params]:
        return [
            {
                "name": name,
                "description": said,
                "inputSchema": {"type": "object", "properties": fields, "required": list(needed)},
                "annotations": {
                    "readOnlyHint": name in _READS,
                    "destructiveHint": name.startswith("memento_forget"),
                    "openWorldHint": False,
                },
            }
            for name, (said, fields, needed) in TOOLS.items()
        ]

    async def call(self, name: str, arguments: Params, front: Front) -> Params:
        renamed = {_ALIASES.get(name, {}).get(key, key): value for key, value in arguments.items()}
        given = {key: value for key, value in renamed.items() if key in TOOLS[name][1] and value is not None}
        try:
            if missing := [field for field in TOOLS[name][2] if field not in given]:
                raise UsageError(f"{missing[0]} is missing")
            answer = await getattr(self, name.replace("memento", "", 1))(given, front)
        except (MemoryFault, RefusedError, UsageError) as problem:
            return failed(problem)
        return {"content": [text_item(_text(answer))], "structuredContent": answer}

    async def _run(self, front: Front, operation: str, given: Params) -> Params:
        return await run(self._context_of(front), operation, given)

    async def _store(self, given: Params, front: Front) -> Params:
        done = await self._run(front, "memory.remember", given)
        return {**record(done["memory"]), "status": done["status"]}

    async def _store_many(self, given: Params, front: Front) -> Params:
        items = [{key: value for key, value in item.items() if key in _STORED} if isinstance(item, dict) else item
                 for item in given["items"]]  # fmt: skip
        if not items:
            return {"results": []}
        done = await self._run(front, "memory.remember", {"items": items})
        return {"results": [{**record(one["memory"]), "status": one["status"]} for one in done["items"]]}

    async def _recall(self, given: Params, front: Front) -> Params:
        kinds = {"kinds": [given.pop("kind")]} if given.get("kind") else {}
        found = await self._run(front, "memory.recall", {**given, **kinds})
        return {"results": [record(memory) for memory in found["memories"]]}

    async def _recall_many(self, given: Params, front: Front) -> Params:
        found = await self._run(front, "memory.recall_many", given)
        return {"results": [{"error": one["error"]} if "error" in one else [record(each) for each in one["memories"]]
                            for one in found["results"]]}  # fmt: skip

    async def _update(self, given: Params, front: Front) -> Params:
        return record((await self._run(front, "memory.update", given))["memory"])

    async def _forget(self, given: Params, front: Front) -> Params:
        return await self._away(front, {"ids": [given["id"]]}, given.get("hard", False))

    async def _forget_prefix(self, given: Params, front: Front) -> Params:
        if not str(given["prefix"]).strip(". "):
            raise UsageError("an empty prefix would mean everything")
        return await self._away(front, {"subject_key_prefix": given["prefix"]}, given.get("hard", False))

    async def _away(self, front: Front, what: Params, hard: bool) -> Params:
        """In one step, as memento does it; erasing is for those who may administer."""
        if hard and self._context_of(front).principal.scope != "admin":
            raise RefusedError("hard needs the scope 'admin'")
        asked = {**what, "archive": not hard, "hard": hard}
        done = await self._run(front, "memory.forget", asked)
        if not done["done"]:
            done = await self._run(front, "memory.forget", {**asked, "confirm": done["confirm"]})
        count = done["count"] - len(done.get("already", ()))
        return {"deleted" if hard else "archived": count}

    async def _recent(self, given: Params, front: Front) -> Params:
        return await self._recall(given, front)

    async def _browse(self, given: Params, front: Front) -> Params:
        found = await self._run(front, "memory.browse", given)
        return {"results": [record(memory) for memory in found["memories"]]}

    async def _stats(self, given: Params, front: Front) -> Params:
        found = await self._run(front, "memory.stats", {})
        embedding, states = found["embedding"], found["status"]
        active: Params = next((space for space in found["spaces"].values() if space["active"]), {})
        return {
            "total": found["memories"],
            "by_kind": dict(found["kinds"]),
            "archived": states.get("archived", 0),
            "model": active.get("label") or embedding.get("provider"),
            "dimension": active.get("dim"),
            "schema_version": found["schema_version"],
        }


def record(memory: Mapping[str, Any]) -> Params:
    """A memory in memento's fields."""
    found = {name: memory[name] for name in _FIELDS}
    return found if memory.get("score") is None else {**found, "score": memory["score"]}


def _text(answer: Params) -> str:
    """One line per record; anything else as JSON."""
    rows = answer.get("results", [answer] if "content" in answer else None)
    if rows is None:
        return json.dumps(answer, ensure_ascii=False)
    flat = [row for each in rows for row in (each if isinstance(each, list) else [each])]
    ids = [row["id"] for row in flat if "id" in row]
    return "\n".join(line(row, ids) if "id" in row else f"error: {row['error']}" for row in flat) or "No matches."
