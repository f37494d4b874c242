"""What kinds of memory there are, and what follows from a kind."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from remora.errors import ConfigError

BUILT_IN: Mapping[str, tuple[str, ...]] = {
    "fact": ("preference", "convention"),
    "event": ("incident", "deployment"),
    "lesson": ("procedure", "warning"),
    "observation": (
        "code_edit", "file_access", "search", "command", "conversation", "conversation_turn", "session", "document",
        "note", "reference", "user_correction", "tool_outcome", "preference_signal",
    ),
    "decision": ("architecture", "tool_choice", "approach", "configuration"),
    "learning": ("insight", "best_practice", "anti_pattern", "gotcha"),
    "error": ("bug", "failure", "exception", "timeout", "mistake"),
    "pattern": ("recurring_issue", "code_smell", "design_pattern", "workflow"),
    "planning": (
        "sprint_goal", "backlog_item", "story_point_estimate", "velocity", "retrospective", "standup_note",
        "acceptance_criteria",
    ),
    "ceremony": ("sprint_review", "sprint_planning", "daily_standup", "retrospective_action", "demo_feedback"),
    "milestone": ("deliverable", "dependency", "risk", "constraint", "assumption", "deadline"),
    "stakeholder": ("requirement", "feedback", "escalation", "approval", "change_request", "status_update"),
    "meeting": ("action_item", "attendee_note", "agenda_item", "follow_up", "minutes"),
    "research": ("finding", "comparison", "recommendation", "source", "hypothesis"),
    "communication": ("email_summary", "chat_summary", "announcement", "request", "response"),
}  # fmt: skip
LEGACY = {"task": "observation", "standard": "observation", "pref": "preference"}
DURABLE = {
    "fact",
    "lesson",
    "decision",
    "learning",
    "pattern",
    "mistake",
    "constraint",
    "requirement",
    "reference",
    "document",
}
EPHEMERAL = {
    "session", "conversation", "conversation_turn", "command", "search", "file_access", "tool_outcome", "standup_note",
    "status_update",
}  # fmt: skip
# A statement of one of these may replace a statement of another.
FAMILY = {"fact", "decision", "convention", "preference", "configuration"}
# Rows of a stream: alike on purpose, never merged or corrected by likeness.
STREAMED = {"session", "conversation", "conversation_turn", "document"}
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind as it is stored; `requested` is what the caller wrote when that was unknown."""

    kind: str
    base: str
    requested: str | None = None
    warning: str | None = None


class Ontology:
    """The built-in kinds and those of the configuration."""

    def __init__(self, custom: Mapping[str, Sequence[str]] | None = None) -> None:
        self._base = {kind: base for base, kinds in BUILT_IN.items() for kind in (base, *kinds)}
        for base, kinds in (custom or {}).items():
            for kind in (base, *kinds):
                self._add(_canonical(kind), _canonical(base))

    def _add(self, kind: str, base: str) -> None:
        if not _NAME.fullmatch(kind):
            raise ConfigError(f'memory.custom_types: "{kind}" is not a name (letters, digits, _ and -)')
        owner = self._base.get(kind, base)
        if owner != base and kind != base:
            raise ConfigError(f'memory.custom_types: "{kind}" belongs to "{owner}" already, not to "{base}"')
        self._base.setdefault(kind, base)

    def kinds(self) -> list[str]:
        return sorted(self._base)

    def base(self, kind: str) -> str:
        return self._base.get(kind, "observation")

    def place(self, requested: str) -> Kind:
        """The stored form of a kind; an unknown one becomes an observation, with a warning."""
        name = _canonical(requested)
        name = LEGACY.get(name, name)
        if name in self._base:
            return Kind(name, self._base[name])
        warning = f'kind "{requested}" is unknown, stored as "observation"; add it under memory.custom_types'
        return Kind("observation", "observation", requested.strip(), warning)

    def volatility(self, kind: str) -> Literal["durable", "episodic", "ephemeral"]:
        base = self.base(kind)
        if kind in EPHEMERAL:
            return "ephemeral"
        return "durable" if kind in DURABLE or base in DURABLE else "episodic"


def family(kind: str) -> str:
    """Kinds of one family state the same sort of thing."""
    return "fact" if kind in FAMILY else kind


def _canonical(name: str) -> str:
    return re.sub(r"\s+", "_", name.strip().lower())
