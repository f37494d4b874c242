"""`progressive`: the text in pages that join to the text exactly."""

from __future__ import annotations

from remora.gateway.compression.formats import markdown
from remora.gateway.compression.job import Draft, Job

TOKEN = "\n---\n[progressive: chars="


def run(job: Job) -> Draft:
    if TOKEN in job.text:  # its pages could not be told apart: plain range reading
        body = job.text[: page_end(job.text, 0, max(0, job.chars - 160), job.kind)]
        note = f"\n[rem: chars 0-{len(body)} of {len(job.text)} | next: {job.more() or 'none'}]"
        return Draft(body + note, "progressive→range", len(body), len(job.text), "characters", True)
    return Draft(
        page(job, 0), "progressive", min(job.options.chunk_size, len(job.text)), len(job.text), "characters", True
    )


def page(job: Job, offset: int) -> str:
    """The page at `offset` with its footer; a text that fits one page has none."""
    total = len(job.text)
    if offset == 0 and total <= min(job.options.chunk_size, job.chars):
        return job.text
    room = min(job.options.chunk_size, job.chars - 200)
    while True:
        end = page_end(job.text, offset, offset + max(1, room), job.kind)
        made = job.text[offset:end] + _footer(job, offset, end)
        if len(made) <= job.chars or room < 40:
            return made
        room -= len(made) - job.chars


def page_end(text: str, start: int, end: int, kind: str) -> int:
    """`end` moved back by at most a fifth, to a paragraph, line or word; in JSON to an element."""
    if end >= len(text):
        return len(text)
    least = start + (end - start) * 4 // 5
    for mark in ("},", "],", ",") if kind == "json" else ("\n\n", "\n", " "):
        at = text.rfind(mark, least, end)
        if at >= 0:
            return at + len(mark)
    return end


def _footer(job: Job, offset: int, end: int) -> str:
    total = len(job.text)
    more = end < total
    life = f" | ttl={job.options.ttl_seconds}s" if more else ""
    text = f"{TOKEN}{offset}-{end}/{total} | remaining={total - end} | has_more={more}{life}]"
    if not more:
        return text
    left = _remaining(job.text, end) if job.kind == "markdown" else []
    if left:
        names = ", ".join(f'"{name}"' for name in left[:5])
        text += f"\n[Remaining: {names}{f' … (+{len(left) - 5} more)' if len(left) > 5 else ''}]"
    way = job.more()
    return f"{text}\n[-> {way[:-1]}, offset={end})]" if way.endswith(")") else text


def _remaining(text: str, end: int) -> list[str]:
    lines = text[end:].split("\n")
    return [lines[i].lstrip("#").strip()[:60] for i in sorted(markdown.headings(lines))]
