"""What happened to memories, taking it back, and what a person decides about them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field

from remora.errors import Forbidden, Invalid
from remora.operations import memory_text as text
from remora.operations.memory_common import Filters, Result, also_deleted, iso, op_shown, opened, shown, stored
from remora.operations.registry import Context, Input, operation


class Reference(Input):
    id: str = Field(description="The memory: an id, its beginning, `#` and its end, or a hash.")


@operation(
    "memory.history", "Show every version of a memory and how it came to be.", "read", Reference, text.history_text
)
async def history(context: Context, given: Reference) -> Result:
    from remora.memory import history as verbs

    engine, _ = await opened(context)
    return {
        "versions": [
            {
                "id": found.memory.id,
                "version": found.memory.version,
                "status": found.memory.status,
                "content": found.memory.content,
                "superseded_by": found.memory.superseded_by,
                "at": iso(found.at),
                "until": iso(found.until),
                "op": op_shown(found.op) if found.op is not None else None,
                "changed": list(found.changed),
                "diff": found.diff,
            }
            for found in await verbs.history(engine, await also_deleted(engine, given.id))
        ]
    }


@operation(
    "memory.blame", "Show for each sentence the operation that brought it in.", "read", Reference, text.blame_text
)
async def blame(context: Context, given: Reference) -> Result:
    from remora.memory import history as verbs

    engine, _ = await opened(context)
    found = await verbs.blame(engine, given.id)
    return {"sentences": [{"sentence": sentence, "op": op_shown(op) if op else None} for sentence, op in found]}


class Undo(Input):
    op_id: str | None = Field(None, description="An operation or batch; none = the last of this door.")
    last: int = Field(1, ge=1, le=1000, description="How many batches, without an id.")
    force: bool = Field(False, description="Even where the same fields were changed since.")


@operation("memory.undo", "Take back an operation, a batch, or the last ones.", "write", Undo, text.undone_text)
async def undo(context: Context, given: Undo) -> Result:
    from remora.memory import history as verbs
    from remora.memory.modes import permit

    engine, actor = await opened(context)
    if permit(engine, actor, "write") == "pending":
        raise Invalid("undoing needs a person in this mode", code="mode")
    batch, count = await verbs.undo(engine, actor, given.op_id, last=given.last, force=given.force)
    return {"batch_id": batch, "count": count}


class Restore(Input):
    ids: list[str] = Field(min_length=1, description="Memories by id.")
    drop_key: bool = Field(False, description="Without its key.")


@operation("memory.restore", "Bring back what was archived or deleted.", "write", Restore, text.restored_text)
async def restore(context: Context, given: Restore) -> Result:
    from remora.memory import forget as verbs

    engine, actor = await opened(context)
    ids = [await also_deleted(engine, each) for each in given.ids]
    found = await verbs.restore(engine, actor, ids, drop_key=given.drop_key)
    return {"memories": [shown(memory) for memory in found]}


class Audit(Input):
    since: str | None = Field(None, description="From then on.")
    until: str | None = Field(None, description="Before then.")
    actor: str | None = Field(None, description="Who did it.")
    kind: str | None = Field(None, description="What it is, such as fact, decision, lesson or event.")
    id: str | None = Field(None, description="The memory: an id, its beginning, `#` and its end, or a hash.")
    limit: int = Field(100, ge=1, le=100_000, description="How many.")


@operation("memory.audit", "Show the log of operations, newest first.", "read", Audit, text.audit_text)
async def audit(context: Context, given: Audit) -> Result:
    from remora.memory import history as verbs
    from remora.memory.filters import moment

    engine, _ = await opened(context)
    found = await verbs.audit(
        engine, since=None if given.since is None else moment(engine, given.since),
        until=None if given.until is None else moment(engine, given.until), actor=given.actor, kind=given.kind,
        reference=given.id, limit=given.limit,
    )  # fmt: skip
    return {"operations": [op_shown(op) for op in found]}


class Pending(Filters):
    limit: int = Field(100, ge=1, le=1000, description="How many.")


@operation("memory.pending", "List what waits for approval.", "read", Pending, text.listed_text)
async def pending(context: Context, given: Pending) -> Result:
    from remora.memory import browse
    from remora.memory.filters import where

    engine, _ = await opened(context)
    found = await browse.pending(engine, where(engine, given.given()), given.limit)
    return {"memories": [shown(memory) for memory in found]}


class Review(Input):
    ids: list[str] = Field(min_length=1, description="Memories by id.")
    approve: bool = Field(description="Approve, or reject.")
    content: str | None = Field(None, description="The text.")


@operation("memory.review", "Approve or reject what waits.", "admin", Review, text.stored_text)
async def review(context: Context, given: Review) -> Result:
    from remora.memory import revise

    engine, actor = await opened(context)
    if not actor.user:
        raise Forbidden("only a person may approve")
    done = await revise.review(engine, actor, given.ids, approve=given.approve, content=given.content)
    return {"items": [stored(engine, one) for one in done]}


class Conflicts(Input):
    status: Literal["open", "resolved", "dismissed", "all"] = Field("open", description="Which state.")


@operation("memory.conflicts", "List statements that disagree.", "read", Conflicts, text.conflicts_text)
async def conflicts(context: Context, given: Conflicts) -> Result:
    from remora.memory import conflicts as verbs

    engine, _ = await opened(context)
    found = await verbs.disputes(engine, status=None if given.status == "all" else given.status)
    return {"conflicts": [{**asdict(one.conflict), "created_at": iso(one.conflict.created_at), "a": shown(one.a),
                           "b": shown(one.b), "winner": one.winner} for one in found]}  # fmt: skip


class Resolve(Input):
    winner: str = Field(description="The memory that stays.")
    loser: str = Field(description="The memory that is replaced.")
    how: Literal["supersede", "keep_both"] = Field("supersede", description="Replace, or keep both.")
    text: str | None = Field(None, description="What is right, written into the winner.")


@operation(
    "memory.resolve", "Decide between two statements.", "write", Resolve, lambda done: f"Resolved ({done['batch_id']})"
)
async def resolve(context: Context, given: Resolve) -> Result:
    from remora.memory import conflicts as verbs
    from remora.memory.modes import permit

    engine, actor = await opened(context)
    if permit(engine, actor, "write") == "pending":
        raise Invalid("deciding needs a person in this mode", code="mode")
    batch = await verbs.resolve(engine, actor, given.winner, given.loser, how=given.how, text=given.text)
    return {"batch_id": batch}


class Connect(Input):
    action: Literal["add", "remove", "list"] = Field("list", description="What to do.")
    src: str = Field(description="The memory from which.")
    dst: str | None = Field(None, description="The memory to which.")
    type: str | None = Field(None, description="The relation, such as related, causes or fixes.")
    weight: float = Field(1.0, ge=0, le=1, description="From 0 to 1.")


@operation("memory.connect", "List, make or remove relations between memories.", "write", Connect, text.edges_text)
async def connect(context: Context, given: Connect) -> Result:
    from remora.memory import connect as verbs

    engine, actor = await opened(context)
    kinds = (given.type,) if given.type else ()
    if given.action == "list":
        found: list[Any] = await verbs.edges(engine, given.src, kinds)
        return {"edges": [_edge(edge) for edge in found], "removed": 0}
    if given.dst is None:
        raise Invalid("two memories are needed", code="invalid")
    if given.action == "remove":
        return {"edges": [], "removed": await verbs.disconnect(engine, actor, given.src, given.dst, given.type)}
    edge = await verbs.connect(engine, actor, given.src, given.dst, given.type or "related", weight=given.weight)
    return {"edges": [_edge(edge)], "removed": 0}


def _edge(edge: Any) -> Result:
    return {"id": edge.id, "src": edge.src, "dst": edge.dst, "type": edge.type, "weight": edge.weight,
            "origin": edge.origin, "created_at": iso(edge.created_at)}  # fmt: skip


class Tags(Filters):
    pass


@operation("memory.tags", "Count the tags.", "read", Tags, text.tags_text)
async def tags(context: Context, given: Tags) -> Result:
    from remora.memory import browse
    from remora.memory.filters import where

    engine, _ = await opened(context)
    found = await browse.tags(engine, where(engine, given.given()))
    return {"tags": dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))}


class Retag(Filters):
    rename: dict[str, str] = Field(default_factory=dict, description="Old tag to new tag; an existing one is merged.")
    add: list[str] = Field(default_factory=list, description="Tags to add.")
    remove: list[str] = Field(default_factory=list, description="Tags to take away.")


@operation("memory.retag", "Rename, add or remove tags of many memories at once.", "write", Retag,
           lambda done: f"Changed {text.counted(done['count'])} (batch {done['batch_id']})")  # fmt: skip
async def retag(context: Context, given: Retag) -> Result:
    from remora.memory import revise
    from remora.memory.filters import where

    engine, actor = await opened(context)
    if not actor.user:
        raise Forbidden("only a person may change tags of many memories")
    chosen = where(engine, given.given())
    batch, count = await revise.retag(engine, actor, chosen, rename=given.rename, add=given.add, remove=given.remove)
    return {"batch_id": batch, "count": count}
