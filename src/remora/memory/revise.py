"""Changing a memory that is there: fields, tags, kinds, namespaces; singly or many at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from remora.errors import Invalid, NotFound, VersionConflict
from remora.memory import gate, normalise
from remora.memory.engine import Engine
from remora.memory.identify import find
from remora.memory.merge import Remember, Stored
from remora.memory.modes import permit
from remora.memory.remember import draft, place
from remora.memory.words import language
from remora.memory.writing import Planner, write
from remora.model.memory import Memory, content_hash, new_id
from remora.model.ops import Actor
from remora.model.search import EVERYTHING, Where
from remora.storage.protocol import View

FIELDS = frozenset(
    "content kind tags add_tags remove_tags importance metadata metadata_replace valid_from valid_to expires_at scope "
    "subject_key pinned status sensitivity created_at".split()
)


async def revise(
    engine: Engine, reference: str, actor: Actor, changes: Mapping[str, Any], *, if_version: int | None = None,
    reason: str | None = None, versioned: bool = False, on_duplicate: Literal["refuse", "merge"] = "refuse",
) -> Stored:  # fmt: skip
    """Give some fields new values. `versioned`: a new memory takes the place of the old one."""
    if permit(engine, actor, "write") == "pending":
        raise Invalid("changes need approval in this mode; store the new statement instead", code="mode")
    if unknown := set(changes) - FIELDS:
        raise Invalid(
            f"unknown fields: {', '.join(sorted(unknown))}", code="unknown_argument", hint=", ".join(sorted(FIELDS))
        )
    if not changes:
        raise Invalid("no field to change was given", code="nothing_to_do")
    warnings: list[str] = []

    def plan(planner: Planner) -> Stored:
        warnings.clear()
        memory = find(planner.view, reference)
        if memory.status == "deleted":
            raise NotFound(f'memory "{reference}" is deleted', hint="restore it first")
        if if_version is not None and memory.version != if_version:
            raise VersionConflict(f"{memory.id} is at version {memory.version}, not {if_version}")
        fields = _fields(engine, memory, changes, warnings, planner.now)
        if all(getattr(memory, name) == value for name, value in fields.items()):
            return Stored(status="merged", memory=memory, op_id="", warnings=tuple(warnings))
        after = replace(memory, **fields)
        if after.valid_from is not None and after.valid_to is not None and after.valid_from >= after.valid_to:
            raise Invalid("valid_from must lie before valid_to", code="bad_validity")
        if (twin := _doubled(planner.view, memory, after)) is not None:
            if on_duplicate == "refuse":
                raise Invalid(
                    f"another memory says this already: {twin.id}", code="would_duplicate", hint='on_duplicate="merge"'
                )
            planner.update(
                "merge",
                twin,
                tags=tuple(dict.fromkeys((*twin.tags, *after.tags))),
                confirmations=twin.confirmations + 1,
            )
            planner.update("supersede", memory, touched=False, superseded_by=twin.id, reason=reason)
            return Stored(status="merged", memory=planner.view.get(twin.id) or twin, op_id=planner.last_op)
        if versioned:
            return _new_version(planner, memory, fields, reason, warnings)
        row = planner.update("update", memory, reason=reason, **fields)
        return Stored(status="updated", memory=row, op_id=planner.last_op, warnings=tuple(warnings))

    stored, _ = await write(engine, actor, plan)
    return stored


def _fields(
    engine: Engine, memory: Memory, changes: Mapping[str, Any], warnings: list[str], now: int
) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name in ("valid_from", "valid_to", "expires_at", "pinned", "sensitivity", "created_at"):
        if name in changes:
            fields[name] = changes[name]
    if changes.get("content") is not None:
        text = normalise.content(changes["content"], warnings, engine.settings.max_content_chars)
        text = gate.without_secrets(engine, text, warnings)
        fields |= {"content": text, "content_hash": content_hash(text), "lang": language(text)}
    if changes.get("kind") is not None:
        kind = engine.ontology.place(changes["kind"])
        if kind.warning:
            warnings.append(kind.warning)
        fields |= {"kind": kind.kind, "base_kind": kind.base, "requested_kind": kind.requested, "kind_defaulted": False}
    fields |= _tag_fields(engine, memory, changes, warnings)
    if changes.get("importance") is not None:
        fields["importance"] = normalise.fraction(changes["importance"], "importance", 0.5)
    if "metadata" in changes or "metadata_replace" in changes:
        given = changes.get("metadata_replace", changes.get("metadata"))
        new = normalise.metadata(gate.clean_values(engine, given, warnings), warnings)
        merged = new if "metadata_replace" in changes else {**memory.metadata, **new}
        fields["metadata"] = {name: value for name, value in merged.items() if value is not None}
    if "scope" in changes:
        fields["scope"] = normalise.scope(changes["scope"])
    if "subject_key" in changes:
        fields["subject_key"] = normalise.subject_key(changes["subject_key"])
    if changes.get("status") is not None:
        if changes["status"] not in ("active", "archived"):
            raise Invalid("status can be active or archived; forget deletes", code="bad_status")
        fields |= {"status": changes["status"], "archived_at": now if changes["status"] == "archived" else None}
    return fields


def _tag_fields(engine: Engine, memory: Memory, changes: Mapping[str, Any], warnings: list[str]) -> dict[str, Any]:
    if not {"tags", "add_tags", "remove_tags"} & set(changes):
        return {}
    kept = normalise.tags(changes["tags"], warnings) if "tags" in changes else memory.tags
    gone = set(normalise.tags(changes.get("remove_tags"), warnings))
    added = normalise.tags(gate.clean_values(engine, changes.get("add_tags"), warnings), warnings)
    return {"tags": tuple(tag for tag in dict.fromkeys((*kept, *added)) if tag not in gone)[: normalise.MOST_TAGS]}


def _doubled(view: View, before: Memory, after: Memory) -> Memory | None:
    """Another row that the new state would equal, or whose key it would take."""
    if after.subject_key is not None and after.subject_key != before.subject_key:
        held = view.by_key(after.namespace, after.subject_key)
        if held is not None and held.id != before.id:
            raise Invalid(f'the key "{after.subject_key}" belongs to {held.id}', code="key_taken")
    if (after.content_hash, after.namespace, after.subject_key) == (
        before.content_hash,
        before.namespace,
        before.subject_key,
    ):
        return None
    rows = view.by_hash(after.content_hash, after.namespace)
    same = (row for row in rows if row.subject_key == after.subject_key and row.document_id == after.document_id)
    return next((row for row in same if row.id != before.id), None)


def _new_version(
    planner: Planner, memory: Memory, fields: Mapping[str, Any], reason: str | None, warnings: Sequence[str]
) -> Stored:
    """The peer's form of an update: a new id that inherits, the old row out of sight."""
    fresh = replace(
        memory, **{**fields, "id": new_id(), "version": 1, "created_at": planner.now, "updated_at": planner.now}
    )
    key = fresh.subject_key
    planner.update("supersede", memory, touched=False, superseded_by=fresh.id, reason=reason)
    created = planner.put("create", None, replace(fresh, subject_key=key, superseded_by=None))
    assert isinstance(created, Memory)
    return Stored(
        status="superseded", memory=created, op_id=planner.last_op, warnings=tuple(warnings), superseded=(memory.id,)
    )


async def retag(
    engine: Engine, actor: Actor, where: Where, *, rename: Mapping[str, str] | None = None, add: Sequence[str] = (),
    remove: Sequence[str] = (), replace_all: Sequence[str] | None = None,
) -> tuple[str, int]:  # fmt: skip
    """Rename, merge, add or remove tags on all that the filter leaves: one batch. Gives its id and the rows changed."""
    permit(engine, actor, "write")
    names = {old: normalise.tags([new], [])[0] for old, new in (rename or {}).items()}

    def plan(planner: Planner) -> tuple[str, int]:
        wanted = replace(where, tags=tuple(names)) if names and not where.tags else where
        count = 0
        for memory in planner.view.get_many(planner.view.ids(wanted)).values():
            tags = [names.get(tag, tag) for tag in (memory.tags if replace_all is None else replace_all)]
            tags = [tag for tag in dict.fromkeys((*tags, *normalise.tags(list(add), []))) if tag not in remove]
            if tuple(tags) != memory.tags:
                planner.update("rename_tag", memory, tags=tuple(tags))
                count += 1
        return planner.batch_id, count

    result, _ = await write(engine, actor, plan)
    return result


async def rename_namespace(engine: Engine, actor: Actor, old: str, new: str) -> tuple[str, int]:
    """Move everything, deleted rows excepted; a text that is there already confirms the one there."""
    permit(engine, actor, "write")
    name = normalise.namespace(new)

    def plan(planner: Planner) -> tuple[str, int]:
        where = replace(EVERYTHING, namespaces=(old,))
        memories = planner.view.get_many(planner.view.ids(where)).values()
        for memory in memories:
            moved = replace(memory, namespace=name)
            twin = _twin_there(planner.view, moved)
            if twin is not None:
                planner.update("merge", twin, tags=tuple(dict.fromkeys((*twin.tags, *memory.tags))))
                planner.update("delete", memory, status="deleted", deleted_at=planner.now)
            else:
                planner.update("rename_namespace", memory, touched=False, namespace=name)
        return planner.batch_id, len(memories)

    result, _ = await write(engine, actor, plan)
    return result


def _twin_there(view: View, moved: Memory) -> Memory | None:
    key = moved.subject_key
    if key is not None and moved.status == "active" and (held := view.by_key(moved.namespace, key)) is not None:
        return held
    return next((row for row in view.by_hash(moved.content_hash, moved.namespace) if row.subject_key == key), None)


async def review(
    engine: Engine, actor: Actor, references: Sequence[str], *, approve: bool, content: str | None = None
) -> list[Stored]:
    """Approve (edited or not) or reject pending memories; what is approved is compared with the rest again."""

    def plan(planner: Planner) -> list[Stored]:
        found = []
        for reference in references:
            memory = find(planner.view, reference)
            if memory.status != "pending":
                raise Invalid(f"{memory.id} is not pending", code="not_pending")
            gone = planner.update("reject", memory, status="deleted", deleted_at=planner.now)
            if not approve:
                found.append(Stored(status="suppressed", memory=gone, op_id=planner.last_op))
                continue
            text = content if content is not None else memory.content
            flags = {name: value for name, value in memory.metadata.items() if name != "flags"}
            fresh, _ = draft(engine, Remember(content=text, kind=memory.kind, namespace=memory.namespace), actor)
            again = replace(
                memory, id=new_id(), version=1, status="active", content=fresh.content, content_hash=fresh.content_hash,
                metadata=flags, updated_at=planner.now,
            )  # fmt: skip
            found.append(place(engine, planner, Remember(content=text), again, None, None))
        return found

    result, _ = await write(engine, actor, plan)
    return result
