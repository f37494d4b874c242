"""What a server said of itself the last time: served at once at start, before the server is up."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from remora.config.model import ServerConfig

Definition = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Manifest:
    fingerprint: str
    modern: bool
    version: str
    server_info: Definition = field(default_factory=dict)
    capabilities: Definition = field(default_factory=dict)
    instructions: str = ""
    tools: tuple[Definition, ...] = ()
    resources: tuple[Definition, ...] = ()
    templates: tuple[Definition, ...] = ()
    prompts: tuple[Definition, ...] = ()
    incomplete: bool = False
    made_at: float = field(default_factory=time.time)

    def to_payload(self) -> Definition:
        return asdict(self)

    @classmethod
    def from_payload(cls, payload: Any, fingerprint: str) -> Manifest | None:
        """None when it belongs to another configuration or is damaged: it is then made anew."""
        try:
            if payload["fingerprint"] != fingerprint:
                return None
            lists = {key: tuple(payload[key]) for key in ("tools", "resources", "templates", "prompts")}
            if not all(isinstance(entry, dict) for entries in lists.values() for entry in entries):
                return None
            return cls(**{**payload, **lists})
        except (KeyError, TypeError):
            return None

    def same_lists(self, other: Manifest | None) -> bool:
        return other is not None and all(
            getattr(self, key) == getattr(other, key)
            for key in ("tools", "resources", "templates", "prompts", "instructions", "capabilities")
        )


def fingerprint(settings: ServerConfig) -> str:
    """What a stored manifest is bound to: where the server is and how it is started, not the secrets it is given."""
    parts = [settings.kind, settings.command, list(settings.args), settings.url, settings.cwd,
             sorted(settings.env), sorted(settings.headers)]  # fmt: skip
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
