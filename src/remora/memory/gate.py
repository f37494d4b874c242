"""What may never be stored as it is: secrets, and text that gives orders to the model."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from remora.errors import SecretFound
from remora.memory.engine import Engine

_ORDERS = re.compile(
    r"(?i)\b(?:ignore|disregard|forget)\s+(?:all\s+|any\s+|the\s+)?(?:previous|prior|above|earlier|your)\b.{0,40}\b(?:instructions?|prompts?|rules?)"
    r"|\byou are now\b|^\s*(?:system|assistant|developer)\s*:|<\s*/?\s*(?:system|tool_call|function_calls?|invoke)\b"
    r"|\bignorier\w*\s+(?:alle\s+)?(?:vorherigen|bisherigen|obigen)\b.{0,40}\b(?:anweisung|regel)",
    re.MULTILINE,
)
_REDACTED = re.compile(r"\[REDACTED:[^\]]*\]")


def without_secrets(engine: Engine, content: str, warnings: list[str]) -> str:
    """The text with secrets replaced; a text that is nothing else is refused."""
    clean, types = engine.redact(content)
    if not types:
        return content
    if engine.settings.secrets == "block" or not re.search(r"\w", _REDACTED.sub("", clean)):
        raise SecretFound(
            f"the text holds a secret ({', '.join(sorted(set(types)))})", hint="store where it is kept instead"
        )
    warnings.append(f"a secret was left out ({', '.join(sorted(set(types)))})")
    return clean


def clean_values(engine: Engine, value: Any, warnings: list[str]) -> Any:
    """The same for every text inside metadata, tags and provenance."""
    if isinstance(value, str):
        clean, types = engine.redact(value)
        if types:
            warnings.append(f"a secret was left out ({', '.join(sorted(set(types)))})")
        return clean
    if isinstance(value, Mapping):
        return {name: clean_values(engine, item, warnings) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(clean_values(engine, item, warnings) for item in value)
    return value


def gives_orders(text: str) -> bool:
    """Content that addresses the model as an authority, or hides characters to do so."""
    hidden = sum(unicodedata.category(char) == "Cf" and 0xE0000 <= ord(char) <= 0xE007F for char in text[:20_000])
    return hidden > 0 or _ORDERS.search(text) is not None
