"""The one open memory of a process: opened when something is first asked of it, seen by each project as its own."""

from __future__ import annotations

import asyncio
import configparser
import hashlib
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from remora.config.expand import expand
from remora.config.model import Config
from remora.config.project import read_project
from remora.model.ops import Actor

if TYPE_CHECKING:
    from remora.memory.engine import Engine, Settings

log = logging.getLogger(__name__)
SWEEP_SECONDS = 3600.0
_SCP = re.compile(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)")


class MemoryRoom:
    """Opens nothing before it is used, and closes what it opened."""

    def __init__(
        self, path: Path, config: Callable[[], Config], environ: Mapping[str, str], *, sweeps: bool = False
    ) -> None:
        self.path = path
        self._config = config
        self._environ = environ
        self._sweeps = sweeps
        self._engine: Engine | None = None
        self._opening = asyncio.Lock()
        self._sweeper: asyncio.Task[None] | None = None
        self._namespaces: dict[Path, str] = {}

    @property
    def user_home(self) -> Path:
        """The user's home folder, which is no project."""
        return Path(self._environ.get("HOME") or Path.home())

    @property
    def recall_tokens(self) -> int:
        return self._config().memory.recall.max_tokens

    async def engine(self, project: Path | None = None, session: str | None = None) -> Engine:
        """The memory as this project sees it, with the settings of now."""
        from remora.memory.ontology import Ontology

        async with self._opening:
            if self._engine is None:
                self._engine = await self._open()
        base = self._engine
        settings = settings_of(self._config(), self._namespace(project))
        if session is not None and (self._config().memory.incognito or _on(self._environ.get("REMORA_INCOGNITO"))):
            base.incognito.add(session)
        same = settings.custom_types == base.settings.custom_types
        return replace(base, settings=settings, ontology=base.ontology if same else Ontology(settings.custom_types))

    async def _open(self) -> Engine:
        from remora.embedding.embedder import open_embedder
        from remora.memory.opening import open_engine

        config = self._config()
        chosen = config.embedding
        key = expand(chosen.api_key, self._environ) if chosen.api_key else None
        embedder = open_embedder(
            chosen.provider, chosen.model, chosen.url or None, api_key=key,
            path=Path(chosen.path).expanduser() if chosen.path else None,
        )  # fmt: skip
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        engine = await open_engine(self.path, settings=settings_of(config, "global"), embedder=embedder)
        if self._sweeps:
            self._sweeper = asyncio.get_running_loop().create_task(self._sweep(engine), name="memory sweep")
        return engine

    def _namespace(self, project: Path | None) -> str:
        chosen = self._config().memory.default_namespace
        if chosen != "auto":
            return chosen
        if project is None:
            return "global"
        if project not in self._namespaces:
            self._namespaces[project] = namespace_of(project)
        return self._namespaces[project]

    async def _sweep(self, engine: Engine) -> None:
        from remora.memory import care

        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                await care.sweep(replace(engine, settings=settings_of(self._config(), "global")), Actor(door="sweep"))
            except Exception:  # root of a background task: the next hour tries again
                log.warning("the memory could not be swept", exc_info=True)

    async def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
        if self._engine is not None:
            from remora.memory.opening import close_engine

            engine, self._engine = self._engine, None
            await close_engine(engine)


def settings_of(config: Config, namespace: str) -> Settings:
    """The configuration in the words of the memory."""
    from remora.memory.engine import Settings

    memory, time = config.memory, config.time
    return Settings(
        mode=memory.mode,
        namespace=namespace,
        read_namespaces=memory.read_namespaces,
        max_content_chars=memory.max_content_chars,
        secrets=memory.secrets,
        dedup=memory.dedup.enabled,
        dedup_cosine=memory.dedup.cosine,
        dedup_jaccard=memory.dedup.jaccard,
        auto_supersede=memory.dedup.auto_supersede,
        purge_after_days=memory.purge_after_days,
        pending_days=memory.pending_days,
        custom_types=memory.custom_types,
        zone=time.zone or None,
        locales=time.locales,
        date_order=time.date_order,
        week_start=time.week_start,
        hemisphere=time.hemisphere,
    )


def namespace_of(root: Path) -> str:
    """A project's namespace: its own name, else where its code comes from, else its folder."""
    if name := read_project(root).settings.project.name:
        return _plain(name)
    if origin := _origin(root):
        return _plain(origin)
    digest = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:8]
    return _plain(f"dir:{root.name}-{digest}")


def _origin(root: Path) -> str | None:
    """`host/owner/repository` of the remote called origin; git itself is not needed."""
    git = root / ".git"
    try:
        if git.is_file():  # a worktree: its settings are those of the repository it belongs to
            git = (root / git.read_text().removeprefix("gitdir:").strip()).resolve()
            common = git / "commondir"
            git = (git / common.read_text().strip()).resolve() if common.is_file() else git
        text = (git / "config").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    found = configparser.ConfigParser(strict=False, interpolation=None, allow_no_value=True)
    try:
        found.read_string("\n".join(line.strip() for line in text.splitlines()))
    except configparser.Error:
        return None
    url = found.get('remote "origin"', "url", fallback=None)
    if not url:
        return None
    short = _SCP.fullmatch(url)
    place = f"{short[1]}/{short[2]}" if short else f"{urlsplit(url).hostname or ''}{urlsplit(url).path}"
    return place.strip("/").removesuffix(".git") or None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9._:/-]+", "-", name.lower()).lstrip("._:/-")[:128] or "global"


def _on(value: str | None) -> bool:
    return (value or "").lower() not in ("", "0", "off", "false", "no")
