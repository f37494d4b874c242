"""What one kind of session sees of the catalog: filtered by project and profile, rendered in its mode."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from remora.config.model import CatalogConfig, Config, ProfileConfig, ServerConfig
from remora.config.project import Project, in_project, matches
from remora.gateway.catalog import Catalog, Entry, Source, template_matches
from remora.gateway.metadata import slim

Definition = dict[str, Any]
INSTRUCTIONS = (
    "Remora serves the tools of several servers under one connection; a tool's name begins with its server's prefix. "
    'The tool "remora" tells which servers are up (action "health"), what was saved ("stats"), and the full '
    'definition of a tool ("describe_tool"). Tools accept an optional string argument "_context_query": say in it '
    "what you are looking for."
)
SERVER_TEXT, ALL_TEXT = 1000, 4000
CONTEXT_QUERY = {"type": "string", "description": "What you want to learn from this call, in a few words."}
LAZY_TOOLS: list[Definition] = [
    {
        "name": "find_tools",
        "description": "Find tools by what they do. Returns names, signatures and one sentence each.",
        "inputSchema": {
            "type": "object",
            "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1, "maximum": 50}},
            "required": ["query"],
        },
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "call_read_tool",
        "description": "Call a read-only tool that find_tools named.",
        "inputSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
            "required": ["name"],
        },
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "call_tool",
        "description": "Call any tool that find_tools named.",
        "inputSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
            "required": ["name"],
        },
    },
]
LAZY_NAMES = frozenset(tool["name"] for tool in LAZY_TOOLS)


@dataclass(frozen=True, slots=True)
class Filter:
    """Who is left out, by the session's profile and project."""

    profile: ProfileConfig | None
    project: Project | None
    home: Path

    def reason(self, source: Source) -> str | None:
        """Why a server is not seen, or None."""
        if not in_project(source.settings.projects, self.project.root if self.project else None, self.home):
            return "its `projects` do not match"
        if self.profile is not None and not matches(self.profile.servers, source.name):
            return "the profile does not name it"
        if self.project is not None and not self.project.serves(source.name):
            return "the project file leaves it out"
        return None

    def hides(self, entry: Entry) -> bool:
        return (
            (entry.override is not None and entry.override.hidden)
            or (self.profile is not None and matches(self.profile.hidden, entry.served))
            or (self.project is not None and self.project.hides(entry.served))
        )


@dataclass(slots=True)
class View:
    tools: list[Definition] = field(default_factory=list)
    prompts: list[Definition] = field(default_factory=list)
    resources: list[Definition] = field(default_factory=list)
    templates: list[Definition] = field(default_factory=list)
    callable: dict[str, Entry] = field(default_factory=dict)
    unlisted: list[Entry] = field(default_factory=list)
    prompt_entries: dict[str, Entry] = field(default_factory=dict)
    resource_entries: dict[str, Entry] = field(default_factory=dict)
    template_entries: list[Entry] = field(default_factory=list)
    settings: dict[str, ServerConfig] = field(default_factory=dict)
    instructions: str = ""

    @property
    def lazy(self) -> bool:
        return bool(self.unlisted)

    @property
    def servers(self) -> list[str]:
        return list(self.settings)

    def drops_structured(self, entry: Entry) -> bool:
        override = entry.override.structured if entry.override else None
        return (override or self.settings[entry.source.name].structured) == "drop"

    def find_resource(self, uri: str) -> Entry | None:
        """The entry that serves a URI: listed, or matched by the templates of one server alone."""
        if entry := self.resource_entries.get(uri):
            return entry
        matching = [entry for entry in self.template_entries if template_matches(entry.original, uri)]
        return matching[0] if len({entry.source.name for entry in matching}) == 1 else None


def build(
    catalog: Catalog, rules: Filter, config: Config, own: Sequence[Definition], mode: str, screen: Callable[[str], bool]
) -> View:
    """`mode` overrides every server's own where it is not empty; `screen` tells which instructions may pass."""
    view = View()
    seen = {source.name: source for source in catalog.sources if rules.reason(source) is None}
    view.settings = {name: config.server(name) for name in seen}
    listed: list[Definition] = []
    for entry in catalog.tools.values():
        if entry.source.name not in seen or rules.hides(entry):
            continue
        view.callable[entry.served] = entry
        how = mode or view.settings[entry.source.name].catalog_mode
        if how == "lazy":
            view.unlisted.append(entry)
        else:
            listed.append(catalog.rewrite(entry.source.name, render(entry, how, view, config.catalog)))
    ours = [*own, *(LAZY_TOOLS if view.unlisted else [])]
    view.tools = [_load_always(tool, config.catalog.always_load) for tool in (*ours, *listed)]
    for entry in catalog.prompts.values():
        if entry.source.name in seen:
            view.prompts.append({**entry.definition, "name": entry.served})
            view.prompt_entries[entry.served] = entry
    for entry in catalog.resources.values():
        if entry.source.name in seen:
            view.resources.append({**entry.definition, "uri": entry.served})
            view.resource_entries[entry.served] = entry
    view.template_entries = [entry for entry in catalog.templates if entry.source.name in seen]
    view.templates = [entry.definition for entry in view.template_entries]
    view.instructions = _instructions(seen.values(), screen)
    return view


def render(entry: Entry, mode: str, view: View, config: CatalogConfig) -> Definition:
    """A tool as it is listed: its own definition under the served name, with the overrides of the configuration."""
    made = {**entry.definition, "name": entry.served}
    override = entry.override
    if override is not None:
        made |= {key: text for key in ("description", "title") if (text := getattr(override, key))}
        if override.annotations:
            made["annotations"] = {**(made.get("annotations") or {}), **override.annotations}
    if view.drops_structured(entry):
        made.pop("outputSchema", None)
    if mode == "slim":
        made = slim(made, view.settings[entry.source.name].max_description_chars)
    if config.description_tag:
        made["description"] = f"{config.description_tag}{made.get('description', '')}"
    if config.title_tag:
        made["title"] = f"{entry.source.prefix}: {made.get('title') or entry.original}"
    if config.advertise_context_query and takes_context_query(entry):
        schema = made["inputSchema"]
        made["inputSchema"] = {
            **schema,
            "properties": {**schema.get("properties", {}), "_context_query": CONTEXT_QUERY},
        }
    return made


def takes_context_query(entry: Entry) -> bool:
    """Whether `_context_query` is ours to read: not when the tool has an argument of that name itself."""
    schema = entry.definition.get("inputSchema")
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        return False
    properties = schema.get("properties")
    return not (isinstance(properties, Mapping) and "_context_query" in properties)


def _load_always(tool: Definition, names: Sequence[str]) -> Definition:
    if tool["name"] not in names:
        return tool
    return {**tool, "_meta": {**(tool.get("_meta") or {}), "anthropic/alwaysLoad": True}}


def _instructions(sources: Iterable[Source], screen: Callable[[str], bool]) -> str:
    parts, room = [INSTRUCTIONS], ALL_TEXT
    for source in sources:
        text = source.manifest.instructions.strip()
        if not text or not source.settings.instructions or not screen(text):
            continue
        text = text[: min(SERVER_TEXT, room)]
        if text:
            parts.append(f"## {source.prefix}\n{text}")
            room -= len(text)
    return "\n\n".join(parts)
