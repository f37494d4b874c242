"""How many tokens a text costs, estimated without a tokenizer (it is checked against real ones in the tests)."""

from __future__ import annotations

import re

# characters per token of ASCII text, by type: (o200k family, claude family)
FACTORS: dict[str, tuple[float, float]] = {
    "python": (5.2, 3.05), "code": (4.3, 2.65), "markdown": (3.9, 2.55), "prose": (3.9, 2.55), "html": (3.0, 2.3),
    "xml": (3.0, 2.3), "json": (3.2, 2.2), "json_min": (2.4, 1.75), "ndjson": (2.4, 1.75), "diff": (3.5, 2.2),
    "csv": (1.75, 1.5), "log": (2.15, 1.8), "test": (2.5, 2.35), "listing": (2.7, 1.75), "table": (2.7, 1.75),
    "snapshot": (2.6, 1.95), "grep": (4.5, 2.55), "yaml": (3.2, 2.2), "unknown": (3.0, 2.2),
}  # fmt: skip
# tokens per character outside ASCII: (o200k, claude)
_BLOCKS = (
    (re.compile("[\uac00-\ud7af\u1100-\u11ff\u3130-\u318f]+"), (0.75, 1.25)),
    (re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"), (0.85, 1.4)),
    (re.compile("[\u3040-\u30ff\u31f0-\u31ff]+"), (0.75, 1.0)),
)
_OTHER = (0.45, 0.6)
_O200K = ("gpt", "o1", "o3", "o4", "codex", "chatgpt")


def family(model: str = "") -> int:
    """Column of the tables: 0 for OpenAI's vocabulary, 1 for Claude's, which is also the cautious one."""
    return 0 if model.lower().startswith(_O200K) else 1


def factor(kind: str, model: str = "", chars_per_token: float = 0.0) -> float:
    return chars_per_token or FACTORS.get(kind, FACTORS["unknown"])[family(model)]


def estimate(text: str, kind: str = "unknown", model: str = "", chars_per_token: float = 0.0) -> int:
    """Estimated tokens of `text`; pure, a few milliseconds a megabyte."""
    if not text:
        return 0
    per = factor(kind, model, chars_per_token)
    if text.isascii():
        return max(1, round(len(text) / per))
    column, wide, cost = family(model), 0, 0.0
    for pattern, rates in _BLOCKS:
        count = sum(map(len, pattern.findall(text)))
        wide += count
        cost += count * rates[column]
    plain = len(text.encode("ascii", "ignore"))
    return max(1, round(plain / per + cost + (len(text) - plain - wide) * _OTHER[column]))
