"""The verbs of the memory: keep, find, change, forget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from remora.errors import Invalid
from remora.operations.memory_common import Filters, Result, ids_of, iso, opened, refs, shown, stored, times
from remora.operations.memory_text import forgotten_text, recalled_text, stored_text, updated_text
from remora.operations.registry import Context, Input, operation

if TYPE_CHECKING:
    from remora.memory.engine import Engine
    from remora.memory.merge import Remember as Request
    from remora.memory.recall import Recalled

TRIGGERS = {"path": "path", "file": "file", "command": "command", "cmd": "command", "host": "host", "table": "table",
            "package": "package", "error": "error", "identifier": "identifier", "env": "env", "tool": "tool",
            "topic": "topic"}  # fmt: skip


class Statement(Input):
    """One thing to keep."""

    content: Any = Field(None, description="The text.")
    kind: str | None = Field(None, description="What it is, such as fact, decision, lesson or event.")
    tags: list[str] | str = Field(default_factory=list, description="Tags.")
    subject_key: str | None = Field(
        None, description="What it is about, such as `user.theme`; the same key makes a new version."
    )
    namespace: str | None = Field(None, description="Where to look; `*` = everywhere.")
    scope: str | None = Field(None, description="Paths it is about, as a glob.")
    importance: float | None = Field(None, ge=0, le=1, description="From 0 to 1.")
    supersedes: list[str] = Field(default_factory=list, description="Ids of memories that it replaces.")
    ttl: str | float | None = Field(None, description="Hidden after this time, such as `30d`.")
    valid_from: str | None = Field(None, description="From when it is true.")
    valid_to: str | None = Field(None, description="Until when it is true.")
    expires_at: str | None = Field(None, description="When it is hidden.")
    pinned: bool = Field(False, description="Pinned or not.")
    triggers: list[str] = Field(
        default_factory=list, description="What brings it up, such as `path:src/**` or `cmd:make`."
    )
    metadata: dict[str, Any] | None = Field(None, description="Further fields.")
    conversation_id: str | None = Field(None, description="The conversation it belongs to.")
    created_at: str | None = Field(None, description="When it was said, if not now.")
    idempotency_key: str | None = Field(None, description="The same key within a day gives the first answer again.")
    sensitivity: Literal["normal", "private"] = Field("normal", description="`private` never goes to a remote encoder.")
    dedup: Literal["auto", "off"] = Field("auto", description="`off` compares with nothing but equal texts.")
    source: str | None = Field(None, description="Where it came from, such as `manual` or `agent`.")


class Remember(Statement):
    items: list[Statement] = Field(default_factory=list, max_length=1000, description="Many statements at once.")
    atomic: bool = Field(True, description="One bad item and none is stored.")

    @model_validator(mode="after")
    def _something(self) -> Remember:
        if (self.content is None) == (not self.items):
            raise ValueError("give either content or items")
        return self


@operation("memory.remember", "Keep a statement, or many.", "write", Remember, stored_text)
async def remember(context: Context, given: Remember) -> Result:
    from remora.memory import remember as verbs

    engine, actor = await opened(context)
    if not given.items:
        one = stored(engine, await verbs.remember(engine, await _request(engine, given, actor.user), actor))
        return {**one, "refs": await refs(engine, _named([one]))}
    requests = [await _request(engine, item, actor.user) for item in given.items]
    done, errors = await verbs.remember_many(engine, requests, actor, atomic=given.atomic)
    if errors and given.atomic:
        first = errors[0]
        raise Invalid(f"item {first['index']}: {first['message']}; nothing was stored", code=first["code"])
    items = [stored(engine, one) if one is not None else None for one in done]
    return {"items": items, "errors": errors, "refs": await refs(engine, _named([one for one in items if one]))}


def _named(items: Sequence[Result]) -> list[str]:
    """Every memory that the results speak of."""
    return [id_ for one in items for id_ in (one["id"], *one["superseded"], *(near["id"] for near in one["similar"]))]


async def _request(engine: Engine, given: Statement, user: bool) -> Request:
    from remora.memory.merge import Remember as Request

    fields = times(
        engine, {name: getattr(given, name) for name in given.model_fields_set & Statement.model_fields.keys()}
    )
    source: Result = {"kind": fields.pop("source", None) or ("manual" if user else "agent")}
    if conversation := fields.pop("conversation_id", None):
        source["conversation_id"] = conversation
    fields["triggers"] = tuple(trigger(text) for text in fields.pop("triggers", ()))
    fields["supersedes"] = await ids_of(engine, fields.pop("supersedes", ()))
    return Request(**{"content": None, **fields, "source": source})


def trigger(text: str) -> Mapping[str, Any]:
    """`type:value`; without a type a path is told by its slash, anything else is an identifier."""
    kind, sign, value = text.partition(":")
    if sign and "/" not in kind and " " not in kind:
        if kind not in TRIGGERS:
            raise Invalid(f'"{kind}" is not a type of trigger', code="bad_trigger", hint=", ".join(TRIGGERS))
        return {"type": TRIGGERS[kind], "value": value}
    return {"type": "path" if "/" in text or "*" in text else "identifier", "value": text}


class Recall(Filters):
    query: str = Field("", description="The question.")
    ids: list[str] = Field(default_factory=list, description="Memories by id.")
    similar_to: str | None = Field(None, description="A memory whose neighbours are wanted.")
    as_of: str | None = Field(None, description="As it was known then.")
    mode: Literal["hybrid", "semantic", "exact"] = Field("hybrid", description="How to search, or what may be done.")
    limit: int = Field(10, ge=1, le=1000, description="How many.")
    cursor: str | None = Field(None, description="Where the last page ended.")
    min_score: float | None = Field(None, description="Only this likely to answer, or more.")
    parse_time: bool = Field(False, description="Cut a time out of the question and filter by it.")


@operation("memory.recall", "Find memories, best first; without a question the newest.", "read", Recall, recalled_text)
async def recall(context: Context, given: Recall) -> Result:
    from remora.memory import browse
    from remora.memory import recall as verbs
    from remora.memory.filters import moment, where
    from remora.memory.modes import permit

    engine, actor = await opened(context)
    at = None if given.as_of is None else moment(engine, given.as_of, given.tz)
    if given.ids:
        permit(engine, actor, "recall")
        rows = [shown(await browse.get(engine, each, as_of=at)) for each in given.ids]
        return await _with_refs(engine, {"memories": rows, "warnings": [], "mode_used": "ids"})
    if given.similar_to is not None:
        permit(engine, actor, "recall")
        near = await verbs.similar(engine, given.similar_to, given.limit, engine.read_set(None))
        return await _with_refs(engine, _recalled(near))
    filters = given.given()
    if not given.query.strip() and not given.narrows:
        filters["after"] = 0  # everything there is, newest first
    query = verbs.Query(
        text=given.query, where=where(engine, filters), limit=given.limit, cursor=given.cursor, mode=given.mode,
        min_score=given.min_score or 0.0, as_of=at, parse_time=given.parse_time, zone=given.tz,
    )  # fmt: skip
    found = _recalled(await verbs.recall(engine, query, actor))
    return await _with_refs(engine, {**found, "namespaces": list(query.where.namespaces or ["*"])})


async def _with_refs(engine: Engine, found: Result) -> Result:
    return {
        **found,
        "refs": await refs(engine, [memory["id"] for memory in found["memories"]], found.get("searched", 0)),
    }


def _recalled(found: Recalled) -> Result:
    rows = []
    for hit in found.hits:
        score = None if hit.score is None else round(hit.score, 4)
        dispute = hit.disputed and {"id": hit.disputed[0], "other": hit.disputed[1]}
        rows.append({**shown(hit.memory), "score": score, "why": list(hit.why), "conflict": dispute or None})
    return {
        "memories": rows,
        "next_cursor": found.next_cursor,
        "warnings": list(found.warnings),
        "mode_used": found.mode_used,
        "score_kind": found.score_kind,
        "searched": found.searched,
        "time": found.time,
    }


class RecallMany(Input):
    queries: list[str] = Field(max_length=50, description="The questions.")
    limit: int = Field(10, ge=1, le=1000, description="How many.")
    namespace: str | None = Field(None, description="Where to look; `*` = everywhere.")


@operation("memory.recall_many", "Ask several questions at once.", "read", RecallMany, recalled_text)
async def recall_many(context: Context, given: RecallMany) -> Result:
    from remora.errors import RemoraError
    from remora.memory import recall as verbs
    from remora.memory.filters import where

    engine, actor = await opened(context)
    place = where(engine, {"namespace": given.namespace})
    queries = [verbs.Query(text=text, where=place, limit=given.limit) for text in given.queries]
    found = await verbs.recall_many(engine, queries, actor)
    return {"results": [{"error": str(one), "memories": []} if isinstance(one, RemoraError) else _recalled(one)
                        for one in found]}  # fmt: skip


class Update(Input):
    id: str = Field(description="The memory: an id, its beginning, `#` and its end, or a hash.")
    content: str | None = Field(None, description="The text.")
    kind: str | None = Field(None, description="What it is, such as fact, decision, lesson or event.")
    tags: list[str] | None = Field(None, description="Tags.")
    add_tags: list[str] | None = Field(None, description="Tags to add.")
    remove_tags: list[str] | None = Field(None, description="Tags to take away.")
    subject_key: str | None = Field(
        None, description="What it is about, such as `user.theme`; the same key makes a new version."
    )
    scope: str | None = Field(None, description="Paths it is about, as a glob.")
    importance: float | None = Field(None, description="From 0 to 1.")
    pinned: bool | None = Field(None, description="Pinned or not.")
    valid_from: str | None = Field(None, description="From when it is true.")
    valid_to: str | None = Field(None, description="Until when it is true.")
    expires_at: str | None = Field(None, description="When it is hidden.")
    status: Literal["active", "archived"] | None = Field(None, description="Which state.")
    metadata: dict[str, Any] | None = Field(None, description="Further fields.")
    reason: str | None = Field(None, description="Why; kept in the history.")
    if_version: int | None = Field(None, description="Only if it is still at this version.")
    on_duplicate: Literal["refuse", "merge"] = Field(
        "refuse", description="What to do if another memory says the same."
    )


@operation(
    "memory.update", "Change fields of a memory; null empties one that may be empty.", "write", Update, updated_text
)
async def update(context: Context, given: Update) -> Result:
    from remora.memory import revise

    engine, actor = await opened(context)
    how = ("id", "reason", "if_version", "on_duplicate")
    changes = {name: getattr(given, name) for name in given.model_fields_set if name not in how}
    done = await revise.revise(
        engine, given.id, actor, times(engine, changes), if_version=given.if_version, reason=given.reason,
        on_duplicate=given.on_duplicate,
    )  # fmt: skip
    one = stored(engine, done)
    return {**one, "refs": await refs(engine, _named([one]))}


class Forget(Filters):
    ids: list[str] = Field(default_factory=list, description="Memories by id.")
    archive: bool = Field(False, description="Only out of sight, and kept.")
    hard: bool = Field(False, description="Erase text and history for good.")
    confirm: str | None = Field(None, description="The word of the preview.")
    confirm_count: int | None = Field(None, description="How many it must be.")
    dry_run: bool = Field(False, description="Change nothing.")
    reason: str | None = Field(None, description="Why; kept in the history.")


@operation("memory.forget", "Put memories away, or erase them.", "write", Forget, forgotten_text)
async def forget(context: Context, given: Forget) -> Result:
    """An agent that names no ids, or erases, gets a preview first, and a word that does it."""
    from remora.memory import forget as verbs
    from remora.memory.filters import where
    from remora.memory.modes import permit
    from remora.model.search import EVERYTHING

    engine, actor = await opened(context)
    if given.ids and given.narrows:
        raise Invalid("give ids or a filter, not both", code="invalid")
    if not given.ids and not given.narrows:
        raise Invalid("say what to forget: ids or a filter", code="no_filter")
    allowed = permit(engine, actor, "forget")
    preview = given.dry_run or (not actor.user and (given.hard or not given.ids) and given.confirm is None)
    if given.ids and not preview and given.confirm is None:
        done = [
            await verbs.forget(engine, actor, each, archive=given.archive, hard=given.hard, reason=given.reason)
            for each in given.ids
        ]
        return {
            "count": len(done), "done": True, "ids": [id_ for one in done for id_ in one.ids],
            "op_ids": [one.op_id for one in done if one.op_id], "already": [one.ids[0] for one in done if one.already],
            "pending": allowed == "pending",
        }  # fmt: skip
    chosen = where(engine, given.given())
    if given.ids:
        chosen = replace(EVERYTHING, statuses=("active", "pending", "archived", "deleted"),
                         ids=await ids_of(engine, given.ids))  # fmt: skip
    elif given.hard:
        chosen = replace(chosen, statuses=EVERYTHING.statuses, superseded=True, expired=True, any_validity=True)
    found = await verbs.forget_where(
        engine, actor, chosen, archive=given.archive, hard=given.hard, dry_run=preview or allowed == "pending",
        confirm=given.confirm, confirm_count=given.confirm_count,
    )  # fmt: skip
    if not preview and allowed == "pending":  # a person decides about each
        for each in found.ids:
            await verbs.forget(engine, actor, each, reason=given.reason)
    return {
        "count": len(found.ids), "done": not preview, "ids": list(found.ids), "batch_id": found.op_id or None,
        "confirm": found.confirm if preview else None, "previews": list(found.previews),
        "pending": allowed == "pending",
    }  # fmt: skip


class Get(Input):
    id: str = Field(description="The memory: an id, its beginning, `#` and its end, or a hash.")
    as_of: str | None = Field(None, description="As it was known then.")


@operation("memory.get", "Show one memory with its relations.", "read", Get, lambda found: found["memory"]["content"])
async def get(context: Context, given: Get) -> Result:
    from remora.memory import browse, connect
    from remora.memory.filters import moment

    engine, _ = await opened(context)
    at = None if given.as_of is None else moment(engine, given.as_of)
    memory = await browse.get(engine, given.id, as_of=at)
    edges = await connect.edges(engine, memory.id)
    rows = [{"type": edge.type, "src": edge.src, "dst": edge.dst, "since": iso(edge.created_at)} for edge in edges]
    return {"memory": shown(memory), "relations": rows}
