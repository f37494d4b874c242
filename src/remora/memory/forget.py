"""Archiving, deleting, bringing back, and erasing for good."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from remora.errors import Invalid, NotFound, RefusedError
from remora.memory.engine import Engine
from remora.memory.identify import find
from remora.memory.modes import permit
from remora.memory.writing import Planner, write
from remora.model.memory import Memory
from remora.model.ops import Actor, Batch, OpKind
from remora.model.search import EVERYTHING, Where
from remora.storage.protocol import Stale, View

CONFIRM_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was forgotten, or would be (`confirm` then is the word that does it)."""

    ids: tuple[str, ...]
    op_id: str = ""
    already: bool = False
    confirm: str | None = None
    previews: tuple[str, ...] = ()


async def forget(
    engine: Engine,
    actor: Actor,
    reference: str,
    *,
    archive: bool = False,
    hard: bool = False,
    reason: str | None = None,
) -> Forgotten:
    """One memory. Deleting what is deleted is no error."""
    allowed = permit(engine, actor, "forget")

    def plan(planner: Planner) -> Forgotten:
        memory = find(planner.view, reference, strict=True)
        if hard:
            return Forgotten((memory.id,))
        if memory.status == "deleted" or (archive and memory.status == "archived"):
            return Forgotten((memory.id,), already=True)
        if allowed == "pending":
            flagged = {**memory.metadata, "pending_deletion": True}
            planner.update("update", memory, touched=False, reason=reason, metadata=flagged)
        else:
            _away(planner, memory, archive=archive, reason=reason)
        return Forgotten((memory.id,), op_id=planner.last_op)

    found, _ = await write(engine, actor, plan)
    if hard:
        return await purge(engine, actor, found.ids)
    return found


def _away(planner: Planner, memory: Memory, *, archive: bool, reason: str | None = None) -> None:
    if archive:
        planner.update("archive", memory, touched=True, reason=reason, status="archived", archived_at=planner.now)
    else:
        planner.update("delete", memory, reason=reason, status="deleted", deleted_at=planner.now)


def is_filter(where: Where) -> bool:
    """Something narrows it down beyond namespaces and states."""
    bare = replace(
        where, namespaces=None, statuses=("active",), superseded=False, expired=False, any_validity=False, valid_at=None
    )
    return bare != Where()


async def forget_where(
    engine: Engine, actor: Actor, where: Where, *, archive: bool = False, hard: bool = False, dry_run: bool = False,
    confirm: str | None = None, confirm_count: int | None = None,
) -> Forgotten:  # fmt: skip
    """All that the filter leaves, as one batch. `confirm` must be the word of a preview whose count still holds."""
    permit(engine, actor, "forget")
    if not is_filter(where):
        raise Invalid("a filter is needed to forget many", code="no_filter")

    def look(view: View) -> list[Memory]:
        return list(view.get_many(view.ids(where)).values())

    if dry_run:
        memories = await engine.store.read(look)
        word = secrets.token_urlsafe(9)
        engine.confirmations[word] = (_mark(memories), time.monotonic() + CONFIRM_SECONDS)
        previews = tuple(memory.content[:80] for memory in memories[:5])
        return Forgotten(tuple(memory.id for memory in memories), confirm=word, previews=previews)

    def plan(planner: Planner) -> Forgotten:
        memories = look(planner.view)
        if confirm is not None:
            _confirmed(engine, confirm, memories)
        if confirm_count is not None and confirm_count != len(memories):
            raise RefusedError(f"{len(memories)} memories match now, not {confirm_count} (changed_since_preview)")
        if not hard:
            for memory in memories:
                _away(planner, memory, archive=archive)
        return Forgotten(tuple(memory.id for memory in memories), op_id=planner.batch_id)

    found, _ = await write(engine, actor, plan)
    if confirm is not None:
        engine.confirmations.pop(confirm, None)
    return await purge(engine, actor, found.ids) if hard and found.ids else found


def _mark(memories: Sequence[Memory]) -> str:
    return ",".join(sorted(memory.id for memory in memories))


def _confirmed(engine: Engine, word: str, memories: Sequence[Memory]) -> None:
    mark, until = engine.confirmations.get(word, ("", 0.0))
    if time.monotonic() > until:
        raise RefusedError("this confirmation is unknown or older than 10 minutes; look again first")
    if mark != _mark(memories):
        raise RefusedError("other memories match now than in the preview (changed_since_preview)")


async def forget_prefix(
    engine: Engine, actor: Actor, prefix: str, *, namespaces: tuple[str, ...] | None, hard: bool = False
) -> int:
    """Everything below a key: `user.` is `user` and all of `user.…`; archived unless `hard`."""
    if not prefix.strip(". "):
        raise Invalid("a prefix is needed", code="no_filter")
    where = Where(namespaces=namespaces, key_prefix=prefix.strip().lower())
    found = await forget_where(
        engine,
        actor,
        where if not hard else replace(EVERYTHING, namespaces=namespaces, key_prefix=where.key_prefix),
        archive=not hard,
        hard=hard,
    )
    return len(found.ids)


async def restore(engine: Engine, actor: Actor, references: Sequence[str], *, drop_key: bool = False) -> list[Memory]:
    """Bring back archived or deleted memories, by id or by the batch that took them away."""
    permit(engine, actor, "write")

    def plan(planner: Planner) -> list[Memory]:
        found = []
        for memory in _meant(planner.view, references):
            if memory.status == "deleted" and not memory.content:
                raise NotFound(f"{memory.id} was purged; nothing is left to restore")
            if memory.status == "active":
                found.append(memory)
                continue
            key = None if drop_key else memory.subject_key
            holder = planner.view.by_key(memory.namespace, key) if key is not None else None
            if holder is not None and memory.superseded_by is None:
                raise Invalid(
                    f'the key "{key}" belongs to {holder.id} now', code="key_taken", hint="restore it without its key"
                )
            twin = _twin(planner.view, memory, key)
            if twin is not None:
                raise Invalid(f"{twin.id} says the same already", code="would_duplicate")
            found.append(
                planner.update("restore", memory, status="active", archived_at=None, deleted_at=None, subject_key=key)
            )
        return found

    result, _ = await write(engine, actor, plan)
    return result


def _twin(view: View, memory: Memory, key: str | None) -> Memory | None:
    rows = view.by_hash(memory.content_hash, memory.namespace)
    same = (row for row in rows if row.subject_key == key and row.document_id == memory.document_id)
    return next((row for row in same if row.id != memory.id), None)


def _meant(view: View, references: Sequence[str]) -> list[Memory]:
    found: dict[str, Memory] = {}
    for reference in references:
        ops = view.ops(batch=reference, limit=1_000_000)
        ids = [op.target for op in ops if op.kind in ("delete", "archive")] if ops else [find(view, reference).id]
        found |= view.get_many(ids)
    return list(found.values())


async def purge(engine: Engine, actor: Actor, ids: Sequence[str], *, forget_hash: bool = False) -> Forgotten:
    """Erase for good: text, former versions, log entries, vectors, words. Only tombstones stay."""
    permit(engine, actor, "forget")

    def plan(planner: Planner) -> tuple[Batch, list[str]]:
        kind: OpKind = "purge"
        memories = planner.view.get_many(list(ids))
        for memory in memories.values():
            planner.update(
                kind,
                memory,
                status="deleted",
                deleted_at=memory.deleted_at or planner.now,
                content="",
                tags=(),
                triggers=(),
                metadata={},
                source={},
                subject_key=None,
                scope=None,
                requested_kind=None,
                superseded_by=None,
                archived_at=None,
            )
        return planner.batch(), list(memories)

    while True:
        batch, found = await engine.store.read(lambda view: plan(Planner(view, actor, engine.now())))
        if not found:
            raise NotFound("no memory to purge")
        try:
            await engine.store.purge(found, batch, forget_hash=forget_hash)
        except Stale:
            continue  # changed meanwhile: what is there now is erased
        return Forgotten(tuple(found), op_id=batch.id)
