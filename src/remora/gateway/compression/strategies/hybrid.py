"""`hybrid`: the beginning as it is, then a table of contents of the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from remora.gateway.compression.formats.values import Unfaithful, dump, parse
from remora.gateway.compression.job import Draft, Job
from remora.gateway.compression.sections import split
from remora.gateway.compression.strategies import selective, truncate
from remora.gateway.compression.strategies.progressive import page_end


def run(job: Job) -> Draft:
    options = job.options
    if job.chars < options.min_head_chars + options.min_toc_budget:
        return replace(truncate.run(job), label="hybrid→truncate")
    room = max(options.min_head_chars, int(min(options.head_chars, options.head_ratio * job.chars)))
    if job.kind == "json":
        try:
            value = parse(job.text)
        except (ValueError, Unfaithful):
            value = None
        if isinstance(value, (dict, list)) and len(value) > 1:
            return _json(job, value, room)
    head = job.text[: page_end(job.text, 0, room, job.kind)]
    tail = job.text[len(head) :]
    if not tail:
        return Draft(job.text, "hybrid", 1, 1, done=True)
    if options.tail_mode == "truncate":
        rest = truncate.run(job.of(tail, job.kind, job.chars - len(head)))
        return replace(rest, body=head + rest.body, label="hybrid:truncate")
    frame = f"\n---\nRemaining content ({len(tail)} chars) — Table of Contents:\n\n"
    sections = split(tail, job.kind, options.json_depth)
    toc = selective.contents(job.of(tail, job.kind, 0), sections, job.chars - len(head) - len(frame))
    return Draft(head + frame + toc, "hybrid", 0, len(sections), "sections", done=True)


def _json(job: Job, value: Any, room: int) -> Draft:
    """One document: the first members or elements as they are, the rest as table of contents."""
    head: Any = {} if isinstance(value, dict) else []
    members = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    used, kept = 2, 0
    for name, member in members:
        used += len(dump(member)) + (len(dump(name)) + 2 if isinstance(value, dict) else 1)
        if used > room:
            break
        if isinstance(value, dict):
            head[name] = member
        else:
            head.append(member)
        kept += 1
    sections = split(job.text, job.kind, job.options.json_depth)
    later = {name if isinstance(value, dict) else f"[{name}]" for name, _ in members[kept:]}
    rest = [s for s in sections if _top(s.key, isinstance(value, dict)) in later] or sections
    shown = dump(head)
    note = f"kept {kept:,} of {len(members):,} members | more: {job.more()}"
    frame = f'{{"head":{shown},"toc":,"_rem":{dump(note)}}}'
    toc = selective.contents(job, rest, job.chars - len(frame))
    return Draft(
        frame.replace('"toc":,', f'"toc":{toc},', 1)
        if '"toc":,' not in shown
        else f'{{"toc":{toc},"head":{shown},"_rem":{dump(note)}}}',
        "hybrid",
        kept,
        len(members),
        "members",
        done=True,
    )


def _top(key: str, named: bool) -> str:
    if not named:
        return key[: key.index("]") + 1] if "]" in key else key
    return key.split(".")[0].split("[")[0] if not key.startswith("[") else key
