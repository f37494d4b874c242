"""`truncate`: a cut that knows the structure: lines, hits, nodes or hunks by worth, not the first N characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from remora.gateway.compression.formats.layouts import laid_out
from remora.gateway.compression.job import Draft, Job, analysed, ranked, reserve
from remora.gateway.compression.lines import Layout, Piece, choose, pieces, render
from remora.gateway.compression.relevance import W, ranking

if TYPE_CHECKING:
    from remora.gateway.compression.words import Floats

HEAD = 0.08  # share of the budget for the first lines: they say what this is


def run(job: Job) -> Draft:
    return by_lines(job, laid_out(job.text, job.kind, job.hints, job.query), f"truncate:{job.kind}")


def scored(layout: Layout, query: str | None) -> tuple[list[Piece], Floats, Floats]:
    """(pieces of the lines, their score, their worth without the question)"""
    import numpy as np

    lines = layout.lines
    units = pieces(lines)
    first_of = firsts(units)
    up = None
    if layout.up is not None:
        up = tuple(first_of[layout.up[u.line]] if layout.up[u.line] >= 0 else -1 for u in units)
    analysis = analysed(tuple(lines[u.line][u.start : u.end] for u in units), up, layout.siblings)
    prior = np.zeros(len(units))
    for line, worth in layout.priors(query).items():
        prior[first_of[line]] = worth
    weight = np.array([0.5 if u.line in layout.faint else 1.0 for u in units])
    return units, *ranking(analysis, query, prior, weight)


def firsts(units: Sequence[Piece]) -> dict[int, int]:
    """Line -> its first piece."""
    found: dict[int, int] = {}
    for i, unit in enumerate(units):
        found.setdefault(unit.line, i)
    return found


def by_lines(job: Job, layout: Layout, label: str, first: Sequence[int] = ()) -> Draft:
    """Lines by worth, `first` (and the layout's own) before all others."""
    lines = layout.lines
    units, score, plain = scored(layout, job.query)
    first_of = firsts(units)
    budget = job.chars - reserve(job, layout.unit) - len(layout.header) - 1
    if budget < 4_000:
        layout.templates = 0
    forced = [first_of[i] for i in (*first, *layout.first)]
    forced += _opening(units, budget * HEAD)
    if job.query:
        forced += _within(units, ranked(plain), budget * W.reserve)
    order = ranked(score)
    kept = choose(layout, units, order, budget, forced, first_of)
    body = render(layout, units, kept)
    while len(body) > budget and kept:
        kept -= set([i for i in reversed(order) if i in kept][: max(1, len(kept) // 50)])
        body = render(layout, units, kept)
    shown = len({units[i].line for i in kept}) if len(kept) < len(units) else len(lines)
    partly = len(kept) < len(units) and shown == len(lines)
    return Draft(layout.header + body, label, shown - partly, layout.total or len(lines), layout.unit)


def _opening(units: Sequence[Piece], room: float) -> list[int]:
    found = []
    for i, unit in enumerate(units):
        room -= unit.end - unit.start + 1
        if room < 0:
            break
        found.append(i)
    return found


def _within(units: Sequence[Piece], order: Sequence[int], room: float) -> list[int]:
    found = []
    for i in order:
        room -= units[i].end - units[i].start + 12
        if room < 0:
            break
        found.append(i)
    return found
