"""Which memory is meant: an id, a UUID, a hash, an alias, the beginning or the end of an id."""

from __future__ import annotations

import re

from remora.errors import AmbiguousId, NotFound
from remora.model.memory import Memory, encode_ulid, is_ulid
from remora.storage.protocol import View

LEAST_PREFIX, LEAST_SUFFIX, SHORT = 6, 4, 12
_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
_HASH = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)
_PART = re.compile(r"[0-9A-HJKMNP-TV-Z]+")


def find(view: View, reference: str, *, namespaces: tuple[str, ...] | None = None, strict: bool = False) -> Memory:
    """`strict`: for writes that destroy; a hash that stands in several namespaces is then ambiguous."""
    ids = candidates(view, reference.strip(), namespaces, strict=strict)
    if not ids:
        raise NotFound(f'no memory "{reference}"')
    if len(ids) > 1:
        shown = ", ".join(ids[:5])
        raise AmbiguousId(f'"{reference}" fits several memories: {shown}', hint="give more of the id")
    memory = view.get(ids[0])
    if memory is None:
        raise NotFound(f'no memory "{reference}"')
    return memory


def candidates(view: View, text: str, namespaces: tuple[str, ...] | None, *, strict: bool = False) -> list[str]:
    """Ids that the reference may mean; the first rule that finds something decides."""
    upper = text.upper()
    if is_ulid(upper):
        return [upper] if view.get(upper) is not None else []
    if _UUID.fullmatch(text):
        ulid = encode_ulid(int(text.replace("-", ""), 16))
        if view.get(ulid) is not None:
            return [ulid]
    if _HASH.fullmatch(text):
        rows = list(view.by_hash(text.lower()))
        if rows and not strict and namespaces is not None:
            order = {name: at for at, name in enumerate(namespaces)}
            rows.sort(key=lambda row: (order.get(row.namespace, len(order)), -row.created_at))
            return [rows[0].id]
        if rows:
            return [row.id for row in rows]
    if aliased := list(view.by_alias(text)):
        return aliased
    if text.startswith("#") and len(text) > LEAST_SUFFIX and _PART.fullmatch(upper[1:]):
        return list(view.by_prefix(upper[1:], suffix=True))
    if LEAST_PREFIX <= len(text) < 26 and _PART.fullmatch(upper):
        return list(view.by_prefix(upper))
    return []


def short_ids(view: View, ids: list[str]) -> dict[str, str]:
    """Beginnings that are unique among these and in the store."""
    found = {}
    for id_ in ids:
        length = SHORT
        while length < 26 and len(view.by_prefix(id_[:length], limit=2)) > 1:
            length += 1
        found[id_] = id_[:length]
    return found


def short_refs(ids: list[str]) -> dict[str, str]:
    """`#` and the last characters, for agents; unique among these."""
    length = 5
    while length < 26 and len({id_[-length:] for id_ in ids}) < len(set(ids)):
        length += 1
    return {id_: f"#{id_[-length:]}" for id_ in ids}
