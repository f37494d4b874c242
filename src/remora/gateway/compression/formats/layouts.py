"""Which lines matter by structure alone, and which give others their context: one function for each kind of text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from remora.gateway.compression.detect import Hints, csv_delimiter
from remora.gateway.compression.formats import diff, log, markdown, outline
from remora.gateway.compression.lines import Layout
from remora.gateway.compression.thin import candidates


def laid_out(text: str, kind: str, hints: Hints, query: str | None) -> Layout:
    """The lines of a text as its format sees them; of a very long one only those that could matter."""
    lines = text.split("\n")
    numbers = candidates(text, query)
    if numbers is None:
        return layout_of(kind, lines, hints)
    thinned = layout_of(kind, [lines[i] for i in numbers], hints, numbers)
    if thinned.indexed:  # the first line must count all rows
        thinned = replace(thinned, header=_rows_header(lines))
    return replace(thinned, numbers=numbers, total=len(lines))


def layout_of(kind: str, lines: Sequence[str], hints: Hints, numbers: Sequence[int] | None = None) -> Layout:
    """What the format knows about lines; those of files that were read stay as they are."""
    exact = hints.file_read
    match kind:
        case "python" | "code":
            return outline.code(lines, exact)
        case "yaml" | "xml":
            return outline.config(lines, exact)
        case "markdown" | "prose":
            return markdown.layout(lines, exact)
        case _ if exact:
            return Layout(lines, numbered=True)
        case "snapshot":
            return outline.snapshot(lines)
        case "diff":
            return diff.layout(lines)
        case "log" | "test" | "gitlog":
            return log.layout(lines)
        case "table":
            return log.table(lines)
        case "csv":
            return rows(lines, numbers)
        case "grep":
            return Layout(lines, unit="hits")
        case "listing":
            return Layout([re.sub(r"(?<=\S) {3,}", "  ", line) for line in lines], unit="entries")
        case _:
            return Layout(lines, up=outline.parents(lines))


def rows(lines: Sequence[str], numbers: Sequence[int] | None) -> Layout:
    """CSV stays CSV: a `#` column carries the index of each row, cells keep their quoting."""
    mark = csv_delimiter([line for line in lines if line.strip()]) or ","
    whole = all(line.count('"') % 2 == 0 for line in lines)  # else a cell spans lines and numbers would mislead
    if not whole or not lines:
        return Layout(lines, unit="rows", first=[0])
    shown = [f"#{mark}{lines[0]}"]
    for at, line in enumerate(lines[1:], 1):
        i = (numbers[at] if numbers else at) - 1
        index = f'"{i}"' if line[:1].isdigit() else str(i)  # 12,345 would read as one number
        shown.append(f"{index}{mark}{line}" if line else "")
    return Layout(shown, unit="rows", first=[0], indexed=True, header=_rows_header(lines))


def _rows_header(lines: Sequence[str]) -> str:
    return f"# rem-table total={sum(1 for line in lines[1:] if line)}\n"
