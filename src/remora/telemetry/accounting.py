"""What the recorded calls add up to: the figures of `remora stats`."""

from __future__ import annotations

from typing import Literal, get_args

ESTIMATOR = "estimated (UTF-8 bytes / 4)"
GroupBy = Literal["server", "tool", "client", "project", "strategy", "day"]
GROUPS: tuple[str, ...] = get_args(GroupBy)


def tokens_of_bytes(size: int) -> int:
    """Four bytes a token holds for English (four letters) and for Chinese, Japanese and Korean (1.3 signs) alike."""
    return (size + 3) // 4


def estimate_tokens(text: str) -> int:
    return tokens_of_bytes(len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")))
