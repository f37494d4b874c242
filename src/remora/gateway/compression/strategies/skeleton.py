"""`skeleton`: the outline first (signatures, headings), then bodies by worth."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from remora.gateway.compression.formats import markdown, outline
from remora.gateway.compression.formats.layouts import laid_out
from remora.gateway.compression.job import Draft, Job
from remora.gateway.compression.lines import Layout
from remora.gateway.compression.strategies import truncate

SHARE = 0.4  # of the budget for the outline; the rest goes by worth


def run(job: Job) -> Draft:
    layout = laid_out(job.text, job.kind, job.hints, job.query)
    lines = layout.lines
    if job.kind in ("python", "code"):
        found = _symbols(job.text) if job.kind == "python" and layout.numbers is None else None
        frame = found if found is not None else [i for i, worth in sorted(layout.prior.items()) if worth >= 2.0]
        if found:
            layout.prior.update({i: max(2.0, layout.prior.get(i, 0.0)) for i in found})
    else:
        level = markdown.headings(lines)
        frame = sorted(level, key=lambda i: (level[i], i))
    if len(frame) < 2:
        return replace(truncate.run(job), label=f"skeleton→truncate:{job.kind}")
    return truncate.by_lines(job, layout, "skeleton", [*_named(layout, frame, job), *_fitting(layout, frame, job)])


def _symbols(text: str) -> list[int] | None:
    """0-based lines of every class and function of Python source, outer ones first; None when it does not parse."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    found: list[tuple[int, int]] = []
    queue: list[tuple[ast.AST, int]] = [(tree, 0)]
    for node, depth in queue:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                found.append((depth, child.lineno - 1))
                queue.append((child, depth + 1))
            elif isinstance(child, (ast.If, ast.Try, ast.With)):
                queue.append((child, depth))
    return [line for _, line in sorted(found)]


def _named(layout: Layout, frame: list[int], job: Job) -> list[int]:
    """The whole body of a definition whose name is a word of the question."""
    if not job.query or job.kind not in ("python", "code"):
        return []
    words = set(re.findall(r"[A-Za-z_]\w{2,}", job.query))
    found: list[int] = []
    for i in frame:
        name = re.search(
            r"(?:def|class|function\*?|func|fn|struct|interface|type|impl|trait)\s+\(?([A-Za-z_]\w*)", layout.lines[i]
        )
        if name and name[1] in words and (len(name[1]) > 5 or "_" in name[1] or f"{name[1]}(" in job.query):
            body = outline.block(layout.lines, i)
            if sum(len(layout.lines[j]) + 1 for j in body) <= 0.6 * job.chars:
                found += body
    return found


def _fitting(layout: Layout, frame: list[int], job: Job) -> list[int]:
    room, found = SHARE * job.chars if not job.query else 0.15 * job.chars, []
    for i in frame:
        room -= len(layout.lines[i]) + 12
        if room < 0:
            break
        found.append(i)
    return found
