"""Shorter forms that lose nothing: decode(encode(text)) is the text, character by character (JSON: value by value)."""

from __future__ import annotations

import json
import re
from typing import Any

from remora.gateway.compression.formats import factor, repeats, shared, table, testrun
from remora.gateway.compression.formats.table import common_prefix
from remora.gateway.compression.formats.values import Unfaithful, dump, parse

_RUN = re.compile(r" ×(\d[\d,]*)$")
_HIT = re.compile(r"^([^:\n]+):(\d+[:-].*)$", re.S)


def encode(text: str, kind: str, factored: bool = True) -> str | None:
    """The shortest form that gives the text back, None if there is none.

    Not `factored`: cells of tables and lines stand as they are, which is longer and easier to read.
    """
    candidates: list[str] = []
    if kind == "json":
        return _json(text, factored)
    if kind == "ndjson":
        return _ndjson(text, factored)
    if kind == "grep":
        candidates.append(by_file(text))
    if kind in ("log", "test"):
        candidates += [runs(text), prefixed(runs(text)), prefixed(text), testrun.encode(text)]
    if factored and kind in ("log", "test", "gitlog", "unknown"):
        shortest = min([text, *candidates], key=len)
        once = repeats.encode(shortest)
        candidates += [once, shared.encode(once), repeats.encode(shared.encode(shortest))]
    fit = [c for c in candidates if len(c) < len(text) and decode(c) == text]
    return min(fit, key=len, default=None)


def decode(text: str) -> str:
    """The text of a form made by `encode` (not for JSON: see table.decode_tree)."""
    head, _, rest = text.partition("\n")
    if head == "# rem-grep":
        return _flat(rest)
    if head.startswith("# rem-lines "):
        known = json.loads(head.removeprefix("# rem-lines "))
        lines = [known["prefix"] + line[1:] if line.startswith(" ") else line for line in rest.split("\n")]
        return decode("\n".join(lines)) if known.get("runs") else "\n".join(lines)
    if head.startswith(repeats.HEAD):
        return decode(repeats.decode(text))
    if head == shared.HEAD:
        return decode(shared.decode(text))
    if head.startswith(testrun.HEAD):
        return testrun.decode(text)
    if head == "# rem-runs":
        return _spread(rest)
    return text


def _json(text: str, factored: bool) -> str | None:
    try:
        value = parse(text)
    except (ValueError, Unfaithful):
        return minified(text)
    packed = _packed(value, factored)
    plain = dump(value)
    try:
        same = table.decode_tree(parse(packed)) == value
    except (ValueError, TypeError, KeyError, IndexError):
        same = False
    return packed if same and len(packed) < len(plain) else plain


def _packed(value: Any, factored: bool) -> str:
    """Compact JSON in which arrays of like objects stand as tables."""
    if isinstance(value, list) and value:
        found = table.as_table(value)
        if found:
            return min(_columns(found, factored), dump(value), key=len)
        return "[" + ",".join(_packed(v, factored) for v in value) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{dump(k)}:{_packed(v, factored)}" for k, v in value.items()) + "}"
    return dump(value)


def _columns(found: table.Table, factored: bool) -> str:
    plain = table.encode(found)
    return min(plain, factor.encode(found), key=len) if factored else plain


def minified(text: str) -> str | None:
    """JSON without white space between its tokens, for documents that must not be written anew."""
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[^\s"]+|\s+', text, re.S)
    return "".join(t for t in tokens if not t.isspace()) if "".join(tokens) == text else None


def _ndjson(text: str, factored: bool) -> str | None:
    lines = text.split("\n")
    try:
        rows = [parse(line) for line in lines if line.strip()]
    except (ValueError, Unfaithful):
        return None
    found = table.as_table(rows)
    if found is None:
        return None
    shown = _columns(found, factored)
    return shown if len(shown) < len(text) and table.decode_tree(parse(shown)) == rows else None


def runs(text: str) -> str:
    """Equal neighbouring lines as one with its count."""
    lines = text.split("\n")
    if any(_RUN.search(line) for line in lines):
        return text
    out: list[str] = []
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and lines[end] == lines[at]:
            end += 1
        out.append(f"{lines[at]} ×{end - at}" if end - at > 1 and lines[at] else "\n".join(lines[at:end]))
        at = end
    found = "\n".join(out)
    return "# rem-runs\n" + found if found != text else text


def _spread(text: str) -> str:
    out: list[str] = []
    for line in text.split("\n"):
        run = _RUN.search(line)
        out.extend([line[: run.start()]] * int(run[1].replace(",", "")) if run else [line])
    return "\n".join(out)


def prefixed(text: str) -> str:
    """What all full lines begin with (a date, a host), once."""
    head, _, rest = text.partition("\n")
    body = rest if head == "# rem-runs" else text
    lines = body.split("\n")
    full = [line for line in lines if line and not line.startswith(" ")]
    common = common_prefix(full)
    common = common[: max(common.rfind(c) for c in " T[") + 1]
    if len(common) < 6:
        return text
    made = "\n".join(" " + line[len(common) :] if line.startswith(common) else line for line in lines)
    known = {"prefix": common} | ({"runs": True} if body is rest else {})
    return f"# rem-lines {dump_plain(known)}\n" + (f"# rem-runs\n{made}" if known.get("runs") else made)


def dump_plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def by_file(text: str) -> str:
    """Hits under their file's name instead of beside it."""
    out, last = ["# rem-grep"], ""
    for line in text.split("\n"):
        hit = _HIT.match(line)
        if not hit:
            out.append(f"\\{line}")
            last = ""
            continue
        if hit[1] != last:
            out.append(hit[1])
            last = hit[1]
        out.append(f" {hit[2]}")
    return "\n".join(out)


def _flat(text: str) -> str:
    out, file = [], ""
    for line in text.split("\n"):
        if line.startswith(" "):
            out.append(f"{file}:{line[1:]}")
        elif line.startswith("\\"):
            out.append(line[1:])
        else:
            file = line
    return "\n".join(out)
