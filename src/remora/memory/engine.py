"""What every verb of the memory works with: the store, the encoder, the settings and the gates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from remora.memory.ontology import Ontology
from remora.model.memory import now_us
from remora.privacy import secrets
from remora.privacy.findings import redact_with

if TYPE_CHECKING:
    from remora.embedding.embedder import Embedder
    from remora.memory.indexer import Indexer
    from remora.memory.relevance import RecallModel
    from remora.storage.protocol import Store

Mode = Literal["off", "recall", "confirm", "auto"]


class Redactor(Protocol):
    """Finds secrets: the text with each replaced, and the names of their types."""

    def __call__(self, text: str) -> tuple[str, list[str]]: ...


def secrets_replaced(text: str) -> tuple[str, list[str]]:
    """By the detector that the whole product uses."""
    findings = secrets.scan(text)
    if not findings:
        return text, []
    return redact_with(secrets.find_secrets, text, "[REDACTED:{}]".format), [found.kind for found in findings]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The `[memory]` section."""

    mode: Mode = "auto"
    namespace: str = "global"
    read_namespaces: tuple[str, ...] = ()
    max_content_chars: int = 1_000_000
    secrets: Literal["redact", "block"] = "redact"
    dedup: bool = True
    dedup_cosine: float = 0.92
    dedup_jaccard: float = 0.85
    auto_supersede: bool = True
    auto_resolve: bool = False
    purge_after_days: int = 30  # deleted rows keep their text so long; -1 = for ever
    pending_days: int = 30
    custom_types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    zone: str | None = None
    locales: tuple[str, ...] = ("en", "de")
    date_order: Literal["mdy", "dmy"] = "mdy"
    week_start: Literal["mon", "sun"] = "mon"
    hemisphere: Literal["north", "south"] = "north"


@dataclass(slots=True, kw_only=True)
class Engine:
    """One open memory."""

    store: Store
    settings: Settings
    ontology: Ontology
    embedder: Embedder | None = None
    indexer: Indexer | None = None
    model: RecallModel | None = None
    redact: Redactor = secrets_replaced
    now: Callable[[], int] = now_us
    # Sessions with a mode of their own, and those that leave no trace.
    modes: dict[str, Mode] = field(default_factory=dict)
    incognito: set[str] = field(default_factory=set)
    confirmations: dict[str, tuple[str, float]] = field(default_factory=dict)

    def read_set(self, namespace: str | tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Namespaces that a read looks into; None = all."""
        if namespace == "*":
            return None
        if namespace is not None:
            return (namespace,) if isinstance(namespace, str) else tuple(namespace)
        return tuple(dict.fromkeys((self.settings.namespace, "global", *self.settings.read_namespaces)))

    def write_namespace(self, namespace: str | None, subject_key: str | None) -> str:
        if namespace is not None:
            return namespace
        return "global" if (subject_key or "").startswith("user.") else self.settings.namespace
