"""A memory: one statement kept for the long term, with where it came from and how long it holds."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["active", "pending", "archived", "deleted"]
Trust = Literal["user", "agent", "tool", "import"]
Sensitivity = Literal["normal", "private"]

STATUSES: tuple[Status, ...] = ("active", "pending", "archived", "deleted")
TRUST_ORDER: tuple[Trust, ...] = ("import", "tool", "agent", "user")  # lowest first


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Times are integer microseconds UTC; `version` grows by one with every change of the row."""

    id: str
    content: str
    content_hash: str
    namespace: str
    kind: str
    base_kind: str
    created_at: int
    updated_at: int
    version: int = 1
    status: Status = "active"
    subject_key: str | None = None
    scope: str | None = None
    requested_kind: str | None = None
    kind_defaulted: bool = False
    importance: float = 0.5
    confidence: float = 1.0
    trust: Trust = "agent"
    sensitivity: Sensitivity = "normal"
    pinned: bool = False
    valid_from: int | None = None
    valid_to: int | None = None
    expires_at: int | None = None
    superseded_by: str | None = None
    archived_at: int | None = None
    deleted_at: int | None = None
    confirmations: int = 0
    last_confirmed_at: int | None = None
    document_id: str | None = None
    chunk_no: int | None = None
    page: int | None = None
    lang: str | None = None
    tags: tuple[str, ...] = ()
    triggers: tuple[Mapping[str, Any], ...] = ()
    source: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def conversation(self) -> str | None:
        return self.source.get("conversation_id")

    @property
    def session(self) -> str | None:
        return self.source.get("session_id") or self.metadata.get("session")

    @property
    def title(self) -> str:
        return str(self.metadata.get("title") or "")


def content_hash(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_DECODE = {letter: value for value, letter in enumerate(_CROCKFORD)}


def encode_ulid(value: int) -> str:
    return "".join(_CROCKFORD[(value >> shift) & 31] for shift in range(125, -1, -5))


def decode_ulid(text: str) -> int:
    value = 0
    for letter in text:
        value = value << 5 | _DECODE[letter]
    return value


def is_ulid(text: str) -> bool:
    return len(text) == 26 and text[0] in "01234567" and all(letter in _DECODE for letter in text)


class _Ulids:
    """Ids that sort by time and, inside one process, by the order they were made in."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def __call__(self, at: int | None = None) -> str:
        """A new id; `at` (microseconds) makes one for a memory of another time."""
        fresh = (at if at is not None else time.time_ns() // 1000) // 1000 << 80 | int.from_bytes(os.urandom(10))
        if at is not None:
            return encode_ulid(fresh)
        with self._lock:
            # A step of up to 2**40 keeps ids of one millisecond unguessable and still in order.
            self._last = fresh if fresh >> 80 > self._last >> 80 else self._last + 1 + int.from_bytes(os.urandom(5))
            return encode_ulid(self._last)


new_id = _Ulids()


def now_us() -> int:
    return time.time_ns() // 1000
