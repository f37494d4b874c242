"""The project of a session and its `.remora/project.toml`, which may only restrict what is served."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from remora.config.check import check
from remora.config.load import Loaded
from remora.config.model import CatalogMode, Config, Structured
from remora.config.outline import dotted, outline
from remora.config.problems import InvalidConfig, Problem
from remora.config.section import Section, Words
from remora.config.source import parse, read_text

PROJECT_FILE = Path(".remora", "project.toml")


class ProjectName(Section):
    name: str = Field(default="", description="Name of the project; empty = that of its folder.")


class ProjectServers(Section):
    enabled: Words | None = Field(default=None, description="Only these servers are served here.")
    disabled: Words = Field(default=(), description="These servers are not served here.")


class ProjectTools(Section):
    hidden: Words = Field(default=(), description="Served tool names not seen here; patterns with `*`.")


class ProjectCatalog(Section):
    mode: CatalogMode | None = Field(default=None, description="As catalog.mode.")
    max_description_chars: int | None = Field(default=None, ge=0, description="As catalog.max_description_chars.")
    advertise_context_query: bool | None = Field(default=None, description="As catalog.advertise_context_query.")


class ProjectPipeline(Section):
    structured: Structured | None = Field(default=None, description='As pipeline.structured; only "drop" has effect.')


class ProjectConfig(Section):
    """Everything that .remora/project.toml can say."""

    project: ProjectName = Field(default=ProjectName.model_construct(), description="The project itself.")
    servers: ProjectServers = Field(default=ProjectServers.model_construct(), description="Which servers are served.")
    tools: ProjectTools = Field(default=ProjectTools.model_construct(), description="Which tools are not.")
    catalog: ProjectCatalog = Field(default=ProjectCatalog.model_construct(), description="How tools are listed.")
    pipeline: ProjectPipeline = Field(default=ProjectPipeline.model_construct(), description="What happens to results.")


@dataclass(frozen=True, slots=True)
class Project:
    """What a project file asks for; one that is missing or invalid asks for nothing."""

    root: Path
    settings: ProjectConfig
    problems: tuple[Problem, ...] = ()
    """Why the file is ignored as a whole."""
    notes: tuple[str, ...] = ()
    """Parts of the file that have no effect, and why."""

    @property
    def name(self) -> str:
        return self.settings.project.name or self.root.name

    def serves(self, server: str) -> bool:
        asked = self.settings.servers
        allowed = asked.enabled is None or matches(asked.enabled, server)
        return allowed and not matches(asked.disabled, server)

    def hides(self, tool: str) -> bool:
        return matches(self.settings.tools.hidden, tool)

    def over(self, loaded: Loaded) -> Config:
        """The configuration as this project sees it; environment and flags are stronger than its file."""
        update: dict[str, Any] = {}
        for section in ("catalog", "pipeline"):
            asked = getattr(self.settings, section).model_dump(exclude_none=True)
            free = {key: asked[key] for key in asked if loaded.origins.get(f"{section}.{key}", "file") == "file"}
            if free:
                update[section] = getattr(loaded.config, section).model_copy(update=free)
        return loaded.config.model_copy(update=update) if update else loaded.config


def project_root(start: Path, home: Path) -> Path | None:
    """The nearest folder with a project file, else with `.git`, else the start itself.

    The user's home folder and the root of the file system are no project, whatever they hold.
    """
    start, home = start.resolve(), home.resolve()
    folders = [each for each in (start, *start.parents) if each not in (home, Path(each.anchor))]
    for mark in (PROJECT_FILE, Path(".git")):
        for folder in folders:
            if (folder / mark).exists():
                return folder
    return start if start in folders else None


def read_project(root: Path) -> Project:
    """Read the project's file. One with a mistake is ignored as a whole: half of a restriction is none."""
    path = root / PROJECT_FILE
    try:
        text = read_text(path)
        data = parse(text, path) if text else {}
    except InvalidConfig as invalid:
        return Project(root, ProjectConfig(), invalid.problems)
    lines = outline(text or "")
    notes = [f"{path}:{lines.line(key)}: {dotted(key)} {why}" for key, why in _beyond_restriction(data)]
    settings, issues = check(ProjectConfig, data)
    if issues:
        problems = [Problem(str(path), lines.line(i.path), dotted(i.path), i.message, i.hint) for i in issues]
        return Project(root, ProjectConfig(), tuple(problems))
    return Project(root, settings, notes=tuple(notes))


def matches(patterns: Iterable[str], name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def in_project(patterns: Iterable[str], root: Path | None, home: Path) -> bool:
    """Whether a server limited to these project folders is served in this one; `*` is everywhere."""
    for pattern in patterns:
        folder = str(home) + pattern[1:] if pattern == "~" or pattern.startswith("~/") else pattern
        if pattern == "*" or (root is not None and fnmatch.fnmatchcase(str(root), folder.rstrip("/") or "/")):
            return True
    return False


def _beyond_restriction(data: dict[str, Any]) -> list[tuple[tuple[str, ...], str]]:
    """Take out what a project file may say only once it is trusted, with a reason for each."""
    found: list[tuple[tuple[str, ...], str]] = []
    if isinstance(servers := data.get("servers"), dict):
        for name in [name for name, value in servers.items() if isinstance(value, dict)]:
            del servers[name]
            found.append((("servers", name), "has no effect: a project file cannot add servers"))
    if isinstance(pipeline := data.get("pipeline"), dict) and pipeline.get("structured") in ("auto", "preserve"):
        del pipeline["structured"]
        found.append((("pipeline", "structured"), 'has no effect: a project file can only set it to "drop"'))
    return found
