"""Edges between memories and disagreements among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

DIRECTED = ("causes", "fixes", "supports", "follows", "derived_from")
SYMMETRIC = ("related", "contradicts", "shares_entity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """One typed edge; symmetric types are kept once, the smaller id first."""

    id: str
    src: str
    dst: str
    type: str
    created_at: int
    version: int = 1
    weight: float = 1.0
    confidence: float = 1.0
    reasons: tuple[str, ...] = ()
    origin: str = "user"
    status: Literal["active", "suggested", "deleted"] = "active"
    valid_from: int | None = None
    valid_to: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two memories that cannot both be right, or that may be one."""

    id: str
    a: str
    b: str
    kind: Literal["contradiction", "supersession", "duplicate"]
    created_at: int
    version: int = 1
    similarity: float = 0.0
    divergence: float = 0.0
    reasons: tuple[str, ...] = ()
    status: Literal["open", "resolved", "dismissed"] = "open"
    resolution: str | None = None
    hashes: tuple[str, str] = ("", "")
