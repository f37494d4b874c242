"""What a server said of itself the last time: served at once at start, before the server is up."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, field, fields
from typing import Any

from remora.config.model import ServerConfig

Definition = dict[str, Any]
_KINDS = {"modern": bool, "version": str, "server_info": dict, "capabilities": dict, "instructions": str}


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
        return {field.name: getattr(self, field.name) for field in fields(self)}  # asdict would copy everything

    @classmethod
    def from_payload(cls, payload: Any, fingerprint: str) -> Manifest | None:
        """None when it belongs to another configuration or is damaged: it is then made anew."""
        try:
            if payload["fingerprint"] != fingerprint:
                return None
            lists = {key: tuple(payload[key]) for key in ("tools", "resources", "templates", "prompts")}
            if not all(isinstance(entry, dict) for entries in lists.values() for entry in entries):
                return None
            if not all(isinstance(tool.get("name"), str) for tool in lists["tools"]):
                return None
            if not all(isinstance(payload[key], kind) for key, kind in _KINDS.items()):
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
