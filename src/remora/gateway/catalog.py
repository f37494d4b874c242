"""Everything all servers offer, under the names it is served by. A snapshot: a change makes a new one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote

from remora.config.model import ServerConfig, ToolConfig
from remora.gateway.manifest import Manifest
from remora.gateway.naming import Names

Definition = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    """One server as the catalog sees it."""

    name: str
    prefix: str
    settings: ServerConfig
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class Entry:
    """Something served: under which name, by whom, and what it is called there."""

    served: str
    source: Source
    original: str
    definition: Definition

    @property
    def override(self) -> ToolConfig | None:
        return self.source.settings.tools.get(self.original)

    def is_safe(self) -> bool:
        """Whether a call may be sent twice without harm."""
        if self.override is not None and self.override.safe is not None:
            return self.override.safe
        return self.source.settings.trust_annotations and (self.hint("readOnlyHint") or self.hint("idempotentHint"))

    def reads_only(self) -> bool:
        """Whether a login that may only read may call it: what a server says of itself counts if it is trusted."""
        told = self.override.annotations.get("readOnlyHint") if self.override else None
        return told is True or (self.source.settings.trust_annotations and self.hint("readOnlyHint"))

    def hint(self, name: str) -> bool:
        notes = self.definition.get("annotations")
        merged = {**(notes if isinstance(notes, dict) else {}), **(self.override.annotations if self.override else {})}
        return merged.get(name) is True


class Catalog:
    def __init__(self, sources: Iterable[Source], client_names: Iterable[str], own_names: Iterable[str]) -> None:
        self.sources = list(sources)
        self.tools: dict[str, Entry] = {}
        self.prompts: dict[str, Entry] = {}
        self.resources: dict[str, Entry] = {}
        self.templates: list[Entry] = []
        # Per server: original URI → served URI, where they differ (a URI another server already has).
        self.moved: dict[str, dict[str, str]] = {}
        tools, prompts = Names(client_names, own_names), Names(client_names, ())
        for source in self.sources:
            bare = source.settings.bare_names
            for definition in source.manifest.tools:
                name = tools.serve(source.name, source.prefix, definition["name"], bare=bare)
                self.tools[name] = Entry(name, source, definition["name"], definition)
            for definition in source.manifest.prompts:
                if isinstance(original := definition.get("name"), str):
                    name = prompts.serve(source.name, source.prefix, original, bare=bare)
                    self.prompts[name] = Entry(name, source, original, definition)
            self._add_resources(source)

    def _add_resources(self, source: Source) -> None:
        for definition in source.manifest.resources:
            if not isinstance(original := definition.get("uri"), str):
                continue
            served = original
            if original in self.resources and self.resources[original].source is not source:
                served = _moved(source.prefix, original)
                self.moved.setdefault(source.name, {})[original] = served
            self.resources[served] = Entry(served, source, original, definition)
        for definition in source.manifest.templates:
            if isinstance(original := definition.get("uriTemplate"), str):
                self.templates.append(Entry(original, source, original, definition))

    @cached_property
    def names(self) -> dict[tuple[str, str], str]:
        """(server, its own tool name) → served name."""
        return {(entry.source.name, entry.original): served for served, entry in self.tools.items()}

    def rewrite(self, server: str, value: Any) -> Any:
        """The same value with this server's moved URIs; the same object where there are none."""
        moved = self.moved.get(server)
        return _rewrite(value, moved) if moved else value


def _moved(prefix: str, uri: str) -> str:
    if uri.startswith("ui://"):
        return f"ui://{prefix}.{uri[5:]}"
    return f"rem://{prefix}/{quote(uri, safe='')}"


def _rewrite(value: Any, moved: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_rewrite(item, moved) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: moved.get(item, item)
        if key in ("uri", "resourceUri") and isinstance(item, str)
        else item
        if key in _NOT_OURS
        else _rewrite(item, moved)
        for key, item in value.items()
    }


URI_CHARS, TEMPLATE_VARIABLES = 2048, 8
_NOT_OURS = frozenset({"structuredContent", "inputSchema", "outputSchema", "annotations"})
_EXPRESSION = re.compile(r"\{([+#./;?&]?)[^{}]*\}")
_MATCHES = {"": "[^/]+", "+": ".+", "#": "#.+", ".": r"(?:\..+)?", "/": "(?:/.+)?", ";": "(?:;.+)?",
            "?": r"(?:\?.*)?", "&": "(?:&.*)?"}  # fmt: skip


def template_matches(template: str, uri: str) -> bool:
    if len(uri) > URI_CHARS or template.count("{") > TEMPLATE_VARIABLES:
        return False  # matching would take longer than anybody means it to
    pattern, end = "", 0
    for match in _EXPRESSION.finditer(template):
        pattern += re.escape(template[end : match.start()]) + _MATCHES[match[1]]
        end = match.end()
    return re.fullmatch(pattern + re.escape(template[end:]), uri, re.DOTALL) is not None
