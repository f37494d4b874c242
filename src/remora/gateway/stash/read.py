"""Reading a stored text: by characters, lines, sections, pattern, path or question; every answer says how to go on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from remora.gateway.compression.formats.values import Unfaithful, dump, parse
from remora.gateway.compression.sections import pick, split
from remora.gateway.compression.strategies.progressive import page_end
from remora.gateway.stash import jsonpath
from remora.gateway.stash.pattern import compiled, windows
from remora.gateway.stash.search import search

MODES = ("range", "lines", "section", "grep", "jsonpath", "search")


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a stored text. `limit` counts characters."""

    handle: str
    mode: str = ""
    q: str = ""
    offset: int = 0
    limit: int = 8_000
    context: int = 2


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    error: bool = False


class BadRequest(ValueError):
    """Values no reading can have: negative numbers, an unknown mode."""


def read(text: str, kind: str, request: Request) -> Answer:
    """The answer to a request; a missing mode follows from `q`."""
    mode = request.mode or inferred(request.q)
    if mode not in MODES:
        raise BadRequest(f"unknown mode {mode!r}; one of {', '.join(MODES)}")
    if request.offset < 0 or request.limit < 0 or request.context < 0:
        raise BadRequest("offset, limit and context must not be negative")
    match mode:
        case "range":
            return Answer(by_range(text, kind, request))
        case "lines":
            return by_lines(text, request)
        case "section":
            return by_section(text, kind, request)
        case "grep":
            return by_pattern(text, kind, request)
        case "jsonpath":
            return by_path(text, kind, request)
        case _:
            return Answer(search(text, kind, request.q, request.limit) or _no_match(text, kind, request.q))


def inferred(q: str) -> str:
    if not q:
        return "range"
    if re.fullmatch(r"\s*\d*\s*-?\s*\d*(?:\s*,\s*\d+\s*-?\s*\d*)*\s*", q) and any(c.isdigit() for c in q):
        return "lines"
    return "jsonpath" if q.lstrip().startswith("$") else "search"


# ---------------------------------------------------------------- by place
def by_range(text: str, kind: str, request: Request) -> str:
    """Characters from `offset`; the bodies of successive answers, joined, are the text."""
    start, total = request.offset, len(text)
    if start >= total:
        return "(no more content)"
    end = page_end(text, start, start + max(1, request.limit), kind)
    onward = f' | next: read_more("{request.handle}", offset={end})' if end < total else ""
    return f"{text[start:end]}\n[rem: chars {start}-{end} of {total}{onward}]"


def by_lines(text: str, request: Request) -> Answer:
    """Lines by 1-based inclusive ranges, byte-equal, gaps marked."""
    lines = text.split("\n")
    wanted: list[tuple[int, int]] = []
    for part in request.q.split(","):
        span = re.fullmatch(r"\s*(\d+)?\s*(-)?\s*(\d+)?\s*", part)
        if not span or not (span[1] or span[3]):
            return Answer(f"rem: not a line range: {part.strip()!r}; write 120-180 or 120-180,300-", True)
        first = int(span[1] or 1)
        last = int(span[3]) if span[3] else (len(lines) if span[2] else first)
        wanted.append((max(1, first), min(last, len(lines))))
    out: list[str] = []
    size, previous = 0, 0
    for at, (first, last) in enumerate(wanted):
        if previous and first > previous + 1:
            out.append(f"⋯ lines {previous + 1}-{first - 1} omitted ⋯")
        for number in range(first, last + 1):
            line = lines[number - 1]
            if out and size + len(line) + 1 > request.limit:
                rest = ",".join(f"{a}-{b}" for a, b in [(number, last), *wanted[at + 1 :]])
                out.append(f"[rem: lines to {number - 1} of {len(lines)} | next: {_call(request, 'lines', rest)}]")
                return Answer("\n".join(out))
            if len(line) > request.limit:
                start = sum(len(earlier) + 1 for earlier in lines[: number - 1])
                return Answer(by_range(text, "unknown", replace(request, offset=start)))
            out.append(line)
            size += len(line) + 1
        previous = max(previous, last)
    return Answer("\n".join(out) if out else f"(no such lines; the text has {len(lines)})")


def _call(request: Request, mode: str, q: str, offset: int = 0) -> str:
    """The call that goes on."""
    onward = f", offset={offset}" if offset else ""
    return f'read_more("{request.handle}", mode="{mode}", q={dump(q)}{onward})'


def by_section(text: str, kind: str, request: Request) -> Answer:
    """Whole sections or JSON values by name; `?` lists the names."""
    sections = split(text, kind)
    if request.q.strip() in ("", "?"):
        names = "\n".join(f"{s.key}  ({len(s.text):,} chars)" for s in sections)
        return Answer(_paged(names, request, "section"))
    asked = [request.q] if request.q in {s.key for s in sections} else [k.strip() for k in request.q.split(",")]
    if kind == "json":
        return _values(text, asked, request)
    found, unknown = pick(sections, asked)
    if not found:
        return Answer(f"no match in {len(sections)} sections; nearest: {_nearest(sections, request.q)}")
    note = f"\n[rem: unknown: {', '.join(unknown)}]" if unknown else ""
    return Answer(_paged("".join(s.text for s in found), request, "section") + note)


def _values(text: str, asked: list[str], request: Request) -> Answer:
    try:
        value = parse(text)
    except (ValueError, Unfaithful):
        return Answer(_paged(text, request, "section"))
    found: dict[str, str] = {}
    unknown = []
    for key in asked:
        path = key if key.startswith("[") else "." + key
        span = re.fullmatch(r"(.*)\[(\d+)\.\.(\d+)\]", path)
        query = f"${span[1]}[{span[2]}:{int(span[3]) + 1}]" if span else f"${path}"
        try:
            matches = jsonpath.find(value, query)
        except jsonpath.PathError:
            matches = []
        if not matches:
            unknown.append(key)
        else:
            found[key] = "[" + ",".join(map(dump, matches)) + "]" if span else dump(matches[0])
    if not found:
        return Answer(f"no match; nearest: {_nearest(split(text, 'json'), request.q)}")
    shown = (
        next(iter(found.values()))
        if len(asked) == 1
        else "{" + ",".join(f"{dump(k)}:{v}" for k, v in found.items()) + "}"
    )
    if len(shown) > request.limit:
        return Answer(_paged(shown, request, "section"))
    return Answer(shown if not unknown else f"{shown}\n[rem: unknown: {', '.join(unknown)}]")


def _paged(text: str, request: Request, mode: str) -> str:
    part = text[request.offset : page_end(text, request.offset, request.offset + request.limit, "text")]
    end = request.offset + len(part)
    if end >= len(text):
        return part or "(no more content)"
    return f"{part}\n[rem: chars {request.offset}-{end} of {len(text)} | next: {_call(request, mode, request.q, end)}]"


# ---------------------------------------------------------------- by content
def by_pattern(text: str, kind: str, request: Request) -> Answer:
    """Lines that match, with context; `offset` counts matches."""
    try:
        pattern = compiled(request.q)
    except ValueError as error:
        return Answer(f"rem: bad pattern: {error}", True)
    lines = text.split("\n")
    hits = [i for i, line in enumerate(lines) if any(pattern.search(part) for part in windows(line))]
    if not hits:
        return Answer(_no_match(text, kind, request.q))
    out: list[str] = []
    size, last, at = 0, -1, request.offset
    matching = set(hits)
    while at < len(hits):
        first = max(last + 1, hits[at] - request.context)
        block = ["--"] if out and first > last + 1 else []
        stop = min(len(lines), hits[at] + request.context + 1)
        block += [f"{i + 1}{':' if i in matching else '-'}{lines[i][: request.limit]}" for i in range(first, stop)]
        cost = sum(len(line) + 1 for line in block)
        if out and size + cost > request.limit:
            break
        out += block
        size += cost
        last = max(last, stop - 1)
        at += 1
    onward = f" | next: {_call(request, 'grep', request.q, at)}" if at < len(hits) else ""
    return Answer("\n".join([*out, f"[rem: matches {request.offset + 1}-{at} of {len(hits)}{onward}]"]))


def by_path(text: str, kind: str, request: Request) -> Answer:
    try:
        value = parse(text)
    except (ValueError, Unfaithful):
        return Answer(f"rem: jsonpath needs JSON; this text is {kind}", True)
    try:
        matches = jsonpath.find(value, request.q)
    except jsonpath.PathError as error:
        return Answer(f"rem: bad path: {error}", True)
    shown: list[str] = []
    size, at = 60, request.offset
    while at < len(matches) and (not shown or size + len(dump(matches[at])) < request.limit):
        shown.append(dump(matches[at]))
        size += len(shown[-1]) + 1
        at += 1
    onward = f',"next_offset":{at}' if at < len(matches) else ""
    return Answer(f'{{"matches":[{",".join(shown)}],"total":{len(matches)}{onward}}}')


def _no_match(text: str, kind: str, q: str) -> str:
    near = _nearest(split(text, kind), q)
    return f"no match in {text.count(chr(10)) + 1} lines" + (f"; nearest: {near}" if near else "")


def _nearest(sections: Sequence[Any], q: str) -> str:
    import difflib

    names = [s.key for s in sections if not s.key.startswith("Paragraph ")]
    close = difflib.get_close_matches(q, names[:2_000], 3, 0.0)
    return ", ".join(f'"{name}"' for name in close)
