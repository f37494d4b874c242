"""Aligned Markdown tables: readable on a terminal, and pasted into a document as they are."""

from __future__ import annotations

from collections.abc import Sequence


def render(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in (head, rule, *rows)
    )


def times(value: float, base: float) -> str:
    return f"{value / base:.2f} x" if value < 10 * base else f"{value / base:.0f} x"
