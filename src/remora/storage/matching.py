"""The filter in plain Python: for states that stand in no table, and as the measure of every backend's own."""

from __future__ import annotations

from fnmatch import fnmatchcase

from remora.model.memory import TRUST_ORDER, Memory
from remora.model.search import Where


def matches(memory: Memory, where: Where, now: int) -> bool:
    """The filter, in Python, for states that stand in no table."""
    at = now if where.valid_at is None else where.valid_at
    moment = {"created": memory.created_at, "updated": memory.updated_at, "valid": None}[where.time_field]
    tags = [any(_tag(held, wanted) for held in memory.tags) for wanted in where.tags]
    key = memory.subject_key or ""
    stem = (where.key_prefix or "").rstrip(".")
    return all(
        (
            where.namespaces is None or memory.namespace in where.namespaces,
            memory.status in where.statuses,
            where.superseded or memory.superseded_by is None,
            where.expired or memory.expires_at is None or memory.expires_at > now,
            where.any_validity
            or ((memory.valid_from or at) <= at and (memory.valid_to is None or memory.valid_to > at)),
            not where.tags or (all(tags) if where.tag_match == "all" else any(tags)),
            not any(_tag(held, unwanted) for held in memory.tags for unwanted in where.not_tags),
            not (where.untagged and memory.tags),
            not where.kinds or memory.kind in where.kinds or memory.base_kind in where.kinds,
            moment is None or where.after is None or moment >= where.after,
            moment is None or where.before is None or moment < where.before,
            where.min_trust is None or TRUST_ORDER.index(memory.trust) >= TRUST_ORDER.index(where.min_trust),
            where.min_importance is None or memory.importance >= where.min_importance,
            not where.key_prefix or key == stem or key.startswith(where.key_prefix),
            not where.keys or memory.subject_key in where.keys,
            where.path is None or memory.scope is None or scope_matches(memory.scope, where.path),
            where.agent is None or memory.source.get("agent_id") == where.agent,
            where.session is None or memory.session == where.session,
            where.exclude_session is None or memory.session != where.exclude_session,
            where.conversation is None or memory.conversation == where.conversation,
            where.document is None or memory.document_id == where.document,
            where.source_kind is None or memory.source.get("kind") == where.source_kind,
            where.pinned is None or memory.pinned == where.pinned,
            where.ids is None or memory.id in where.ids,
        )
    )


def _tag(held: str, wanted: str) -> bool:
    return held.startswith(wanted[:-1]) if wanted.endswith("*") else held == wanted


def scope_matches(scope: str, path: str) -> bool:
    """A POSIX glob over a path inside the project; `src/billing/**` covers everything below."""
    if scope.endswith("/**") and path.startswith(scope[:-2]):
        return True
    return fnmatchcase(path, scope.replace("**", "*"))
