"""What search asks of a store and what it gets back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from remora.model.memory import Status, Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The one filter of every read. The default is what is live now, in every namespace of the tenant."""

    namespaces: tuple[str, ...] | None = None
    statuses: tuple[Status, ...] = ("active",)
    superseded: bool = False
    expired: bool = False
    valid_at: int | None = None  # None = now
    any_validity: bool = False
    tags: tuple[str, ...] = ()  # a trailing * matches by prefix
    tag_match: Literal["any", "all"] = "any"
    not_tags: tuple[str, ...] = ()
    untagged: bool = False
    kinds: tuple[str, ...] = ()  # a base kind includes its subtypes
    time_field: Literal["created", "updated", "valid"] = "created"
    after: int | None = None  # inclusive
    before: int | None = None  # exclusive
    min_trust: Trust | None = None
    min_importance: float | None = None
    key_prefix: str | None = None  # "user." also matches the key "user"
    keys: tuple[str, ...] = ()
    path: str | None = None  # memories whose scope matches this path, and those without scope
    agent: str | None = None
    session: str | None = None
    exclude_session: str | None = None
    conversation: str | None = None
    document: str | None = None
    source_kind: str | None = None
    pinned: bool | None = None
    ids: tuple[str, ...] | None = None


EVERYTHING = Where(
    statuses=("active", "pending", "archived"), superseded=True, expired=True, any_validity=True
)  # all but tombstones


@dataclass(frozen=True, slots=True)
class IndexRow:
    """What the lexical index keeps of one memory: a text per column for the full-text table, and the term vector."""

    texts: tuple[str, str, str, str, str]
    length: int
    tf: bytes


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a long memory; the whole of a short one. `text` is what the encoder sees."""

    no: int
    start: int
    end: int
    text: str
    hash: str


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """All derived rows of one memory."""

    row: IndexRow
    grams: str
    chunks: tuple[Chunk, ...]
    speaker: str | None = None
    context_hash: str = ""


@dataclass(frozen=True, slots=True)
class TermStats:
    rows: int
    mean_length: float
    df: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class LexicalHit:
    """`row` is an opaque number, good only inside the view that gave it."""

    row: int
    length: int
    tf: bytes


@dataclass(frozen=True, slots=True)
class Facts:
    """The features of one candidate that do not depend on the query."""

    row: int
    id: str
    content: str
    namespace: str
    kind: str
    base_kind: str
    subject_key: str | None
    title: str
    tags: tuple[str, ...]
    conversation: str | None
    session: str | None
    speaker: str | None
    created_at: int
    trust: Trust
    importance: float
    superseded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """An embedding space: vectors of different spaces are never compared."""

    id: str
    dim: int
    label: str = ""
    canaries: bytes = b""  # f32 little-endian, 8 rows: how the model embedded fixed texts when the space was made
    active: bool = False
