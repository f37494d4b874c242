"""`truncate`: a cut that knows the structure. Lines, hits, nodes or hunks by worth instead of the first N characters."""

from __future__ import annotations

import numpy as np

from remora.gateway.compression.formats.layouts import layout_of
from remora.gateway.compression.job import Draft, Job, analysed, lines_of, ranked, reserve
from remora.gateway.compression.lines import choose, pieces, render
from remora.gateway.compression.relevance import ranking

HEAD = 0.08  # share of the budget for the first lines: what this is


def run(job: Job) -> Draft:
    lines = lines_of(job.text)
    layout = layout_of(job.kind, lines, job.hints)
    lines = layout.lines
    units = pieces(lines)
    first_of: dict[int, int] = {}
    for i, unit in enumerate(units):
        first_of.setdefault(unit.line, i)
    up = None
    if layout.up is not None:
        up = tuple(first_of[layout.up[u.line]] if layout.up[u.line] >= 0 else -1 for u in units)
    analysis = analysed(tuple(lines[u.line][u.start : u.end] for u in units), up, layout.siblings)
    prior = np.zeros(len(units))
    for line, bonus in layout.prior.items():
        prior[first_of[line]] = bonus
    score, _ = ranking(analysis, job.query, prior)
    budget = job.chars - reserve(job, layout.unit)
    forced = [first_of[i] for i in layout.first]
    used = 0
    for i, unit in enumerate(units):
        used += unit.end - unit.start + 1
        if used > budget * HEAD:
            break
        forced.append(i)
    order = ranked(score)
    kept = choose(layout, units, order, budget, forced)
    body = render(layout, units, kept)
    while len(body) > budget and kept:
        worst = [i for i in reversed(order) if i in kept][: max(1, len(kept) // 50)]
        kept -= set(worst)
        body = render(layout, units, kept)
    label = f"truncate:{job.kind}"
    shown = len({units[i].line for i in kept})
    return Draft(body, label, shown, len(lines), layout.unit)
