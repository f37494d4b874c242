"""Texts made of lines: which lines (or pieces of long lines) are shown, and how the gaps are named."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from remora.gateway.compression.deadline import watched

_VARYING = re.compile(r"[0-9a-fA-F]{6,}|\d+(?:[.:,-]\d+)*")
_WANTS_CODE = re.compile(
    r"(?i)\b(?:command|code|example|snippet|sample|usage|syntax|invocation|call|install|typed?)s?\b"
)
LONG = 240  # characters; a longer line is chosen piece by piece


@dataclass(frozen=True, slots=True)
class Piece:
    """A whole line, or a part of a long one."""

    line: int
    start: int
    end: int


@dataclass(slots=True)
class Layout:
    """One text seen by its format: pieces in source order and what the format knows about them."""

    lines: Sequence[str]
    unit: str = "lines"
    up: Sequence[int] | None = None  # per line: the line that gives it context, -1 for none
    prior: dict[int, float] = field(default_factory=dict)  # per line: worth by structure alone
    first: Sequence[int] = ()  # lines chosen before all others, in this order of importance
    siblings: bool = False
    title: dict[int, int] = field(default_factory=dict)  # per outermost line: the line that names its record
    numbered: bool = False  # gaps name line ranges (file reads)
    code: Sequence[int] = ()  # lines of code inside other text
    faint: frozenset[int] = frozenset()  # lines that place others but are seldom the answer themselves
    indexed: bool = False  # every line carries its number: gaps need no line of their own
    header: str = ""  # stands before everything
    numbers: Sequence[int] | None = None  # of a thinned text: where each line stood
    total: int = 0
    templates: int = 0  # so many long gaps say what most of their lines look like

    def number(self, line: int) -> int:
        """Where a line stood in the source."""
        if self.numbers is None:
            return line
        return self.numbers[line] if line < len(self.numbers) else self.total

    def follows(self, line: int) -> bool:
        """Whether nothing stood between a line and the one before it here."""
        return self.number(line) == (self.number(line - 1) + 1 if line else 0)

    def priors(self, query: str | None) -> dict[int, float]:
        """Worth by structure; who asks for a command or an example looks for code."""
        if query and self.code and _WANTS_CODE.search(query):
            return self.prior | {i: self.prior.get(i, 0.0) + 8.0 for i in self.code}
        return self.prior

    def company(self, line: int) -> list[int]:
        """Lines without which a line of a record cannot be understood: those above it and the record's name."""
        if self.up is None or not self.siblings:
            return []
        found: list[int] = []
        at = line
        while self.up[at] >= 0 and len(found) < 8:
            at = self.up[at]
            found.append(at)
        if at in self.title:
            found.append(self.title[at])
        return found

    def gap(self, start: int, end: int, first: bool = False) -> str:
        """The line that stands for lines start..end-1 (0-based); empty: none is needed.

        Only the first names what it counts: with hundreds of gaps the word would cost a tenth of a small budget.
        """
        if self.indexed:
            return ""
        if self.numbered:
            return f"⋯ lines {start + 1}-{end} omitted ⋯"
        count = end - start
        if not first and count < 10_000:
            return f"… {count}"
        return f"… {count:,} {self.unit if count > 1 else self.unit.removesuffix('s')}"


def pieces(lines: Sequence[str]) -> list[Piece]:
    found = []
    for i, line in enumerate(lines):
        if len(line) <= LONG:
            found.append(Piece(i, 0, len(line)))
        else:
            cuts = cut_points(line)
            found.extend(Piece(i, a, b) for a, b in itertools.pairwise(cuts))
    return found


def cut_points(text: str, least: int = 100, most: int = 200) -> list[int]:
    """Borders of pieces of a long text: at a sentence end if one lies in reach, else at a word, else anywhere."""
    cuts, start = [0], 0
    while len(text) - start > most + least // 2:
        window = text[start + least : start + most]
        end = -1
        for mark in (". ", "! ", "? ", "; ", "\n", ", ", " "):
            end = window.rfind(mark)
            if end >= 0:
                end += len(mark)
                break
        start += least + end if end > 0 else most
        cuts.append(start)
    cuts.append(len(text))
    return cuts


def choose(
    layout: Layout,
    units: Sequence[Piece],
    order: Iterable[int],
    budget: int,
    forced: Iterable[int] = (),
    first_of: dict[int, int] | None = None,
) -> set[int]:
    """Units by `forced`, then by `order`, as long as the rendered text stays within `budget` characters."""
    kept: set[int] = set()
    per_line: dict[int, int] = {}
    total = len(layout.lines)
    mark = len(layout.gap(0, max(2, total // 4))) + 1 if not layout.indexed else 0
    left = budget - mark - len(layout.unit) - 4
    left -= 100 * layout.templates
    sizes: dict[int, int] = {}
    for u in units:
        sizes[u.line] = sizes.get(u.line, 0) + 1

    def cost(i: int) -> int:
        unit = units[i]
        line = unit.line
        size = unit.end - unit.start
        if line in per_line:
            return size + 2
        before = layout.follows(line) and (line == 0 or (line - 1) in per_line)
        after = layout.follows(line + 1) and (line == total - 1 or (line + 1) in per_line)
        holes = -1 if before and after else 0 if before or after else 1
        return size + 1 + holes * mark + (14 if sizes[line] > 1 else 0)

    def add(i: int) -> None:
        nonlocal left
        price = cost(i)
        if price <= left:
            left -= price
            kept.add(i)
            per_line[units[i].line] = per_line.get(units[i].line, 0) + 1

    for i in forced:
        if i not in kept:
            add(i)
    for i in watched(order):
        if left < 8:
            break
        if i in kept:
            continue
        with_it = [first_of[line] for line in layout.company(units[i].line) if line not in per_line] if first_of else []
        if with_it and sum(len(layout.lines[units[j].line]) + 1 for j in with_it) + cost(i) <= left:
            for j in with_it:
                add(j)
        add(i)
    return kept


def _mostly(lines: Sequence[str]) -> str:
    """The commonest shape among lines, if it is half of them."""
    shapes = Counter(_VARYING.sub("<*>", line) for line in lines)
    shape, count = min(shapes.items(), key=lambda item: (-item[1], item[0]))
    return f': "{shape[:70].strip()}" ×{count:,}' if 2 * count >= len(lines) else ""


def render(layout: Layout, units: Sequence[Piece], kept: set[int]) -> str:
    """Kept units in source order; a gap shorter than its own name is shown instead of named."""
    shown: dict[int, list[Piece]] = {}
    for i in sorted(kept):
        shown.setdefault(units[i].line, []).append(units[i])
    out: list[str] = []
    expected, named, described = 0, False, 0
    for line in [*sorted(shown), len(layout.lines)]:
        number = layout.number(line)
        if number > expected:
            name = layout.gap(expected, number, not named)
            missing = layout.lines[expected:number] if layout.numbers is None and not layout.indexed else None
            if missing is not None and sum(map(len, missing)) + len(missing) - 1 <= len(name):
                out.extend(missing)
            elif name:
                if described < layout.templates and missing is not None and len(missing) >= 100:
                    name = layout.gap(expected, number, True) + _mostly(missing)
                    described += 1
                out.append(name)
                named = True
        if line < len(layout.lines):
            out.append(partial(layout.lines[line], shown[line]))
        expected = number + 1
    return "\n".join(out)


def partial(line: str, shown: Sequence[Piece]) -> str:
    """The shown pieces of a line, each hole as …[+N chars]."""
    out, at = [], 0
    for piece in shown:
        if piece.start > at:
            out.append(f"…[+{piece.start - at} chars]")
        out.append(line[piece.start : piece.end])
        at = piece.end
    if at < len(line):
        out.append(f"…[+{len(line) - at} chars]")
    return "".join(out)
