"""What happened to a memory, who did it, and taking it back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

from remora.errors import Forbidden, Invalid, NotFound, UndoConflict
from remora.memory.engine import Engine
from remora.memory.identify import find
from remora.memory.writing import Planner, write
from remora.model.memory import Memory
from remora.model.ops import Actor, Op, OpKind
from remora.storage.protocol import View

# Bookkeeping that every operation moves; two operations never collide over it.
BESIDES = {
    "version",
    "updated_at",
    "confirmations",
    "last_confirmed_at",
    "content_hash",
    "lang",
    "archived_at",
    "deleted_at",
    "base_kind",
}
INVERSE: Mapping[str, OpKind] = {
    "create": "delete",
    "import": "delete",
    "delete": "restore",
    "archive": "restore",
    "restore": "archive",
}
_WORDS = re.compile(r"\s+|[^\s]+")


@dataclass(frozen=True, slots=True)
class Version:
    """One state of a memory and how it came to be."""

    memory: Memory
    at: int
    until: int | None
    op: Op | None
    changed: tuple[str, ...]
    diff: str


async def history(engine: Engine, reference: str) -> list[Version]:
    """Newest first, through supersession both ways."""

    def read(view: View) -> list[Version]:
        found: list[Version] = []
        for memory_id in _chain(view, find(view, reference)):
            states = list(view.versions(memory_id))
            for at, (memory, start, end, op_id) in enumerate(states):
                before = states[at + 1][0] if at + 1 < len(states) else None
                changed = _changed(before, memory) if before is not None else ()
                diff = word_diff(before.content, memory.content) if before and before.content != memory.content else ""
                found.append(Version(memory, start, end, view.op(op_id), changed, diff))
        return sorted(found, key=lambda version: (version.at, version.memory.version), reverse=True)

    return await engine.store.read(read)


def _chain(view: View, memory: Memory) -> list[str]:
    """The memory, what it replaced, and what replaced it."""
    found, waiting = {memory.id: None}, [memory.id]
    while waiting:
        id_ = waiting.pop()
        held = view.get(id_)
        following = [held.superseded_by] if held is not None and held.superseded_by else []
        for near in (*following, *view.superseded(id_)):
            if near not in found:
                found[near] = None
                waiting.append(near)
    return list(found)


def _changed(before: Memory, after: Memory) -> tuple[str, ...]:
    names = [name for name in Memory.__dataclass_fields__ if name not in BESIDES]
    return tuple(name for name in names if getattr(before, name) != getattr(after, name))


def word_diff(before: str, after: str) -> str:
    """`[-gone-]` and `{+new+}` among the words that stayed."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    parts = []
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            parts.append("".join(old[i:j]))
            continue
        gone, added = "".join(old[i:j]), "".join(new[k:m])
        parts.append((f"[-{gone}-]" if gone.strip() else gone) + (f"{{+{added}+}}" if added.strip() else added))
    return "".join(parts)


async def blame(engine: Engine, reference: str) -> list[tuple[str, Op | None]]:
    """For each sentence the operation that brought it in."""

    def read(view: View) -> list[tuple[str, Op | None]]:
        memory = find(view, reference)
        states = list(view.versions(memory.id))
        found = []
        for sentence in re.split(r"(?<=[.!?])\s+|\n+", memory.content):
            first = next((op_id for state, _, _, op_id in reversed(states) if sentence in state.content), states[0][3])
            found.append((sentence, view.op(first)))
        return found

    return await engine.store.read(read)


async def audit(
    engine: Engine,
    *,
    since: int | None = None,
    until: int | None = None,
    actor: str | None = None,
    kind: str | None = None,
    reference: str | None = None,
    after: str | None = None,
    limit: int = 100,
) -> list[Op]:
    """The operation log, newest first."""

    def read(view: View) -> list[Op]:
        target = find(view, reference).id if reference else None
        return list(
            view.ops(
                since=since,
                until=until,
                actor=actor,
                kind=kind,
                target=target,
                after=after,
                limit=limit,
                newest_first=True,
            )
        )

    return await engine.store.read(read)


async def undo(
    engine: Engine, actor: Actor, reference: str | None = None, *, last: int = 1, force: bool = False
) -> tuple[str, int]:
    """Take back an operation, a batch, or this actor's last batches. Gives the batch that did it and its size."""

    def plan(planner: Planner) -> tuple[str, int]:
        ops = _chosen(planner.view, actor, reference, last)
        taken = {op.op_id for op in ops}
        for op in sorted(ops, key=lambda op: op.op_id, reverse=True):
            _take_back(planner, op, taken, force=force)
        return planner.batch_id, len(ops)

    result, _ = await write(engine, actor, plan)
    return result


def _chosen(view: View, actor: Actor, reference: str | None, last: int) -> list[Op]:
    if reference is not None:
        op = view.op(reference)
        ops = [op] if op is not None else list(view.ops(batch=reference, limit=1_000_000))
        if not ops:
            raise NotFound(f'no operation or batch "{reference}"')
        if not actor.user and any(op.actor.get("session") != actor.session for op in ops):
            raise Forbidden("an agent may undo only what its own session did")
    else:
        recent = view.ops(actor=actor.name, limit=10_000, newest_first=True)
        batches = list(dict.fromkeys(op.batch_id for op in recent if op.undone_by is None and op.undoes is None))[:last]
        ops = [op for op in recent if op.batch_id in batches]
        if not ops:
            raise NotFound("nothing to undo")
    if gone := [op for op in ops if op.purged or op.kind == "purge"]:
        raise Invalid(f"{gone[0].op_id} was purged and cannot be undone", code="purged")
    open_ops = [op for op in ops if op.undone_by is None]
    if not open_ops:
        raise Invalid("this was undone already", code="already_undone", hint="undo the undo to redo it")
    return open_ops


def _take_back(planner: Planner, op: Op, taken: set[str], *, force: bool) -> None:
    inverse = INVERSE.get(op.kind, op.kind)
    match op.target_type:
        case "memory":
            _restore_memory(planner, op, taken, inverse, force=force)
        case "relation":
            edge = planner.view.relation(op.target)
            if edge is not None:
                kind: OpKind = "relate" if op.kind == "unrelate" else "unrelate"
                after = replace(edge, **_typed(op.before)) if op.before else replace(edge, status="deleted")
                planner.put(kind, edge, replace(after, version=edge.version), undoes=op.op_id)
        case "conflict":
            conflict = planner.view.conflict(op.target)
            if conflict is not None:
                back = replace(conflict, **_typed(op.before)) if op.before else replace(conflict, status="dismissed")
                planner.put("resolve", conflict, replace(back, version=conflict.version), undoes=op.op_id)


def _restore_memory(planner: Planner, op: Op, taken: set[str], inverse: OpKind, *, force: bool) -> None:
    now = planner.view.get(op.target)
    if now is None:
        raise NotFound(f"no memory {op.target}")
    if not force:
        _check_later(planner.view, op, taken)
    if not op.before or op.kind in ("create", "import"):
        if now.status != "deleted":
            planner.update("delete", now, undoes=op.op_id, status="deleted", deleted_at=planner.now)
        return
    fields = {name: value for name, value in _typed(op.before).items() if name not in ("version", "updated_at")}
    key, status = fields.get("subject_key", now.subject_key), fields.get("status", now.status)
    if key is not None and status == "active" and fields.get("superseded_by", now.superseded_by) is None:
        holder = planner.view.by_key(fields.get("namespace", now.namespace), key)
        if holder is not None and holder.id != now.id:
            raise Invalid(
                f'the key "{key}" belongs to {holder.id} now', code="key_taken", hint="restore it without its key"
            )
    planner.update(inverse, now, undoes=op.op_id, **fields)


def _check_later(view: View, op: Op, taken: set[str]) -> None:
    """Nobody may have changed the same fields since."""
    fields = set(op.after) - BESIDES
    for later in view.ops(target=op.target, after=op.op_id):
        if later.op_id in taken or later.undone_by is not None or later.undoes is not None:
            continue
        shared = fields & set(later.after) - BESIDES
        if shared:
            raise UndoConflict(
                f"{later.op_id} changed {', '.join(sorted(shared))} since", hint="undo that first, or force this one"
            )


def _typed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Lists of the log as the tuples of the model."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
