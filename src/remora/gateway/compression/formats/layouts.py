"""What each kind of text looks like: units, context, what always matters."""

from __future__ import annotations

from collections.abc import Sequence

from remora.gateway.compression.detect import Hints
from remora.gateway.compression.lines import Layout


def layout_of(kind: str, lines: Sequence[str], hints: Hints) -> Layout:
    """The lines of a text as its format sees them."""
    return Layout(lines, numbered=hints.file_read)
