"""Storing: a text becomes a memory, confirms one, corrects one or disputes one; it is never refused as a duplicate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from remora.errors import Invalid
from remora.memory import gate, normalise
from remora.memory.dedup import Likeness, is_duplicate, neighbours
from remora.memory.engine import Engine
from remora.memory.merge import Outcome, Remember, Stored, merge, relate, supersede_named, upsert
from remora.memory.modes import permit
from remora.memory.ontology import STREAMED
from remora.memory.supersede import judge
from remora.memory.words import language
from remora.memory.writing import Planner, write
from remora.model.graph import Conflict
from remora.model.memory import TRUST_ORDER, Memory, Status, Trust, content_hash, new_id
from remora.model.ops import Actor
from remora.storage.protocol import Vector

FUTURE_US = 300_000_000


def draft(engine: Engine, request: Remember, actor: Actor) -> tuple[Memory, tuple[str, ...]]:
    """The memory that the request asks for, in stored form; raises what is wrong with it."""
    warnings: list[str] = []
    allowed = permit(engine, actor, "automatic" if request.automatic else "write")
    text = normalise.content(request.content, warnings, engine.settings.max_content_chars)
    text = gate.without_secrets(engine, text, warnings)
    kind = engine.ontology.place(request.kind if request.kind else "fact")
    if kind.warning:
        warnings.append(kind.warning)
    metadata = normalise.metadata(gate.clean_values(engine, request.metadata, warnings), warnings)
    tags = normalise.tags(gate.clean_values(engine, request.tags, warnings), warnings)
    tags = tuple(dict.fromkeys((*tags, *normalise.tags(metadata.pop("tags", None), warnings))))
    key = normalise.subject_key(request.subject_key)
    source = {
        name: value
        for name, value in gate.clean_values(engine, dict(request.source), warnings).items()
        if value is not None
    }
    source.setdefault("door", actor.door)
    for name, value in (("agent_id", actor.agent), ("session_id", actor.session)):
        if value is not None:
            source.setdefault(name, value)
    trust = _trust(request, actor)
    status: Status = "pending" if allowed == "pending" else "active"
    if gate.gives_orders(text):
        metadata["flags"] = sorted({*metadata.get("flags", ()), "instruction-like"})
        warnings.append(
            "the text reads like instructions to the model; it is flagged" + ("" if trust == "user" else " and pending")
        )
        status = status if trust == "user" else "pending"
    now = engine.now()
    created = _created(request, now, warnings)
    document, chunk_no, page = request.document or (None, None, None)
    memory = Memory(
        id=new_id() if request.created_at is None else new_id(max(created, 0)),
        content=text,
        content_hash=content_hash(text),
        kind=kind.kind,
        base_kind=kind.base,
        requested_kind=kind.requested,
        kind_defaulted=not request.kind,
        tags=tags,
        metadata=metadata,
        source=source,
        subject_key=key,
        trust=trust,
        status=status,
        namespace=normalise.namespace(engine.write_namespace(request.namespace, key)),
        scope=normalise.scope(request.scope),
        importance=normalise.fraction(request.importance, "importance", 0.5),
        sensitivity=request.sensitivity,
        pinned=bool(request.pinned),
        valid_from=request.valid_from,
        valid_to=request.valid_to,
        expires_at=request.expires_at if request.ttl is None else now + int(normalise.seconds(request.ttl) * 1_000_000),
        triggers=tuple(dict(trigger) for trigger in request.triggers),
        lang=language(text),
        created_at=created,
        updated_at=max(created, now) if request.created_at is None else created,
        document_id=document,
        chunk_no=chunk_no,
        page=page,
    )
    if memory.valid_from is not None and memory.valid_to is not None and memory.valid_from >= memory.valid_to:
        raise Invalid("valid_from must lie before valid_to", code="bad_validity")
    return memory, tuple(dict.fromkeys(warnings))


def _trust(request: Remember, actor: Actor) -> Trust:
    """What the door allows at most; a door below cannot raise itself."""
    own: Trust = "user" if actor.user else "agent"
    asked = request.trust or own
    return asked if TRUST_ORDER.index(asked) <= TRUST_ORDER.index(own) else own


def _created(request: Remember, now: int, warnings: list[str]) -> int:
    if request.created_at is None:
        return now
    if request.created_at > now + FUTURE_US:
        warnings.append("created_at lies in the future; now was taken")
        return now
    return request.created_at


async def remember(engine: Engine, request: Remember, actor: Actor) -> Stored:
    """Store one memory."""
    memory, warnings = draft(engine, request, actor)
    vector, space = await _vector(engine, request, memory)

    def plan(planner: Planner) -> Stored:
        if (known := _repeated(planner, request, memory)) is not None:
            return known
        stored = place(engine, planner, request, memory, vector, space)
        if request.idempotency_key is not None:
            planner.idempotency_key = request.idempotency_key
            planner.result = {
                "id": stored.id,
                "status": stored.status,
                "op_id": stored.op_id,
                "hash": memory.content_hash,
            }
        return replace(stored, warnings=(*warnings, *stored.warnings))

    stored, _ = await write(engine, actor, plan)
    return stored


async def remember_many(
    engine: Engine, requests: Sequence[Remember], actor: Actor, *, atomic: bool = True
) -> tuple[list[Stored | None], list[dict[str, Any]]]:
    """Store a batch in order; `atomic`: one bad item and nothing is stored. Errors carry the item's index."""
    drafts: list[tuple[Remember, Memory, tuple[str, ...]] | None] = []
    errors: list[dict[str, Any]] = []
    for index, request in enumerate(requests):
        try:
            drafts.append((request, *draft(engine, request, actor)))
        except Invalid as cause:
            drafts.append(None)
            errors.append({"index": index, "code": cause.code, "message": str(cause)})
    if errors and atomic:
        return [None] * len(requests), errors

    def plan(planner: Planner) -> list[Stored | None]:
        found: list[Stored | None] = []
        for item in drafts:
            if item is None:
                found.append(None)
            else:
                stored = place(engine, planner, item[0], item[1], None, None)
                found.append(replace(stored, warnings=(*item[2], *stored.warnings)))
        return found

    result, _ = await write(engine, actor, plan)
    return result, errors


async def _vector(engine: Engine, request: Remember, memory: Memory) -> tuple[Vector | None, str | None]:
    """The vector of the new text, when it is there in time; it only finds paraphrases, words find the rest."""
    indexer = engine.indexer
    if (
        indexer is None
        or indexer.answering is None
        or not _compared(engine, request, memory)
        or engine.embedder is None
    ):
        return None, None
    if engine.embedder.remote and memory.sensitivity == "private":
        return None, None
    vector = await engine.embedder.embed_query(memory.content, 0.15)
    return (vector, indexer.answering) if vector is not None else (None, None)


def _compared(engine: Engine, request: Remember, memory: Memory) -> bool:
    """Is this a statement that may be the same as, or correct, another one?"""
    return (
        engine.settings.dedup
        and request.dedup == "auto"
        and memory.conversation is None
        and memory.document_id is None
        and memory.kind not in STREAMED
    )


def _repeated(planner: Planner, request: Remember, memory: Memory) -> Stored | None:
    """The answer that the same idempotency key got before."""
    if request.idempotency_key is None:
        return None
    known = planner.view.idempotent(planner.actor.name, request.idempotency_key)
    if known is None:
        return None
    if known["hash"] != memory.content_hash:
        raise Invalid("this idempotency key was used for another text", code="idempotency_mismatch")
    held = planner.view.get(known["id"])
    return Stored(status=known["status"], memory=held or memory, op_id=known["op_id"])


def place(
    engine: Engine, planner: Planner, request: Remember, memory: Memory, vector: Vector | None, space: str | None
) -> Stored:
    """Decide what the new text is beside what is stored, and plan that."""
    view = planner.view
    if memory.subject_key is not None:
        held = view.by_key(memory.namespace, memory.subject_key, memory.status)
        if held is not None:
            return upsert(planner, held, memory, request)
    twin = _twin(planner, memory)
    if twin is not None:
        return merge(planner, twin, memory, request)
    if request.automatic and (grave := view.tombstone(memory.content_hash, memory.namespace)) is not None:
        if not request.restore_deleted:
            return Stored(status="suppressed", memory=grave, op_id="")
        back = planner.update("restore", grave, status="active", deleted_at=None)
        return Stored(status="created", memory=back, op_id=planner.last_op)
    near: list[Likeness] = []
    if (
        memory.status == "active"
        and _compared(engine, request, memory)
        and not (memory.subject_key and request.supersedes)
    ):
        near = [one for one in neighbours(view, memory, vector, space) if one.memory.id not in request.supersedes]
    duplicate = next((one for one in near if _same(engine, memory, one)), None)
    if duplicate is not None:
        held = view.get(duplicate.memory.id)
        if held is not None and held.superseded_by is None and held.status == "active":
            return merge(planner, held, memory, request, wording=memory.content)
    return _create(engine, planner, request, memory, near)


def _same(engine: Engine, memory: Memory, likeness: Likeness) -> bool:
    settings = engine.settings
    keyed = memory.subject_key not in (None, likeness.memory.subject_key)
    streamed = likeness.memory.conversation is not None or likeness.memory.kind in STREAMED
    duplicate = is_duplicate(likeness, cosine=settings.dedup_cosine, jaccard=settings.dedup_jaccard)
    return duplicate and not keyed and not streamed


def _twin(planner: Planner, memory: Memory) -> Memory | None:
    """A row of exactly this text that the new one would double."""
    rows = planner.view.by_hash(memory.content_hash, memory.namespace)
    same = [row for row in rows if row.document_id == memory.document_id]
    if (exact := next((row for row in same if row.subject_key == memory.subject_key), None)) is not None:
        return exact
    # A keyed text gives its key to the same text without one; an unkeyed text confirms the one that has a key.
    return next((row for row in same if memory.subject_key is None or row.subject_key is None), None)


def _create(engine: Engine, planner: Planner, request: Remember, memory: Memory, near: Sequence[Likeness]) -> Stored:
    created = planner.put("create", None, memory)
    assert isinstance(created, Memory)
    op_id = planner.last_op
    superseded = supersede_named(planner, request, memory)
    conflicts: list[str] = []
    similar: list[tuple[str, float, str]] = []
    for likeness in near:
        old = planner.view.get(likeness.memory.id)
        if old is None or old.superseded_by is not None or old.status != "active" or old.id in superseded:
            continue
        verdict = judge(memory, likeness)
        if verdict == "supersede" and not superseded and engine.settings.auto_supersede:
            planner.update("supersede", old, touched=False, superseded_by=memory.id)
            superseded.append(old.id)
        elif verdict in ("supersede", "conflict", "contradiction") and not conflicts:
            kind: Literal["contradiction", "supersession"] = (
                "contradiction" if verdict == "contradiction" else "supersession"
            )
            conflicts.append(_dispute(planner, memory, likeness, kind))
        elif verdict != "none":
            similar.append((old.id, round(likeness.similarity, 3), old.content[:80]))
    relate(planner, request, memory)
    status: Outcome = "pending" if memory.status == "pending" else "superseded" if superseded else "created"
    return Stored(
        status=status, memory=planner.view.get(memory.id) or memory, op_id=op_id, similar=tuple(similar[:5]),
        superseded=tuple(superseded), conflicts=tuple(conflicts),
    )  # fmt: skip


def _dispute(
    planner: Planner, memory: Memory, likeness: Likeness, kind: Literal["contradiction", "supersession"]
) -> str:
    old = likeness.memory
    conflict = Conflict(
        id=new_id(), a=old.id, b=memory.id, kind=kind, created_at=planner.now, similarity=round(likeness.similarity, 3),
        divergence=round(likeness.divergence, 3), hashes=(old.content_hash, memory.content_hash),
        reasons=tuple(name for name in ("numbers", "negation", "opposed", "dates") if getattr(likeness.delta, name)),
    )  # fmt: skip
    planner.dispute(conflict)
    if kind == "contradiction":
        planner.relate(
            old.id, memory.id, "contradicts", symmetric=True, reasons=("contradiction",), origin="extraction"
        )
    return conflict.id
