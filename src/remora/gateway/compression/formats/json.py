"""JSON documents: values chosen one by one, arrays of like objects as tables, always one valid document out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from remora.gateway.compression.deadline import STEP, check, watched
from remora.gateway.compression.formats import table as tables
from remora.gateway.compression.formats.values import Number, count_values, dump, is_small
from remora.gateway.compression.lines import LONG, cut_points

GAP = "…"
NAMES = ("name", "id", "title", "key", "number", "path", "slug", "label", "code", "package")
MANY = 15_000  # values
SMALL = 200  # characters
STUB_ITEMS = 30  # characters reserved for the stub of an opened array


@dataclass(slots=True)
class Node:
    """One value of the document. `units` are what can be chosen: a scalar whole, a long text in pieces."""

    value: Any
    key: str | None
    parent: int
    depth: int
    kind: str  # scalar | text | object | array | table | row
    cuts: list[int] = field(default_factory=list)
    children: list[int] = field(default_factory=list)
    table: tables.Table | None = None
    column: int = -1  # of a long cell: where it stands in its row


@dataclass(frozen=True, slots=True)
class Unit:
    node: int
    piece: int  # -1: the whole value; else a piece of a text


class Document:
    """The tree flattened in source order, ready to be scored and chosen from.

    Of a document with very many values small containers are chosen as a whole.
    """

    def __init__(self, value: Any) -> None:
        self._coarse = count_values(value, MANY) >= MANY
        self.nodes: list[Node] = []
        self.units: list[Unit] = []
        self.texts: list[str] = []
        self.up: list[int] = []
        self._unit_of: dict[int, int] = {}
        self._names: dict[int, int] = {}
        self._add(value, None, -1, 0)

    def _add(self, value: Any, key: str | None, parent: int, depth: int) -> int:
        me = len(self.nodes)
        if me % STEP == 0:
            check()
        label = f"{key} " if key is not None else ""
        if isinstance(value, (dict, list)) and value and not (self._coarse and depth and is_small(value, SMALL)):
            table = tables.as_table(value) if isinstance(value, list) else None
            kind = "table" if table else "object" if isinstance(value, dict) else "array"
            self.nodes.append(Node(value, key, parent, depth, kind, table=table))
            self._unit(me, -1, label + " ".join(table.columns) if table else label)
            if table:
                self._rows(me, table, depth)
            else:
                members = value.items() if isinstance(value, dict) else [(None, v) for v in value]
                for name, member in members:
                    if depth < 200:
                        self.nodes[me].children.append(self._add(member, name, me, depth + 1))
            return me
        if _is_long(value):
            self.nodes.append(Node(value, key, parent, depth, "text", cuts=cut_points(value)))
            self._pieces(me, label)
        else:
            self.nodes.append(Node(value, key, parent, depth, "scalar"))
            self._unit(me, -1, label + dump(value))
        return me

    def _rows(self, me: int, table: tables.Table, depth: int) -> None:
        for r, row in enumerate(watched(table.cells)):
            node = len(self.nodes)
            self.nodes.append(Node(r, None, me, depth + 1, "row", table=table))
            self.nodes[me].children.append(node)
            long = [i for i in table.varying if _is_long(row[i]) and table.columns[i] not in table.prefix]
            short = [dump(row[i]) for i in table.varying if i not in long and row[i] is not tables.MISSING]
            self._unit(node, -1, " ".join(short))
            for i in long:
                cell = len(self.nodes)
                self.nodes.append(Node(row[i], None, node, depth + 2, "text", cuts=cut_points(row[i]), column=i))
                self.nodes[node].children.append(cell)
                self._pieces(cell, "")

    def _pieces(self, me: int, label: str) -> None:
        node = self.nodes[me]
        for p, (a, b) in enumerate(zip(node.cuts, node.cuts[1:], strict=False)):
            self._unit(me, p, (label if p == 0 else "") + node.value[a:b])

    def _unit(self, node: int, piece: int, text: str) -> None:
        if piece <= 0:
            self._unit_of[node] = len(self.units)
        parent = self.nodes[node].parent
        self.up.append(self._unit_of[parent] if parent >= 0 else -1)
        self.units.append(Unit(node, piece))
        self.texts.append(text)

    # ---------------------------------------------------------------- choosing
    def company(self, unit: int) -> list[int]:
        """The names of the objects a value is in: without them nobody knows whose value it is."""
        found = []
        at = self.nodes[self.units[unit].node].parent
        while at > 0:
            if at not in self._names:
                self._names[at] = self._name_of(at)
            if self._names[at] >= 0:
                found.append(self._names[at])
            at = self.nodes[at].parent
        return found

    def _name_of(self, at: int) -> int:
        node = self.nodes[at]
        if node.kind != "object" or (node.key is not None and not isinstance(self.nodes[node.parent].value, list)):
            return -1
        inner = [c for c in node.children if self.nodes[c].key == "metadata" for c in self.nodes[c].children]
        by_key = {self.nodes[c].key: c for c in [*inner, *node.children] if self.nodes[c].kind == "scalar"}
        return next((self._unit_of[by_key[name]] for name in NAMES if name in by_key), -1)

    def prior(self, unit: int) -> float:
        """Shallow before deep, short before long, the beginning of a text before its end."""
        node, piece = self.nodes[self.units[unit].node], self.units[unit].piece
        worth = 1.0 / (1 + node.depth)
        return worth if piece < 0 else worth - 0.2 * min(8, piece)

    def values(self, order: Sequence[int]) -> list[int]:
        """Without the containers: they are only chosen with what is in them."""
        nodes = self.nodes
        can = [nodes[unit.node].kind in ("scalar", "text", "row") for unit in self.units]
        return [i for i in order if can[i]]


def _is_long(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, Number) and len(value) > LONG


class Choice:
    """What is shown of a document; `open` counts characters as an upper bound while choosing."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.open: set[int] = set()  # nodes shown, whole or in part
        self.pieces: dict[int, set[int]] = {}
        self.cost = 0
        self.stats_room = 0  # characters for statistics of left-out rows
        self.named: set[int] = set()  # members of the root shown as stubs when nothing of them is chosen

    def name_members(self, most: int) -> int:
        """Every member of the top-level object is at least named, if that costs little; returns its cost."""
        root = self.document.nodes[0]
        if root.kind != "object":
            return 0
        inner = [c for c in root.children if self.document.nodes[c].kind != "scalar"]
        cost = sum(len(dump(self.document.nodes[c].key)) + 22 for c in inner)
        if cost > most:
            return 0
        self.named = set(inner)
        return cost

    def drop(self, order: Sequence[int]) -> bool:
        """Take back the least worthy value; False when there is none left."""
        nodes = self.document.nodes
        for unit in reversed(order):
            node, piece = self.document.units[unit].node, self.document.units[unit].piece
            if piece >= 0 and piece in self.pieces.get(node, ()):
                self.pieces[node].discard(piece)
                if self.pieces[node] or nodes[node].column >= 0:
                    return True
            elif piece >= 0 or node not in self.open:
                continue
            self.open.discard(node)
            at = nodes[node].parent
            while at > 0 and not any(c in self.open for c in nodes[at].children):
                self.open.discard(at)
                at = nodes[at].parent
            return True
        return False

    def price(self, unit: int) -> int:
        nodes = self.document.nodes
        node, piece = self.document.units[unit].node, self.document.units[unit].piece
        price = 0
        if piece >= 0:
            cuts = nodes[node].cuts
            price += len(dump(nodes[node].value[cuts[piece] : cuts[piece + 1]])) + 14
            if node in self.open:
                return price
        at = node
        while at >= 0 and at not in self.open:
            price += self._opening(at)
            at = nodes[at].parent
        return price

    def _opening(self, at: int) -> int:
        node = self.document.nodes[at]
        name = len(dump(node.key)) + 2 if node.key is not None else 1
        match node.kind:
            case "scalar":
                return name + len(dump(node.value))
            case "text":
                return 2 if node.column >= 0 else name + 2
            case "object":
                return name + 2
            case "array":
                return name + 2 + (STUB_ITEMS if len(node.value) > 1 else 0)
            case "table":
                assert node.table is not None
                return name + len(tables.head(node.table, len(node.value))) + 60
            case _:
                table, row = node.table, node.value
                assert table is not None
                size = 4 + len(str(row)) + 2
                for i in table.varying:
                    long = _is_long(table.cells[row][i]) and table.columns[i] not in table.prefix
                    size += 2 + (18 if long else len(tables.cell_text(table, row, i)))
                return size

    def add(self, unit: int, price: int) -> None:
        node, piece = self.document.units[unit].node, self.document.units[unit].piece
        self.cost += price
        if piece >= 0:
            self.pieces.setdefault(node, set()).add(piece)
        at = node
        while at >= 0 and at not in self.open:
            self.open.add(at)
            at = self.document.nodes[at].parent

    def render(self, at: int = 0) -> str:
        node = self.document.nodes[at]
        match node.kind:
            case "scalar":
                return dump(node.value)
            case "text":
                return dump(self._text(at))
            case "table":
                return self._table(at)
        shown = [c for c in node.children if c in self.open or (at == 0 and c in self.named)]
        rest = len(node.value) - len(shown)
        if node.kind == "object":
            members = [
                f"{dump(self.document.nodes[c].key)}:{self.render(c) if c in self.open else self._stub(c)}"
                for c in shown
            ]
            if rest and at == 0:  # deeper down only the remark counts them: a stub in every object would cost too much
                members.append(f'{_free(node.value)}:"{_count(rest, "key")}"')
            return "{" + ",".join(members) + "}"
        items = [self.render(c) for c in shown]
        if rest:
            text = f"{GAP} {_count(rest, 'item')}" if not shown else f"{GAP} {rest:,} of {len(node.value):,} items"
            objects = bool(shown) and isinstance(node.value[0], dict)
            items.append(f'{{"{GAP}":"{text[2:]}"}}' if objects else f'"{text}"')
        return "[" + ",".join(items) + "]"

    def _stub(self, at: int) -> str:
        node = self.document.nodes[at]
        match node.kind:
            case "object":
                return f'{{{_free(node.value)}:"{_count(len(node.value), "key")}"}}'
            case "text":
                return f'"…[+{len(node.value)} chars]"'
            case _:
                return f'["{GAP} {_count(len(node.value), "item")}"]'

    def _text(self, at: int) -> str:
        node = self.document.nodes[at]
        chosen = self.pieces.get(at, set())
        out, gap = [], 0
        for p, (a, b) in enumerate(zip(node.cuts, node.cuts[1:], strict=False)):
            if p in chosen:
                if gap:
                    out.append(f"…[+{gap} chars]")
                out.append(node.value[a:b])
                gap = 0
            else:
                gap += b - a
        if gap:
            out.append(f"…[+{gap} chars]")
        return "".join(out)

    def _table(self, at: int) -> str:
        node = self.document.nodes[at]
        assert node.table is not None
        rows, cells = [], {}
        for child in node.children:
            if child in self.open:
                row = self.document.nodes[child].value
                rows.append(row)
                for cell in self.document.nodes[child].children:
                    cells[row, self.document.nodes[cell].column] = dump(self._text(cell))
        return tables.encode(node.table, rows, cells, self.stats_room)

    def counts(self) -> tuple[int, int]:
        """Values shown and values in all (a row counts as one)."""
        kinds = ("scalar", "text", "row")
        nodes = self.document.nodes
        total = sum(1 for n in nodes if n.kind in kinds and n.column < 0)
        return sum(1 for i in self.open if nodes[i].kind in kinds and nodes[i].column < 0), total


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'s' if n != 1 else ''}"


def _free(value: dict[str, Any]) -> str:
    """The gap's member name; the document may use it itself."""
    name = GAP
    while name in value:
        name += GAP
    return dump(name)


def select(
    document: Document,
    order: Sequence[int],
    budget: int,
    first: Sequence[int] = (),
    unasked: Sequence[int] = (),
    share: float = 0.0,
    nested: bool = False,
) -> Choice:
    """`first`, then what stands out unasked up to its share, then by order, within `budget` characters rendered.

    `nested`: what fits a budget is also in every larger one, so the first value that does not fit ends the choice.
    """
    choice = Choice(document)
    choice.open.add(0)
    choice.cost = 30 + choice.name_members(budget - 30 if nested else budget // 4)
    if nested:
        _fill(choice, order, budget, nested)
        return choice
    _fill(choice, first, budget)
    _fill(choice, document.values(unasked), choice.cost + budget * share)
    if document.nodes[0].kind == "table" and budget >= 3_000:
        choice.stats_room = budget // 20
        choice.cost += choice.stats_room
    limit = float(budget)
    for _ in range(6):
        _fill(choice, order, limit)
        size = len(choice.render())
        kept, total = choice.counts()
        if size > budget or budget - size < 0.03 * budget or kept == total:
            break
        limit += budget - size - 8
    return choice


def _fill(choice: Choice, order: Sequence[int], limit: float, nested: bool = False) -> None:
    units = choice.document.units
    for unit in watched(order):
        node, piece = units[unit].node, units[unit].piece
        if (piece in choice.pieces.get(node, ())) if piece >= 0 else node in choice.open:
            continue
        price = choice.price(unit)
        with_it = [] if nested else [u for u in choice.document.company(unit) if units[u].node not in choice.open]
        if with_it and choice.cost + price + sum(map(choice.price, with_it)) <= limit:
            for other in with_it:
                if units[other].node not in choice.open:
                    choice.add(other, choice.price(other))
            price = choice.price(unit) if node not in choice.open or piece >= 0 else 0
        if choice.cost + price <= limit:
            choice.add(unit, price)
        elif nested or limit - choice.cost < 12:
            break


def with_remark(body: str, value: Any, remark: str) -> str:
    """The remark as last member of the top-level object; an array becomes {"items": …}."""
    name = "_rem"
    while isinstance(value, dict) and name in value:
        name = "_" + name
    if body.startswith("["):
        body = f'{{"items":{body}}}'
    elif not body.startswith("{"):
        return body
    comma = "" if body == "{}" else ","
    return f"{body[:-1]}{comma}{dump(name)}:{dump(remark)}}}"
