"""What all operations of the memory share: who asks, where, their filters, and how a memory is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from remora.config.project import project_root
from remora.errors import UnavailableError
from remora.model.memory import Memory
from remora.model.ops import Actor, Op
from remora.operations.registry import Context, Input

if TYPE_CHECKING:
    from remora.memory.engine import Engine
    from remora.memory.merge import Stored
    from remora.storage.protocol import View

Result = dict[str, Any]
REF, LONG_REF, MANY_ROWS = 5, 8, 20_000  # eight letters are 40 bits


async def opened(context: Context) -> tuple[Engine, Actor]:
    """The memory as the asking session sees it, and who asks: an agent, or without a session the user."""
    if context.memory is None:
        raise UnavailableError("this door has no memory")
    session = context.session
    if session is None:
        return await context.memory.engine(project_root(Path.cwd(), context.memory.user_home)), Actor(door="cli")
    actor = Actor(door="mcp", agent=session.client_name or None, session=session.id, user=False)
    return await context.memory.engine(session.view.project, session.id), actor


class Filters(Input):
    """What a recall, a listing or a deletion may be narrowed by."""

    namespace: str | list[str] | None = Field(None, description="Where to look; `*` = everywhere.")
    tags: list[str] = Field(default_factory=list, description="Tags.")
    tag_match: Literal["any", "all"] = Field("any", description="Whether one of the tags is enough.")
    not_tags: list[str] = Field(default_factory=list, description="Tags that it must not have.")
    untagged: bool = Field(False, description="Only what has no tags.")
    kinds: list[str] = Field(default_factory=list, description="Kinds; a base kind means those below it too.")
    time: str | None = Field(None, description="When it was stored, such as `last week`.")
    after: str | None = Field(None, description="Stored at or after this time.")
    before: str | None = Field(None, description="Stored before this time.")
    subject_key_prefix: str | None = Field(None, description="Keys begin so.")
    path: str | None = Field(None, description="Fits this file: memories with another scope are left out.")
    agent: str | None = Field(None, description="Stored by this agent.")
    session: str | None = Field(None, description="Stored in this session.")
    conversation: str | None = Field(None, description="Belongs to this conversation.")
    source: str | None = Field(None, description="Where it came from, such as `manual` or `agent`.")
    pinned: bool | None = Field(None, description="Pinned or not.")
    min_importance: float | None = Field(None, description="At least so important.")
    include_superseded: bool = Field(False, description="Also what was replaced.")
    include_archived: bool = Field(False, description="Also what was archived.")
    include_pending: bool = Field(False, description="Also what waits for approval.")
    tz: str | None = Field(None, description="Time zone of the times given.")

    def given(self) -> Result:
        """What was set, in the words of the memory."""
        names = set(Filters.model_fields) & self.model_fields_set
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value not in (None, [], False)}

    @property
    def narrows(self) -> bool:
        return bool(set(self.given()) - {"namespace", "tag_match", "tz"})


def iso(microseconds: int | None) -> str | None:
    from remora.memory.filters import to_datetime

    return None if microseconds is None else to_datetime(microseconds).isoformat().replace("+00:00", "Z")


def shown(memory: Memory) -> Result:
    """A memory as a JSON document; the names stay."""
    return {
        "id": memory.id,
        "content": memory.content,
        "kind": memory.kind,
        "subject_key": memory.subject_key,
        "importance": memory.importance,
        "source": str(memory.source.get("kind", "manual")),
        "namespace": memory.namespace,
        "tags": list(memory.tags),
        "metadata": dict(memory.metadata),
        "trust": memory.trust,
        "status": memory.status,
        "pinned": memory.pinned,
        "scope": memory.scope,
        "created_at": iso(memory.created_at),
        "updated_at": iso(memory.updated_at),
        "archived_at": iso(memory.archived_at),
        "valid_from": iso(memory.valid_from),
        "valid_to": iso(memory.valid_to),
        "expires_at": iso(memory.expires_at),
        "superseded_by": memory.superseded_by,
        "version": memory.version,
        "confirmations": memory.confirmations,
        "triggers": [f"{trigger.get('type')}:{trigger.get('value')}" for trigger in memory.triggers],
        "content_hash": memory.content_hash,
        "provenance": dict(memory.source),
    }


def stored(engine: Engine, done: Stored) -> Result:
    """What became of a text that was to be kept."""
    embedded = engine.indexer is not None
    return {
        "status": done.status,
        "id": done.id,
        "content_hash": done.memory.content_hash,
        "version": done.memory.version,
        "op_id": done.op_id,
        "superseded": list(done.superseded),
        "similar": [{"id": id_, "similarity": like, "preview": text} for id_, like, text in done.similar],
        "conflicts": list(done.conflicts),
        "warnings": list(done.warnings),
        "indexed": {"lexical": "done", "vector": "queued" if embedded else "off"},
        "memory": shown(done.memory),
    }


def op_shown(op: Op) -> Result:
    return {
        "op_id": op.op_id,
        "batch_id": op.batch_id,
        "kind": op.kind,
        "target": op.target,
        "at": iso(op.at),
        "actor": dict(op.actor),
        "reason": op.reason,
        "undoes": op.undoes,
        "undone_by": op.undone_by,
        "changed": sorted(op.after),
    }


async def ids_of(engine: Engine, references: Sequence[str]) -> tuple[str, ...]:
    """Full ids for whatever names memories: ids, ends of ids, hashes."""
    from remora.memory.identify import find

    return await engine.store.read(lambda view: tuple(find(view, each).id for each in references))


def times(engine: Engine, given: Mapping[str, Any]) -> Result:
    """The same arguments with moments as microseconds."""
    from remora.memory.filters import moment

    names = ("valid_from", "valid_to", "expires_at", "created_at")
    return {
        name: moment(engine, value) if name in names and value is not None else value for name, value in given.items()
    }


async def also_deleted(engine: Engine, reference: str) -> str:
    """The full id of a deleted memory by a part of it; any other reference as it is."""
    from remora.memory.identify import candidates
    from remora.model.search import EVERYTHING

    part = reference.strip().lstrip("#").upper()

    def read(view: View) -> str:
        if len(part) < REF or candidates(view, reference.strip(), None) or view.ops(batch=reference, limit=1):
            return reference
        gone = view.ids(replace(EVERYTHING, statuses=("deleted",)))
        meant = [id_ for id_ in gone if (id_.endswith(part) if reference.startswith("#") else id_.startswith(part))]
        return meant[0] if len(meant) == 1 else reference

    return await engine.store.read(read)


async def refs(engine: Engine, ids: Iterable[str], rows: int = 0) -> dict[str, str]:
    """The ends of ids by which an agent names memories: as long as the store needs, and in a large one long enough."""

    def read(view: View) -> dict[str, str]:
        found = {}
        for id_ in ids:
            length = REF if rows < MANY_ROWS else LONG_REF
            while length < LONG_REF and len(view.by_prefix(id_[-length:], suffix=True, limit=2)) > 1:
                length += 1
            found[id_] = f"#{id_[-length:]}"
        return found

    return await engine.store.read(read)
