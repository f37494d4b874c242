"""Whole sessions as memories, and notes about mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from remora.errors import Invalid
from remora.memory.dedup import gram_jaccard
from remora.memory.engine import Engine
from remora.memory.identify import find
from remora.memory.merge import Remember, Stored
from remora.memory.modes import permit
from remora.memory.remember import draft, place
from remora.memory.writing import Planner, write
from remora.model.memory import Memory, content_hash, new_id
from remora.model.ops import Actor
from remora.model.search import Where

SAME_MISTAKE = 0.85
NOTE_TAGS = ("mistake-note", "error-replay")


async def store_session(
    engine: Engine,
    actor: Actor,
    turns: Sequence[Mapping[str, str]],
    session_id: str | None = None,
    *,
    tags: Any = None,
    metadata: Mapping[str, Any] | None = None,
    namespace: str | None = None,
) -> tuple[str, Stored]:
    """One memory per session; the same session with more turns becomes its next version."""
    lines = [
        f"[{turn.get('role', 'user')}] {turn.get('content', '').strip()}"
        for turn in turns
        if turn.get("content", "").strip()
    ]
    if not lines:
        raise Invalid("the session has no words", code="empty_content")
    session = session_id or new_id().lower()
    names = [f"session:{session}", *([tags] if isinstance(tags, str) else tags or ())]
    request = Remember(
        content="\n".join(lines),
        kind="session",
        tags=names,
        metadata=metadata,
        namespace=namespace,
        source={"session_id": session},
    )
    memory, warnings = draft(engine, request, actor)

    def plan(planner: Planner) -> Stored:
        where = Where(namespaces=(memory.namespace,), kinds=("session",), session=session)
        held = planner.view.list(where, 1).rows
        if not held or held[0].content == memory.content:
            return place(engine, planner, request, memory, None, None)
        text = memory.content if memory.content.startswith(held[0].content) else f"{held[0].content}\n{memory.content}"
        row = planner.update("update", held[0], content=text, content_hash=content_hash(text),
                             tags=tuple(dict.fromkeys((*held[0].tags, *memory.tags))))  # fmt: skip
        return Stored(status="updated", memory=row, op_id=planner.last_op)

    stored, _ = await write(engine, actor, plan)
    return session, replace(stored, warnings=warnings)


async def note_mistake(
    engine: Engine,
    actor: Actor,
    error_pattern: str,
    context_signature: str,
    incorrect_action: str,
    correct_action: str,
    *,
    tags: Any = None,
    namespace: str | None = None,
) -> Stored:
    """What went wrong and what is right; the same mistake again counts up and takes the newer correction."""
    permit(engine, actor, "write")
    parts = {"error_pattern": error_pattern, "context_signature": context_signature,
             "incorrect_action": incorrect_action, "correct_action": correct_action}  # fmt: skip
    if missing := [name for name, value in parts.items() if not value.strip()]:
        raise Invalid(f"{', '.join(missing)} must not be empty", code="empty_content")
    request = Remember(
        content=note_text(parts), kind="mistake", tags=[*NOTE_TAGS, *([tags] if isinstance(tags, str) else tags or ())],
        metadata={**parts, "failure_count": 1}, namespace=namespace, dedup="off",
        triggers=({"type": "error", "value": error_pattern.splitlines()[0][:200]},),
    )  # fmt: skip
    memory, warnings = draft(engine, request, actor)

    def plan(planner: Planner) -> Stored:
        where = Where(namespaces=(memory.namespace,), kinds=("mistake",))
        page = planner.view.list(where, 1000).rows
        held = next((note for note in page if _likeness(note, parts) >= SAME_MISTAKE), None)
        if held is None:
            return place(engine, planner, request, memory, None, None)
        count = int(held.metadata.get("failure_count", 1)) + 1
        newer = {**held.metadata, "correct_action": correct_action, "failure_count": count}
        text = note_text(newer)
        row = planner.update("update", held, content=text, content_hash=content_hash(text), metadata=newer)
        return Stored(status="updated", memory=row, op_id=planner.last_op)

    stored, _ = await write(engine, actor, plan)
    return replace(stored, warnings=warnings)


async def revise_mistake(engine: Engine, actor: Actor, reference: str, **parts: str) -> Stored:
    """Change some of the four parts; the text follows."""
    permit(engine, actor, "write")

    def plan(planner: Planner) -> Stored:
        held = find(planner.view, reference)
        newer = {**held.metadata, **{name: value for name, value in parts.items() if value}}
        text = note_text(newer)
        row = planner.update("update", held, content=text, content_hash=content_hash(text), metadata=newer)
        return Stored(status="updated", memory=row, op_id=planner.last_op)

    stored, _ = await write(engine, actor, plan)
    return stored


def note_text(parts: Mapping[str, Any]) -> str:
    return "\n".join(
        f"{label}: {parts[name]}"
        for label, name in (
            ("Error", "error_pattern"),
            ("Context", "context_signature"),
            ("Wrong", "incorrect_action"),
            ("Right", "correct_action"),
        )
    )


def _likeness(note: Memory, parts: Mapping[str, str]) -> float:
    held = f"{note.metadata.get('error_pattern', '')}\n{note.metadata.get('context_signature', '')}"
    return gram_jaccard(held, f"{parts['error_pattern']}\n{parts['context_signature']}")
