"""The best of a text for a question: what `read_more` gives when it is asked in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from remora.gateway.compression.detect import Hints
from remora.gateway.compression.formats import json as documents
from remora.gateway.compression.formats import table as tables
from remora.gateway.compression.formats.layouts import layout_of
from remora.gateway.compression.formats.values import Unfaithful, dump, parse
from remora.gateway.compression.job import ranked
from remora.gateway.compression.lines import LONG, Piece, partial
from remora.gateway.compression.sections import join
from remora.gateway.compression.strategies import extract_fields, truncate

DENSE, BRIEF = 100.0, 0.5  # length and exponent of the preference for short units: more answers find room
REPEATED = 40  # characters of a sentence that is not said twice


def search(text: str, kind: str, question: str, limit: int, seen: str = "") -> str:
    """The best units for a question in score order, within `limit` characters, without what `seen` shows already."""
    value = None
    if kind == "json":
        try:
            value = parse(text)
        except (ValueError, Unfaithful):
            value = None
    if isinstance(value, (dict, list)) and value:
        return _search_values(value, question, limit, seen)
    return _search_lines(text, kind, question, limit, seen)


def _search_lines(text: str, kind: str, question: str, limit: int, seen: str) -> str:
    import numpy as np

    lines = text.split("\n")
    layout = replace(layout_of(kind, lines, Hints()), lines=lines)  # its structure, but every line as it is stored
    units, score, _ = truncate.scored(layout, question)
    shown = {_bare(line) for line in seen.split("\n")}
    first_of = truncate.firsts(units)
    chosen: dict[int, list[int]] = {}
    told: set[str] = set()
    total = 0
    left = limit - 40

    def take(i: int) -> None:
        nonlocal left
        unit = units[i]
        said = _sentences(lines[unit.line][unit.start : unit.end])
        new = sum(len(s) for s in said if s not in told)
        cost = new + 8 + 16 * (new < len(lines[unit.line]))
        if cost <= left:
            left -= cost
            told.update(s for s in said if len(s) >= REPEATED)
            chosen.setdefault(unit.line, []).append(i)

    size = np.array([u.end - u.start for u in units])
    for i in ranked(score * (1 + size / DENSE) ** -BRIEF):
        unit = units[i]
        if not lines[unit.line].strip() or _bare(lines[unit.line]) in shown:
            continue
        total += 1
        if i in chosen.get(unit.line, ()):
            continue
        take(i)
        if unit.line in chosen:  # whose value it is
            for line in layout.company(unit.line):
                if line not in chosen:
                    take(first_of[line])
    best = {line: max(float(score[i]) for i in mine) for line, mine in chosen.items()}
    out = []
    told.clear()
    for block in sorted(_blocks(sorted(chosen)), key=lambda b: -max(best[line] for line in b)):
        for line in block:
            parts = [units[i] for i in sorted(chosen[line])]
            out.append(f"{line + 1}:{partial(lines[line], _new(lines[line], parts, told))}")
    return "\n".join([*out, f"[rem: {len(out):,} of {total:,} lines]"])[:limit] if out else ""


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.?!] )", text)


def _new(line: str, parts: Sequence[Piece], told: set[str]) -> list[Piece]:
    """The parts without the sentences other lines have said already: messages of tools repeat their advice."""
    found: list[Piece] = []
    for part in parts:
        at = part.start
        for said in _sentences(line[part.start : part.end]):
            if said not in told:
                found.append(Piece(part.line, at, at + len(said)))
            at += len(said)
            if len(said) >= REPEATED:
                told.add(said)
    return found


def _bare(line: str) -> str:
    return " ".join(re.sub(r"^\d+[,;\t|]", "", line).split())


def _blocks(lines: list[int]) -> list[list[int]]:
    found: list[list[int]] = []
    for line in lines:
        if found and line == found[-1][-1] + 1:
            found[-1].append(line)
        else:
            found.append([line])
    return found


def _search_values(value: Any, question: str, limit: int, seen: str) -> str:
    document = documents.Document(value)
    score, _ = extract_fields.scored(document, question)
    paths = _paths(document)
    out: list[str] = []
    left, total = limit - 40, 0
    named: set[int] = set()
    for i in document.values(ranked(score)):
        shown = _shown(document, i)
        if len(shown) > 12 and _inner(document, i, shown) in seen:
            continue
        total += 1
        node = document.nodes[document.units[i].node]
        line = f"{paths[document.units[i].node]}: {shown}"
        if node.kind == "row" and node.table is not None and node.parent not in named:
            named.add(node.parent)
            line = f"{paths[node.parent]}: {{{tables.head(node.table, len(node.table.cells))}}}\n{line}"
        if len(line) + 1 <= left:
            out.append(line)
            left -= len(line) + 1
    return "\n".join([*out, f"[rem: {len(out):,} of {total:,} values]"]) if out else ""


def _inner(document: documents.Document, unit: int, shown: str) -> str:
    """What of a value would stand in the text shown before."""
    node = document.nodes[document.units[unit].node]
    if node.kind == "row" and node.table is not None:
        return _cells(node.table, node.value)
    return f"{dump(node.key)}:{shown}" if node.key is not None else shown


def _cells(table: tables.Table, row: int) -> str:
    """A row as it stands in a table, long cells left to their own lines."""
    cells = (tables.cell_text(table, row, i) for i in table.varying)
    return "[" + ",".join(cell if len(cell) <= LONG + 2 else '"…"' for cell in cells) + "]"


def _shown(document: documents.Document, unit: int) -> str:
    node, piece = document.nodes[document.units[unit].node], document.units[unit].piece
    if piece >= 0:
        return dump(node.value[node.cuts[piece] : node.cuts[piece + 1]])
    if node.kind == "row" and node.table is not None:
        return _cells(node.table, node.value)
    return dump(node.value)


def _paths(document: documents.Document) -> list[str]:
    found: list[str] = []
    position: dict[int, int] = {}
    for node in document.nodes:
        if node.parent < 0:
            found.append("$")
            continue
        above = found[node.parent].removeprefix("$")
        if node.key is not None:
            found.append(join(above, node.key))
        elif node.column >= 0 and node.table is None:
            row = document.nodes[node.parent]
            found.append(join(above, row.table.columns[node.column] if row.table else ""))
        else:
            at = position.get(node.parent, 0)
            position[node.parent] = at + 1
            found.append(f"{above}[{at}]")
    return found
