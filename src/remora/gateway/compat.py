"""Looking like another gateway to clients that were told to expect it: proxied tools as memtomem-stm lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remora.config.model import Config
    from remora.gateway.session import ViewKey
    from remora.gateway.view import View

SUFFIXES = {
    "selective": " | TOC response: use stm_proxy_select_chunks",
    "progressive": " | Chunked: use stm_proxy_read_more for more",
    "hybrid": " | Head+TOC: use stm_proxy_select_chunks",
}


def active(config: Config, key: ViewKey) -> frozenset[str]:
    """The profiles of a session: its own, those of its profile, and everybody's."""
    profile = config.profiles.get(key.profile)
    return frozenset((*key.compat, *config.compat, *(profile.compat if profile else ())))


def dress(view: View) -> None:
    """Proxied tools say that they are, whose they are, and how their answers are read on."""
    view.tools = [_dressed(view, tool) for tool in view.tools]


def _dressed(view: View, tool: dict[str, Any]) -> dict[str, Any]:
    entry = view.callable.get(tool["name"])
    if entry is None or tool["name"] in view.own:
        return tool
    suffix = SUFFIXES.get(view.results(entry).strategy, "")
    made = {**tool, "description": f"[proxied] {tool.get('description') or ''}{suffix}"}
    notes = tool.get("annotations")
    if isinstance(notes, dict) and isinstance(title := notes.get("title"), str):
        made["annotations"] = {**notes, "title": f"[{entry.source.name}] {title}"}
    return made
