"""`Where` as SQL: which view to read, and what else must hold. What is visible is said in `live_memories` alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from remora.model.memory import TRUST_ORDER
from remora.model.search import Where


def is_live(where: Where) -> bool:
    """The filter asks for nothing but what the view shows."""
    return (
        where.statuses == ("active",)
        and not (where.superseded or where.expired or where.any_validity)
        and where.valid_at is None
    )


def source(where: Where, now: int, alias: str = "m") -> tuple[str, list[str], list[Any]]:
    """The table or view to read, and the conditions that make up visibility where the view does not fit."""
    if is_live(where):
        return f"live_memories {alias}", [], []
    clauses = [f"{alias}.status IN ({_marks(where.statuses)})"]
    values: list[Any] = [*where.statuses]
    if not where.superseded:
        clauses.append(f"{alias}.superseded_by IS NULL")
    if not where.expired:
        clauses.append(f"({alias}.expires_at IS NULL OR {alias}.expires_at > ?)")
        values.append(now)
    if not where.any_validity:
        at = now if where.valid_at is None else where.valid_at
        clauses.append(f"({alias}.valid_from IS NULL OR {alias}.valid_from <= ?)")
        clauses.append(f"({alias}.valid_to IS NULL OR {alias}.valid_to > ?)")
        values += [at, at]
    return f"memories {alias}", clauses, values


def in_catalog(where: Where) -> Where:
    """The part of the filter that the catalog in memory answers alone."""
    return Where(
        namespaces=where.namespaces,
        statuses=where.statuses,
        superseded=where.superseded,
        expired=where.expired,
        valid_at=where.valid_at,
        any_validity=where.any_validity,
        kinds=where.kinds,
        after=where.after if where.time_field == "created" else None,
        before=where.before if where.time_field == "created" else None,
    )


def beyond_catalog(where: Where) -> Where | None:
    """The rest, to be asked of SQL without regard to visibility; None when there is none."""
    created = where.time_field == "created"
    rest = replace(
        where, namespaces=None, statuses=("active",), superseded=False, expired=False, valid_at=None,
        any_validity=False, kinds=(), after=None if created else where.after, before=None if created else where.before,
    )  # fmt: skip
    return None if replace(rest, time_field="created", tag_match="any") == Where() else rest


def conditions(where: Where, tenant: str, alias: str = "m") -> tuple[list[str], list[Any]]:
    """Everything but visibility."""
    clauses, values = [f"{alias}.tenant = ?"], [tenant]

    def add(clause: str, *found: Any) -> None:
        clauses.append(clause.replace("m.", f"{alias}."))
        values.extend(found)

    if where.namespaces is not None:
        add(f"m.namespace IN ({_marks(where.namespaces)})", *where.namespaces)
    if where.ids is not None:
        add(f"m.id IN ({_marks(where.ids)})", *where.ids)
    if where.keys:
        add(f"m.subject_key IN ({_marks(where.keys)})", *where.keys)
    if where.kinds:
        marks = _marks(where.kinds)
        add(f"(m.kind IN ({marks}) OR m.base_kind IN ({marks}))", *where.kinds, *where.kinds)
    _times(where, add)
    _tags(where, tenant, add)
    for column, value in (
        ("agent", where.agent),
        ("session", where.session),
        ("conversation", where.conversation),
        ("document_id", where.document),
        ("source_kind", where.source_kind),
    ):
        if value is not None:
            add(f"m.{column} = ?", value)
    if where.exclude_session is not None:
        add("m.session IS NOT ?", where.exclude_session)
    if where.min_trust is not None:
        allowed = TRUST_ORDER[TRUST_ORDER.index(where.min_trust) :]
        add(f"m.trust IN ({_marks(allowed)})", *allowed)
    if where.min_importance is not None:
        add("m.importance >= ?", where.min_importance)
    if where.pinned is not None:
        add("m.pinned = ?", int(where.pinned))
    if where.key_prefix:
        stem = where.key_prefix.rstrip(".")
        # Dots bound the parts of a key: "user." is the key "user" and all below it, "us" is neither.
        below = where.key_prefix if not where.key_prefix.endswith(".") else f"{stem}."
        add("(m.subject_key = ? OR (m.subject_key >= ? AND m.subject_key < ?))", stem, below, below + "\U0010ffff")
    if where.path is not None:
        add("(m.scope IS NULL OR scope_matches(m.scope, ?))", where.path)
    return clauses, values


def _times(where: Where, add: Any) -> None:
    if where.time_field == "valid":
        if where.after is not None:
            add("(m.valid_to IS NULL OR m.valid_to > ?)", where.after)
        if where.before is not None:
            add("(m.valid_from IS NULL OR m.valid_from < ?)", where.before)
        return
    if where.after is not None:
        add(f"m.{where.time_field}_at >= ?", where.after)
    if where.before is not None:
        add(f"m.{where.time_field}_at < ?", where.before)


def _tags(where: Where, tenant: str, add: Any) -> None:
    def one(tag: str) -> tuple[str, list[Any]]:
        if tag.endswith("*"):
            return "t.tenant = ? AND t.tag >= ? AND t.tag < ?", [tenant, tag[:-1], tag[:-1] + "\U0010ffff"]
        return "t.tenant = ? AND t.tag = ?", [tenant, tag]

    def held(tags: tuple[str, ...], negated: bool = False) -> None:
        parts = [one(tag) for tag in tags]
        inner = " UNION ".join(f"SELECT t.rid FROM memory_tags t WHERE {clause}" for clause, _ in parts)
        add(f"m.rid {'NOT ' if negated else ''}IN ({inner})", *(value for _, found in parts for value in found))

    if where.tags and where.tag_match == "all":
        for tag in where.tags:
            held((tag,))
    elif where.tags:
        held(where.tags)
    if where.not_tags:
        held(where.not_tags, negated=True)
    if where.untagged:
        add("m.tags = '[]'")


def _marks(values: Any) -> str:
    return ", ".join("?" * len(values))
