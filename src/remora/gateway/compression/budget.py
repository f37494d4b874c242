"""How large an answer may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from remora.gateway.compression.tokens import estimate, factor

SLACK = 1.1
LEAST, MOST, NEVER_BELOW = 800, 25_000, 60  # tokens: clamp of ratio budgets; what a marker alone may always cost

# longest prefix wins; members joined by | share a window
WINDOWS: dict[str, int] = {
    "claude-opus": 200_000, "claude-sonnet": 200_000, "claude-haiku": 200_000, "gpt-4.1": 1_048_576,
    "gemini-2": 1_048_576, "gemini-3": 1_048_576, "gpt-5": 400_000, "codex": 400_000, "gpt-4o": 128_000,
    "o1": 200_000, "o1-mini": 128_000, "o3": 200_000, "o4-mini": 200_000, "llama-4-maverick": 1_000_000,
    "llama-4-scout": 512_000, "llama-4": 512_000, "qwen3": 131_072, "deepseek-": 131_072, "mistral-large": 131_072,
    "codestral": 262_144, "command-a": 262_144,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of body and marker together; None: no such limit. `slack`: a little more may pass untouched."""

    chars: int | None = None
    tokens: int | None = None
    slack: bool = False

    def fits(self, text: str, kind: str, model: str = "", chars_per_token: float = 0.0, slack: bool = False) -> bool:
        more = SLACK if slack and self.slack else 1.0
        if self.chars is not None and len(text) > self.chars * more:
            return False
        return self.tokens is None or estimate(text, kind, model, chars_per_token) <= self.tokens * more

    def in_chars(self, kind: str, model: str = "", chars_per_token: float = 0.0) -> int:
        """The limit in characters of plain text; other scripts are checked after assembly."""
        limits = [self.chars] if self.chars is not None else []
        if self.tokens is not None:
            limits.append(int(self.tokens * factor(kind, model, chars_per_token)))
        return min(limits, default=1 << 60)


def window(model: str, extra: Mapping[str, int] | None = None) -> int | None:
    """Context window of a model by the longest known prefix of its name; None: unknown."""
    known = WINDOWS | dict(extra or {})
    name = model.lower().rsplit("/", 1)[-1]
    fitting = [p for p in known if name.startswith(p.lower())]
    return known[max(fitting, key=len)] if fitting else None


def tier(size: int | None) -> int:
    """Default budget in tokens for a window of that size."""
    if size is None:
        return 4_500
    return 1_600 if size <= 32_768 else 4_500 if size <= 200_000 else 10_000


def by_model(model: str, ratio: float = 0.0, extra: Mapping[str, int] | None = None) -> Budget:
    """The budget when nobody set one: a share of the window, else its tier; both with slack."""
    size = window(model, extra)
    if ratio > 0 and size is not None:
        return Budget(tokens=min(MOST, max(LEAST, int(ratio * size))), slack=True)
    return Budget(tokens=tier(size), slack=True)
