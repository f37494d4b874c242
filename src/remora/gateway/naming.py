"""Served names: `prefix__tool`, short enough for every client, the same after every restart."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable

COMPOSED_LIMIT = 64
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


class Names:
    """Hands out names in catalog order; `taken` are those nobody may shadow."""

    def __init__(self, client_names: Iterable[str], taken: Iterable[str]) -> None:
        # What clients compose: mcp__{client}__{prefix}__{tool}
        self._overhead = max(len(f"mcp__{name}__") for name in client_names)
        self._taken = set(taken)

    def serve(self, server: str, prefix: str, original: str, *, bare: bool = False) -> str:
        fits = len(original) <= COMPOSED_LIMIT - self._overhead and not _FOREIGN.search(original)
        if bare and fits and original not in self._taken:
            self._taken.add(original)
            return original
        room = COMPOSED_LIMIT - self._overhead - len(prefix) - 2
        tool = original
        if len(original) > room or _FOREIGN.search(original) or f"{prefix}__{tool}" in self._taken:
            tool = _shorten(server, original, room, 6)
            if f"{prefix}__{tool}" in self._taken:
                tool = _shorten(server, original, room, 10)
        name = f"{prefix}__{tool}"
        self._taken.add(name)
        return name


def _shorten(server: str, original: str, room: int, digits: int) -> str:
    digest = base64.b32encode(hashlib.sha256(f"{server}\0{original}".encode()).digest()).decode().lower()
    return f"{_FOREIGN.sub('_', original)[: max(0, room - digits - 1)]}_{digest[:digits]}"
