"""Rows of like objects as columns: {"rem":"table/1", …}, and back without loss."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from remora.gateway.compression.deadline import check, watched
from remora.gateway.compression.formats.values import Number, dump, joined

_SEGMENT = re.compile(r'\["(?:[^"\\]|\\.)*"\]|[^.]+')
_PLAIN = re.compile(r'[^."\[\]]+')
MISSING = object()
QUOTE = '"'


def flatten(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"user": {"login": 1}} -> {"user.login": 1}; arrays and empty objects stay as they are."""
    found: dict[str, Any] = {}
    for key, value in row.items():
        name = key if _PLAIN.fullmatch(key) else f"[{json.dumps(key, ensure_ascii=False)}]"
        path = f"{prefix}.{name}" if prefix else name
        if isinstance(value, dict) and value:
            found |= flatten(value, path)
        else:
            found[path] = value
    return found


def unflatten(cells: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path, value in cells.items():
        keys = [json.loads(s[1:-1]) if s.startswith('["') else s for s in _SEGMENT.findall(path)]
        at = found
        for key in keys[:-1]:
            at = at.setdefault(key, {})
        at[keys[-1]] = value
    return found


def common_prefix(texts: Sequence[str]) -> str:
    """What all texts begin with."""
    low, high = min(texts, default=""), max(texts, default="")
    same = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    return low[:same]


@dataclass(frozen=True, slots=True)
class Table:
    """An array of objects, flattened; `cells[i]` holds MISSING where the row has no such member."""

    columns: list[str]
    cells: list[list[Any]]
    constant: dict[str, Any]
    prefix: dict[str, str]

    @property
    def varying(self) -> list[int]:
        return [i for i, name in enumerate(self.columns) if name not in self.constant]


def as_table(rows: Sequence[Any], least: int = 4, longest: int = 400) -> Table | None:
    """None where columns would not pay: few rows, few common members, or large nested arrays."""
    if len(rows) < least or not all(isinstance(row, dict) and row for row in rows):
        return None
    flat = [flatten(row) for row in watched(rows)]
    columns = list(dict.fromkeys(name for row in flat for name in row))
    if len(columns) > 64 or sum(map(len, flat)) < 0.6 * len(columns) * len(flat):
        return None
    if any(isinstance(v, list) and len(dump(v)) > longest for row in flat for v in row.values()):
        return None
    cells = [[row.get(name, MISSING) for name in columns] for row in flat]
    constant, prefix = {}, {}
    for i, name in enumerate(columns):
        check()
        column = [row[i] for row in cells]
        if MISSING not in column and all(dump(v) == dump(column[0]) for v in column[1:]):
            constant[name] = column[0]
        elif all(isinstance(v, str) and not isinstance(v, Number) for v in column):
            common = common_prefix(column)
            common = common[: common.rfind("/") + 1]
            if len(common) >= 12:
                prefix[name] = common
    return Table(columns, cells, constant, prefix)


def cell_text(table: Table, row: int, column: int) -> str:
    value = table.cells[row][column]
    if value is MISSING:
        return "null"
    known = table.prefix.get(table.columns[column])
    return dump(value[len(known) :] if known else value)


def head(table: Table, total: int) -> str:
    """Everything before the rows."""
    parts = [f'"rem":"table/1","total":{total},"columns":{dump([table.columns[i] for i in table.varying])}']
    if table.constant:
        parts.append(f'"constant":{dump(table.constant)}')
    if table.prefix:
        parts.append(f'"prefix":{dump(table.prefix)}')
    return ",".join(parts)


def missing_text(table: Table, rows: Sequence[int]) -> str:
    """Which rows lack which members: a null cell is something else."""
    found: dict[str, list[int]] = {}
    for i in table.varying:
        gone = [r for r in rows if table.cells[r][i] is MISSING]
        if gone:
            found[table.columns[i]] = gone
    return f'"missing":{_numbers(found)}' if found else ""


def encode(
    table: Table,
    rows: Sequence[int] | None = None,
    cells: dict[tuple[int, int], str] | None = None,
    stats_room: int = 0,
) -> str:
    """The columnar object as JSON text; `cells` overrides shown texts, statistics only stand where they find room."""
    total = len(table.cells)
    shown = list(range(total)) if rows is None else list(rows)
    cells = cells or {}
    parts = [head(table, total)]
    gone = missing_text(table, shown)
    if gone:
        parts.append(gone)
    if len(shown) < total:
        parts.append(f'"index":[{", ".join(map(str, shown))}]')
    body = ",\n".join(
        "["
        + joined(
            [table.cells[r][i] for i in table.varying],
            [cells.get((r, i)) or cell_text(table, r, i) for i in table.varying],
        )
        + "]"
        for r in shown
    )
    parts.append(f'"rows":[{body}]')
    if len(shown) < total:
        kept = set(shown)
        hidden = [r for r in range(total) if r not in kept] if stats_room else []
        stats = statistics(table, hidden) if 0 < len(hidden) <= 5_000 else ""
        stats = f',"stats":{stats}' if stats and len(stats) + 9 <= stats_room else ""
        parts.append(f'"omitted":{{"rows":{total - len(shown)}{stats}}}')
    return "{" + ",".join(parts) + "}"


def statistics(table: Table, rows: Sequence[int]) -> str:
    """What the left-out rows hold: range and mean of numbers, counts of few categories, else how many values."""
    parts = []
    for i in table.varying:
        column = [table.cells[r][i] for r in rows if table.cells[r][i] is not MISSING]
        kinds = Counter(dump(v) for v in column)
        if column and all(isinstance(v, Number) for v in column):
            low, high = min(column, key=float), max(column, key=float)
            mean = format(math.fsum(map(float, column)) / len(column), ".6g")
            said = f'"min":{low},"max":{high},"mean":{mean}'
        elif kinds and len(kinds) <= 8 and max(map(len, kinds)) <= 40:
            said = ",".join(f"{k if k.startswith(QUOTE) else dump(k)}:{n}" for k, n in sorted(kinds.items()))
        else:
            said = f'"distinct":{len(kinds)}'
        parts.append(f"{dump(table.columns[i])}:{{{said}}}")
    return "{" + ",".join(parts) + "}"


def _numbers(lists: dict[str, list[int]]) -> str:
    return "{" + ",".join(f"{dump(k)}:[{', '.join(map(str, v))}]" for k, v in lists.items()) + "}"


def decode(shown: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a complete columnar object (parsed by any JSON reader)."""
    index = shown.get("index") or range(len(shown["rows"]))
    gone = {name: {int(r) for r in rows} for name, rows in shown.get("missing", {}).items()}
    prefix, suffix, codes = (shown.get(name, {}) for name in ("prefix", "suffix", "codes"))
    found = []
    for at, row in zip(index, shown["rows"], strict=True):
        cells = dict(zip(shown["columns"], row, strict=True))
        for name, known in codes.items():
            cells[name] = known[int(cells[name])]
        for name in prefix.keys() | suffix.keys():
            cells[name] = f"{prefix.get(name, '')}{cells[name]}{suffix.get(name, '')}"
        for name, inner in shown.get("same", {}).items():
            for other, (before, after) in inner.items():
                cells[name] = f"{before}{cells[other]}{after}"
        cells = {name: value for name, value in cells.items() if int(at) not in gone.get(name, ())}
        found.append(unflatten(cells | shown.get("constant", {})))
    return found


def is_encoded(value: Any) -> bool:
    return isinstance(value, dict) and value.get("rem") == "table/1" and "rows" in value


def decode_tree(value: Any) -> Any:
    """A document in which tables stand for arrays, as it was."""
    if is_encoded(value):
        return [decode_tree(row) for row in decode(value)]
    if isinstance(value, dict):
        return {k: decode_tree(v) for k, v in value.items()}
    return [decode_tree(v) for v in value] if isinstance(value, list) else value
