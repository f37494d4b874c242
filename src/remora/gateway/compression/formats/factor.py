"""What the cells of whole columns share, said once: beginnings and ends, few values that repeat, one column in another.

Used for complete tables only: a table of chosen rows shows its cells as they stand in the source.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from remora.gateway.compression.formats.table import MISSING, Table, common_prefix, head, missing_text
from remora.gateway.compression.formats.values import Number, dump, joined

_WHOLE = re.compile(r"0|[1-9]\d{0,14}")
_BORDER = re.compile(r"[^\W_]*\Z")
CLEAR = 24  # characters a factor must save beside its own
FEW = 64  # values a reader can look up
BRIEF = 5  # characters; what is that short stays as it is


@dataclass(slots=True)
class Factors:
    """Per column name; a column in `same` has no cells of its own."""

    prefix: dict[str, str] = field(default_factory=dict)
    suffix: dict[str, str] = field(default_factory=dict)
    codes: dict[str, list[Any]] = field(default_factory=dict)
    same: dict[str, tuple[str, str, str]] = field(default_factory=dict)  # column, what stands before and after


def encode(table: Table) -> str:
    """The whole table in its shortest form."""
    columns = {table.columns[i]: [row[i] for row in table.cells] for i in table.varying}
    factors = Factors()
    for name, column in columns.items():
        found = _within(name, column, columns, factors)
        if found:
            factors.same[name] = found
    kept = [name for name in columns if name not in factors.same]
    values: list[Sequence[Any]] = []
    shown: list[list[str]] = []
    for name in kept:
        coded, texts = _column(name, columns[name], factors)
        values.append(coded)
        shown.append(texts)
    slim = Table([*kept, *table.constant], [], table.constant, factors.prefix)
    parts = [head(slim, len(table.cells))]
    if factors.suffix:
        parts.append(f'"suffix":{dump(factors.suffix)}')
    if factors.codes:
        parts.append(f'"codes":{dump(factors.codes)}')
    if factors.same:
        parts.append(f'"same":{dump({name: {of: [a, b]} for name, (of, a, b) in factors.same.items()})}')
    gone = missing_text(table, range(len(table.cells)))
    if gone:
        parts.append(gone)
    rows = zip(zip(*values, strict=True), zip(*shown, strict=True), strict=True)
    lines = [f"[{joined(row, texts)}]" for row, texts in rows] or ["[]"] * len(table.cells)
    body = ",\n".join(lines)
    parts.append(f'"rows":[{body}]')
    return "{" + ",".join(parts) + "}"


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, str) else None


def _within(
    name: str, column: Sequence[Any], columns: dict[str, list[Any]], factors: Factors
) -> tuple[str, str, str] | None:
    """Another column that stands in every cell of this one, and what is around it."""
    if any(not isinstance(v, str) or isinstance(v, Number) for v in column):
        return None
    taken = {of for of, _, _ in factors.same.values()}
    if name in taken:
        return None
    for other, cells in columns.items():
        inner = _text(cells[0])
        if other == name or other in factors.same or not inner:
            continue
        at = column[0].find(inner)
        while at >= 0:
            before, after = column[0][:at], column[0][at + len(inner) :]
            if all(isinstance(c, str) and v == f"{before}{c}{after}" for v, c in zip(column, cells, strict=True)):
                return other, before, after
            at = column[0].find(inner, at + 1)
    return None


def _column(name: str, column: Sequence[Any], factors: Factors) -> tuple[Sequence[Any], list[str]]:
    """The cells of one column as values and as they are written, its factors noted."""
    plain = [dump(None if v is MISSING else v) for v in column]
    size = sum(map(len, plain))
    count = Counter(plain)
    first = {text: i for i, text in reversed(list(enumerate(plain)))}
    order = sorted(count, key=lambda text: (-count[text], first[text]))
    code = {text: str(i) for i, text in enumerate(order)}
    by_code = sum(len(code[text]) * n for text, n in count.items()) + sum(map(len, order)) + len(order) + len(name) + 6
    texts, parted, prefix, suffix = plain, size, "", ""
    if all(isinstance(v, str) and not isinstance(v, Number) for v in column):
        prefix, suffix = _ends(column)
        inner = [v[len(prefix) : len(v) - len(suffix)] for v in column]
        whole = all(_WHOLE.fullmatch(v) for v in inner) and bool(prefix or suffix)
        texts = inner if whole else list(map(dump, inner))
        parted = sum(map(len, texts)) + len(dump(prefix)) + len(dump(suffix)) + 2 * len(name) + 12
    few = len(order) <= min(FEW, len(column) // 3) and max(map(len, order)) > BRIEF
    if few and by_code + CLEAR <= min(size, parted):
        factors.codes[name] = [column[first[text]] if column[first[text]] is not MISSING else None for text in order]
        return [Number(code[text]) for text in plain], [code[text] for text in plain]
    if parted + CLEAR > size:
        return column, plain
    factors.prefix |= {name: prefix} if prefix else {}
    factors.suffix |= {name: suffix} if suffix else {}
    return [Number(t) if t[0] != '"' else t for t in texts], texts


def _ends(column: Sequence[str]) -> tuple[str, str]:
    """What all cells begin and end with, up to a border of words: a factor does not cut a word or a number."""
    prefix = common_prefix(column)
    prefix = prefix[: len(prefix) - len(_BORDER.search(prefix)[0])]  # type: ignore[index]
    suffix = common_prefix([v[len(prefix) :][::-1] for v in column])
    suffix = suffix[: len(suffix) - len(_BORDER.search(suffix)[0])][::-1]  # type: ignore[index]
    return prefix, suffix
