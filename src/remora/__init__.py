"""Remora rides between an AI agent and its tools."""

from typing import Any

__version__ = "0.1.0"
__all__ = ["__version__", "compress"]


def __getattr__(name: str) -> Any:
    """Public functions, imported when first used."""
    if name == "compress":
        from remora.gateway.compression.auto import compress

        return compress
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
