"""`selective`: a table of contents from which the reader orders what it needs."""

from __future__ import annotations

import re
from typing import Any

from remora.gateway.compression.formats.values import dump
from remora.gateway.compression.job import Draft, Job, analysed, ranked
from remora.gateway.compression.relevance import ranking
from remora.gateway.compression.sections import Section, split
from remora.gateway.compression.strategies import truncate


def run(job: Job) -> Draft:
    sections = split(job.text, job.kind, job.options.json_depth)
    if len(sections) < 2:
        return truncate.run(job)
    body = contents(job, sections, job.chars)
    return Draft(body, "selective", 0, len(sections), "sections", done=True)


def contents(job: Job, sections: list[Section], room: int) -> str:
    """The table of contents as JSON within `room` characters: previews shrink first, then neighbours are merged."""
    order = _by_relevance(job, sections)
    for preview in (80, 40, 16, 0):
        shown = _document(job, sections, order, preview)
        if len(shown) <= room:
            return shown
    size = 2
    while size <= 2 * len(sections):
        merged = _merged(sections, size)
        shown = _document(job, merged, range(len(merged)), 0)
        if len(shown) <= room:
            return shown
        size *= 2
    return shown


def _by_relevance(job: Job, sections: list[Section]) -> list[int]:
    if not job.query:
        return list(range(len(sections)))
    import numpy as np

    units = analysed(tuple(f"{s.key} {s.text[:2000]}" for s in sections), None, False)
    return ranked(ranking(units, job.query, np.zeros(len(sections)))[0])


def _document(job: Job, sections: list[Section], order: Any, preview: int) -> str:
    inline = preview > 0
    entries = [
        {
            "key": s.key,
            "type": s.type,
            "size": len(s.text),
            "preview": s.preview[:preview],
            "inline": s.text if inline and len(s.text) < job.options.min_section_chars and s.type != "range" else None,
        }
        for s in (sections[i] for i in order)
    ]
    kind = "json" if job.kind == "json" else "markdown" if job.kind == "markdown" else "text"
    ways = f'Call read_more("{job.handle}", mode="section", q=KEY) to retrieve.'
    if "select_chunks" in (job.pointer or ""):
        ways = f"Call {job.more()} to retrieve."
    return dump(
        {
            "type": "toc",
            "selection_key": job.handle,
            "format": kind,
            "total_chars": _Plain(len(job.text)),
            "ttl_seconds_remaining": _Plain(job.options.ttl_seconds),
            "entries": [{k: _Plain(v) if isinstance(v, int) else v for k, v in e.items()} for e in entries],
            "hint": ways,
        }
    )


class _Plain(int):
    """A number of our own: dump writes it as JSON would."""


def _merged(sections: list[Section], size: int) -> list[Section]:
    found = []
    for i in range(0, len(sections), size):
        part = sections[i : i + size]
        if len(part) == 1:
            found.append(part[0])
            continue
        found.append(Section(_range(part, i), "range", "".join(s.text for s in part)))
    return found


def _range(part: list[Section], start: int) -> str:
    first, last = part[0].key, part[-1].key
    a, b = re.fullmatch(r"(.*)\[(\d+)\]", first), re.fullmatch(r"(.*)\[(\d+)\]", last)
    if a and b and a[1] == b[1]:
        return f"{a[1]}[{a[2]}..{b[2]}]"
    if first.startswith("Paragraph ") and last.startswith("Paragraph "):
        return f"Paragraph {start + 1}-{start + len(part)}"
    return f"#{start + 1}-{start + len(part)}"
