"""The cut of last resort: head and tail at borders, quick and always possible."""

from __future__ import annotations

import re

from remora.gateway.compression.formats.json import with_remark
from remora.gateway.compression.formats.values import Unfaithful, dump, parse
from remora.gateway.compression.job import Draft, Job, remark, reserve


def head_tail(job: Job) -> Draft:
    """60 % head and 40 % tail: whole members of a JSON document, else whole lines, else characters."""
    if job.kind == "json":
        try:
            return _document(job)
        except (ValueError, Unfaithful):
            return _elements(job)
    return _text(job)


def _text(job: Job) -> Draft:
    room = job.chars - reserve(job) - 24
    lines = job.text.split("\n")
    head, used = 0, 0
    while head < len(lines) and used + len(lines[head]) + 1 <= room * 0.6:
        used += len(lines[head]) + 1
        head += 1
    tail = len(lines)
    while tail > head and used + len(lines[tail - 1]) + 1 <= room:
        tail -= 1
        used += len(lines[tail]) + 1
    if head == 0 and tail == len(lines):  # one line longer than everything allowed
        part = max(0, room - 24)
        body = f"{job.text[:part]}…[+{len(job.text) - part} chars]"
        return Draft(body, "headtail_fallback", 0, len(lines))
    gap = [f"… {tail - head:,} lines"] if tail > head else []
    body = "\n".join([*lines[:head], *gap, *lines[tail:]])
    return Draft(body, "headtail_fallback", head + len(lines) - tail, len(lines))


def _document(job: Job) -> Draft:
    value = parse(job.text)
    if not isinstance(value, (dict, list)):
        return _text(job)
    parts = [f"{dump(k)}:{dump(v)}" for k, v in value.items()] if isinstance(value, dict) else [dump(v) for v in value]
    kept = _ends(parts, job.chars - reserve(job, "members") - 40)
    body = ",".join(parts[i] for i in kept)
    draft = Draft(
        "{" + body + "}" if isinstance(value, dict) else "[" + body + "]",
        "headtail_fallback",
        len(kept),
        len(parts),
        "members",
    )
    return Draft(
        with_remark(draft.body, value, remark(job, draft)), draft.label, draft.kept, draft.total, "members", True
    )


def _ends(parts: list[str], room: int) -> list[int]:
    """Indices of first and last parts that fit."""
    head, used = 0, 0
    while head < len(parts) and used + len(parts[head]) + 1 <= room * 0.6:
        used += len(parts[head]) + 1
        head += 1
    tail = len(parts)
    while tail > head and used + len(parts[tail - 1]) + 1 <= room:
        tail -= 1
        used += len(parts[tail]) + 1
    return [*range(head), *range(tail, len(parts))]


_SCALAR = re.compile(
    r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4})*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null'
)


def _elements(job: Job) -> Draft:
    """JSON that cannot be written anew (duplicate keys, NaN, lone surrogates): its scalars as they stand, in a list."""
    parts = [m[0] for m in _SCALAR.finditer(job.text)]
    kept = _ends(parts, job.chars - reserve(job, "values") - 40)
    draft = Draft(
        "[" + ",".join(parts[i] for i in kept) + "]",
        "headtail_fallback",
        len(kept),
        max(len(parts), len(kept) + 1),
        "values",
    )
    return Draft(with_remark(draft.body, [], remark(job, draft)), draft.label, draft.kept, draft.total, "values", True)


def marker_alone(job: Job) -> Draft:
    """When nothing fits: only where to find it."""
    more = job.more()
    text = f"{len(job.text):,} characters left out" + (f" | more: {more}" if more else "")
    if job.kind == "json":
        return Draft(f'{{"_rem":{dump(text)}}}', "marker", 0, 1, "values", True)
    return Draft(f"[rem: {text}]", "marker", 0, 1, done=True)
