"""Remora rides between an AI agent and its tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from remora.gateway.compression.auto import compress as compress
    from remora.memory.api import AsyncMemory as AsyncMemory
    from remora.memory.plain import Memory as Memory
    from remora.memory.records import MemoryRecord as MemoryRecord

_PLACES = {
    "compress": "remora.gateway.compression.auto",
    "Memory": "remora.memory.plain",
    "AsyncMemory": "remora.memory.api",
    "MemoryRecord": "remora.memory.records",
}


def __getattr__(name: str) -> Any:
    """The public names, imported when they are first asked for: `remora --help` needs none of them."""
    if name in _PLACES:
        from importlib import import_module

        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
