"""Filters as callers name them, to the one `Where` of the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypedDict

from remora.errors import Invalid
from remora.memory import normalise, timeparse
from remora.memory.engine import Engine
from remora.memory.timezone import zone_of
from remora.model.memory import TRUST_ORDER, Status, Trust
from remora.model.search import Where

Moment = datetime | int | float | str


class Filters(TypedDict, total=False):
    """What a recall or a listing may be narrowed by."""

    namespace: str | Sequence[str] | None
    tags: str | Sequence[str] | None
    tag_match: Literal["any", "all"]
    not_tags: str | Sequence[str] | None
    untagged: bool
    kinds: str | Sequence[str] | None
    time: str | None
    after: Moment | None
    before: Moment | None
    time_field: Literal["created", "updated", "valid"]
    valid_at: Moment | None
    include_superseded: bool
    include_archived: bool
    include_pending: bool
    include_expired: bool
    min_trust: Trust | None
    min_importance: float | None
    subject_key_prefix: str | None
    path: str | None
    agent: str | None
    session: str | None
    exclude_session: str | None
    conversation: str | None
    document: str | None
    source: str | None
    pinned: bool | None
    tz: str | None


NAMES = frozenset(Filters.__annotations__)


def where(engine: Engine, given: Mapping[str, Any]) -> Where:
    """Unknown names and bad values are errors; what is None is not a filter."""
    if unknown := set(given) - NAMES:
        raise Invalid(
            f"unknown filter: {', '.join(sorted(unknown))}", code="unknown_argument", hint=", ".join(sorted(NAMES))
        )
    values = {name: value for name, value in given.items() if value is not None}
    statuses: list[Status] = ["active"]
    statuses += ["archived"] if values.get("include_archived") else []
    statuses += ["pending"] if values.get("include_pending") else []
    after, before = _times(engine, values)
    trust = values.get("min_trust")
    if trust is not None and trust not in TRUST_ORDER:
        raise Invalid(f'"{trust}" is not a trust', code="bad_trust", hint=", ".join(TRUST_ORDER))
    valid_at = values.get("valid_at")
    namespace = values.get("namespace")
    if namespace is not None and namespace != "*":
        names = (namespace,) if isinstance(namespace, str) else tuple(namespace)
        namespace = tuple(normalise.namespace(name) for name in names)
    return Where(
        namespaces=engine.read_set(namespace),
        statuses=tuple(statuses),
        superseded=bool(values.get("include_superseded")),
        expired=bool(values.get("include_expired")),
        valid_at=None if valid_at in (None, "any") else moment(engine, valid_at, values.get("tz")),
        any_validity=valid_at == "any",
        tags=normalise.tags(values.get("tags"), []),
        tag_match=values.get("tag_match", "any"),
        not_tags=normalise.tags(values.get("not_tags"), []),
        untagged=bool(values.get("untagged")),
        kinds=_kinds(engine, values.get("kinds")),
        time_field=values.get("time_field", "created"),
        after=after,
        before=before,
        min_trust=trust,
        min_importance=values.get("min_importance"),
        key_prefix=(values.get("subject_key_prefix") or "").strip().lower() or None,
        path=values.get("path"),
        agent=values.get("agent"),
        session=values.get("session"),
        exclude_session=values.get("exclude_session"),
        conversation=values.get("conversation"),
        document=values.get("document"),
        source_kind=values.get("source"),
        pinned=values.get("pinned"),
    )


def _kinds(engine: Engine, value: Any) -> tuple[str, ...]:
    names = value.split(",") if isinstance(value, str) else list(value or ())
    found = []
    for name in names:
        kind = engine.ontology.place(name)
        if kind.requested is not None:
            raise Invalid(f'"{name}" is not a kind', code="bad_kind", hint=", ".join(engine.ontology.kinds()))
        found.append(kind.kind)
    return tuple(dict.fromkeys(found))


def _times(engine: Engine, values: Mapping[str, Any]) -> tuple[int | None, int | None]:
    after, before, zone = values.get("after"), values.get("before"), values.get("tz")
    start = None if after is None else moment(engine, after, zone)
    end = None if before is None else moment(engine, before, zone)
    if (text := values.get("time")) is not None:
        interval = timeparse.parse(str(text), engine.now(), timeparse.rules(engine.settings, zone))
        start = max((edge for edge in (start, interval.start) if edge is not None), default=None)
        end = min((edge for edge in (end, interval.end) if edge is not None), default=None)
    return start, end


def moment(engine: Engine, value: Moment, zone: str | None = None) -> int:
    """Microseconds of a datetime, epoch seconds, an ISO text or a time expression (its beginning)."""
    if isinstance(value, datetime):
        return to_us(value if value.tzinfo else value.replace(tzinfo=zone_of(zone or engine.settings.zone)))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return int(value * 1_000_000) if abs(value) < 1e11 else int(value * 1000) if abs(value) < 1e14 else int(value)
    value = str(value)
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        interval = timeparse.parse(value, engine.now(), timeparse.rules(engine.settings, zone))
        edge = interval.start if interval.start is not None else interval.end
        assert edge is not None
        return edge
    return moment(engine, parsed, zone)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_us(value: datetime) -> int:
    delta = value - EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def to_datetime(value: int) -> datetime:
    return datetime.fromtimestamp(value // 1_000_000, UTC).replace(microsecond=value % 1_000_000)
