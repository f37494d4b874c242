"""Blocks of lines that come again word for word: numbered where they first stand, named where they return."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from remora.gateway.compression.deadline import STEP, check

HEAD = "# rem-repeats: "
_TOLD = "{0}{{N … {0}}} is block N, {0}=N says it again, {0}-NX is N times X"
LEAST = 32  # characters of a block that pays for its marks
_MARKS = "#@%~^§"
_RULER = re.compile(r"([=_*~.+-])\1{9,}")


def encode(text: str) -> str:
    """The text itself when it holds all our marks."""
    mark = next((m for m in _MARKS if not re.search(rf"{re.escape(m)}[{{}}=-]", text)), "")
    if not mark:
        return text
    lines = text.split("\n")
    found = _returns(lines)
    cuts = {at for _, source, length in found for at in (source, source + length)}
    number: dict[int, int] = {}
    opens: dict[int, int] = {}  # first line of a block -> line after it
    jumps: dict[int, tuple[int, list[int]]] = {}
    for at, source, length in found:
        borders = sorted(c for c in cuts if source <= c <= source + length)
        starts = borders[:-1]
        opens.update(zip(starts, borders[1:], strict=True))
        jumps[at] = (length, starts)
    for start in sorted(opens):
        number[start] = len(number) + 1
    out, at, closes = [HEAD + _TOLD.format(mark)], 0, -1
    while at < len(lines):
        if at == closes and at not in opens:
            out.append(mark + "}")
        if at in jumps:
            length, starts = jumps[at]
            out.append("".join(f"{mark}={number[s]}" for s in starts))
            at += length
            continue
        if at in opens:
            out.append(f"{mark}{{{number[at]}")
            closes = opens[at]
        out.append(_RULER.sub(lambda m: f"{mark}-{len(m[0])}{m[1]}", lines[at]))
        at += 1
    return "\n".join(out)


def _returns(lines: Sequence[str]) -> list[tuple[int, int, int]]:
    """(line, the earlier line where the same block stands, its length); earlier blocks are never returns themselves."""
    seen: dict[tuple[str, str], list[int]] = defaultdict(list)
    literal = [True] * len(lines)
    found: list[tuple[int, int, int]] = []
    at = 0
    while at < len(lines):
        if at % STEP == 0:
            check()
        pair = (lines[at], lines[at + 1] if at + 1 < len(lines) else "")
        best, source = 0, -1
        for start in seen[pair][-8:]:
            length = 0
            while (
                at + length < len(lines)
                and start + length < at
                and literal[start + length]
                and lines[start + length] == lines[at + length]
            ):
                length += 1
            if length > best:
                best, source = length, start
        if best and sum(len(line) + 1 for line in lines[at : at + best]) >= LEAST:
            found.append((at, source, best))
            literal[at : at + best] = [False] * best
            at += best
        else:
            seen[pair].append(at)
            at += 1
    return found


def decode(text: str) -> str:
    mark = text[len(HEAD)]
    short = re.compile(rf"{re.escape(mark)}-(\d+)(.)", re.S)
    out: list[str] = []
    blocks: dict[int, list[str]] = {}
    block: list[str] | None = None
    for line in text.split("\n")[1:]:
        if line.startswith(mark + "{"):
            block = blocks[int(line[2:])] = []
        elif line == mark + "}":
            block = None
        elif line.startswith(mark + "="):
            block = None
            for number in line[2:].split(mark + "="):
                out += blocks[int(number)]
        else:
            plain = short.sub(lambda m: m[2] * int(m[1]), line)
            out.append(plain)
            if block is not None:
                block.append(plain)
    return "\n".join(out)
