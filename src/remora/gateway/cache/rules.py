"""Which answers may be kept, for how long, and under which key. Pure, but for one look at a file's stamp."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from dataclasses import dataclass
from typing import Any

from remora.config.model import ServerConfig
from remora.gateway.catalog import Entry
from remora.gateway.compression.detect import Hints
from remora.gateway.pipeline import Call
from remora.gateway.session import Params

SCHEMA = 1
NO_CACHE = "remora/no_cache"
_PLAIN = {"name", "arguments", "_meta"}
_OURS = ("progressToken", "traceparent", "tracestate", "baggage", NO_CACHE)


@dataclass(frozen=True, slots=True)
class Rule:
    """How an answer is kept. `ttl` None: until something is written."""

    ttl: float | None
    validator: tuple[int, ...] | None


def reads_only(entry: Entry) -> bool:
    """Whether a call changes nothing, as far as somebody trusted says so."""
    override = entry.override
    if override is not None and (override.cache == "on" or override.safe is False):
        return override.cache == "on"
    return entry.source.settings.trust_annotations and entry.hint("readOnlyHint")


def rule(call: Call, params: Params, scope: str) -> Rule | None:
    """None for what is never kept."""
    entry, config = call.entry, call.view.config.cache
    override, server = entry.override, call.view.settings[entry.source.name]
    policy = (override.cache_policy if override else None) or server.cache_policy or config.policy
    if not config.enabled or policy == "off" or scope == "session" or set(params) - _PLAIN:
        return None
    asked = override.cache if override else "auto"
    if asked == "off" or not reads_only(entry) or (policy == "listed" and asked != "on"):
        return None
    validator = _stamp(call, server)
    ttl = config.validated_ttl_seconds if validator else _ttl(entry, server, config.default_ttl_seconds)
    return None if ttl == 0 else Rule(None if ttl < 0 else float(ttl), validator)


def _ttl(entry: Entry, server: ServerConfig, default: int) -> int:
    values = (entry.override.cache_ttl_seconds if entry.override else None, server.cache_ttl_seconds)
    return next((value for value in values if value is not None), default)


def _stamp(call: Call, server: ServerConfig) -> tuple[int, ...] | None:
    """Of a file read through a server of this machine: what changes when the file does."""
    override = call.entry.override
    hints = Hints("", call.entry.original, call.arguments, "", override.verbatim if override else None)
    if not server.is_local or not hints.file_read or not os.path.isabs(hints.path):
        return None
    try:
        found = os.stat(hints.path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def origin(entry: Entry, fingerprint: str) -> bytes:
    """Everything about a tool and its connection that an answer depends on."""
    settings = entry.source.settings
    values = [sorted(settings.env.items()), sorted(settings.headers.items()), settings.auth.token, settings.tls_verify]
    return _digest([SCHEMA, entry.source.name, fingerprint, values, entry.original, entry.definition])


def key(call: Call, params: Params, origin: bytes, project: str, epochs: tuple[int, ...], kept: Rule) -> str:
    meta = params.get("_meta")
    said = {k: v for k, v in meta.items() if _counts(k)} if isinstance(meta, dict) else {}
    caller = [call.front.session.principal.name, call.front.caller.modern, project]
    return _digest([origin.hex(), caller, call.arguments, said, epochs, kept.validator]).hex()


def _counts(name: str) -> bool:
    return name not in _OURS and not name.startswith("io.modelcontextprotocol/")


def _digest(value: Any) -> bytes:
    """Numbers keep their kind (1, 1.0 and "1" differ); the order of members does not matter."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).digest()
