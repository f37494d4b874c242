"""Reading a stored text: by characters, lines, sections, pattern, path or question. Pure functions; every answer says how to go on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from remora.gateway.compression.detect import Hints
from remora.gateway.compression.formats import json as documents
from remora.gateway.compression.formats import table as tables
from remora.gateway.compression.formats.layouts import layout_of
from remora.gateway.compression.formats.values import Unfaithful, dump, parse
from remora.gateway.compression.job import analysed, ranked
from remora.gateway.compression.lines import LONG, partial, pieces
from remora.gateway.compression.relevance import ranking
from remora.gateway.compression.sections import join, pick, split
from remora.gateway.compression.strategies.progressive import page_end
from remora.gateway.stash import jsonpath
from remora.gateway.stash.pattern import compiled, windows

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
    for first, last in wanted:
        if previous and first > previous + 1:
            out.append(f"⋯ lines {previous + 1}-{first - 1} omitted ⋯")
        for number in range(first, last + 1):
            line = lines[number - 1]
            if out and size + len(line) + 1 > request.limit:
                rest = f"{number}-{wanted[-1][1]}"
                return Answer(
                    "\n".join(
                        [
                            *out,
                            f'[rem: lines to {number - 1} of {len(lines)} | next: read_more("{request.handle}", q="{rest}")]',
                        ]
                    )
                )
            if len(line) > request.limit:
                start = sum(len(text_line) + 1 for text_line in lines[: number - 1])
                pieces_of = Request(request.handle, "range", offset=start, limit=request.limit)
                return Answer(by_range(text, "unknown", pieces_of))
            out.append(line)
            size += len(line) + 1
        previous = max(previous, last)
    return Answer("\n".join(out) if out else f"(no such lines; the text has {len(lines)})")


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
    return f'{part}\n[rem: chars {request.offset}-{end} of {len(text)} | next: read_more("{request.handle}", mode="{mode}", q={dump(request.q)}, offset={end})]'


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
        for i in range(first, stop):
            block.append(f"{i + 1}{':' if i in matching else '-'}{lines[i][: request.limit]}")
        cost = sum(len(line) + 1 for line in block)
        if out and size + cost > request.limit:
            break
        out += block
        size += cost
        last = max(last, stop - 1)
        at += 1
    onward = (
        f' | next: read_more("{request.handle}", mode="grep", q={dump(request.q)}, offset={at})'
        if at < len(hits)
        else ""
    )
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


# ---------------------------------------------------------------- by question
def search(text: str, kind: str, question: str, limit: int, seen: str = "") -> str:
    """The best units for a question in score order, within `limit` characters, without what `seen` shows already."""
    value = None
    if kind == "json":
        try:
            value = parse(text)
        except (ValueError, Unfaithful):
            value = None
    if isinstance(value, (dict, list)) and value:
        return _search_values(value, question, limit, seen)
    return _search_lines(text, kind, question, limit, seen)


def _search_lines(text: str, kind: str, question: str, limit: int, seen: str) -> str:
    import numpy as np

    layout = layout_of(kind, text.split("\n"), Hints(verbatim=True))
    lines = layout.lines
    units = pieces(lines)
    first_of: dict[int, int] = {}
    for i, unit in enumerate(units):
        first_of.setdefault(unit.line, i)
    up = (
        tuple(first_of[layout.up[u.line]] if layout.up[u.line] >= 0 else -1 for u in units)
        if layout.up is not None
        else None
    )
    analysis = analysed(tuple(lines[u.line][u.start : u.end] for u in units), up, layout.siblings)
    prior = np.zeros(len(units))
    for line, worth in layout.priors(question).items():
        prior[first_of[line]] = worth
    weight = np.array([0.5 if u.line in layout.faint else 1.0 for u in units])
    score, _ = ranking(analysis, question, prior, weight)
    shown = {_bare(line) for line in seen.split("\n")}
    chosen: dict[int, list[int]] = {}
    left, total = limit - 40, 0
    for i in ranked(score):
        unit = units[i]
        if not lines[unit.line].strip() or _bare(lines[unit.line]) in shown:
            continue
        total += 1
        cost = unit.end - unit.start + 8 + 16 * (unit.end - unit.start < len(lines[unit.line]))
        if cost <= left and left > 0:
            left -= cost
            chosen.setdefault(unit.line, []).append(i)
    best = {line: max(float(score[i]) for i in mine) for line, mine in chosen.items()}
    out = []
    for block in sorted(_blocks(sorted(chosen)), key=lambda b: -max(best[line] for line in b)):
        for line in block:
            parts = [units[i] for i in sorted(chosen[line])]
            out.append(f"{line + 1}:{partial(lines[line], parts)}")
    return "\n".join([*out, f"[rem: {len(out):,} of {total:,} lines]"])[:limit] if out else ""


def _bare(line: str) -> str:
    return " ".join(re.sub(r"^\d+[,;\t|]", "", line).split())


def _blocks(lines: list[int]) -> list[list[int]]:
    found: list[list[int]] = []
    for line in lines:
        if found and line == found[-1][-1] + 1:
            found[-1].append(line)
        else:
            found.append([line])
    return found


def _search_values(value: Any, question: str, limit: int, seen: str) -> str:
    import numpy as np

    document = documents.Document(value)
    analysis = analysed(tuple(document.texts), tuple(document.up), True)
    prior = np.array([document.prior(i) for i in range(len(document.units))])
    score, _ = ranking(analysis, question, prior)
    paths = _paths(document)
    out: list[str] = []
    left, total = limit - 40, 0
    named: set[int] = set()
    for i in ranked(score):
        if not document.is_value(i):
            continue
        shown = _shown(document, i)
        if len(shown) > 12 and _inner(document, i, shown) in seen:
            continue
        total += 1
        node = document.nodes[document.units[i].node]
        line = f"{paths[document.units[i].node]}: {shown}"
        if node.kind == "row" and node.table is not None and node.parent not in named:
            named.add(node.parent)
            line = f"{paths[node.parent]}: {{{tables.head(node.table, len(node.table.cells))}}}\n{line}"
        if len(line) + 1 <= left:
            out.append(line)
            left -= len(line) + 1
    return "\n".join([*out, f"[rem: {len(out):,} of {total:,} values]"]) if out else ""


def _inner(document: documents.Document, unit: int, shown: str) -> str:
    """What of a value would stand in the text shown before."""
    node = document.nodes[document.units[unit].node]
    if node.kind == "row" and node.table is not None:
        return _cells(node.table, node.value)
    return f"{dump(node.key)}:{shown}" if node.key is not None else shown


def _cells(table: tables.Table, row: int) -> str:
    """A row as it stands in a table, long cells left to their own lines."""
    cells = (tables.cell_text(table, row, i) for i in table.varying)
    return "[" + ",".join(cell if len(cell) <= LONG + 2 else '"…"' for cell in cells) + "]"


def _shown(document: documents.Document, unit: int) -> str:
    node, piece = document.nodes[document.units[unit].node], document.units[unit].piece
    if piece >= 0:
        return dump(node.value[node.cuts[piece] : node.cuts[piece + 1]])
    if node.kind == "row" and node.table is not None:
        return _cells(node.table, node.value)
    return dump(node.value)


def _paths(document: documents.Document) -> list[str]:
    found: list[str] = []
    position: dict[int, int] = {}
    for node in document.nodes:
        if node.parent < 0:
            found.append("$")
            continue
        above = found[node.parent].removeprefix("$")
        if node.key is not None:
            found.append(join(above, node.key))
        elif node.column >= 0 and node.table is None:
            row = document.nodes[node.parent]
            found.append(join(above, row.table.columns[node.column] if row.table else ""))
        else:
            at = position.get(node.parent, 0)
            position[node.parent] = at + 1
            found.append(f"{above}[{at}]")
    return found
