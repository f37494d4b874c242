"""Neighbouring lines that begin and end alike: what they share stands once above them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from remora.gateway.compression.deadline import check
from remora.gateway.compression.formats.table import common_prefix
from remora.gateway.compression.formats.values import dump

HEAD = "# rem-shared: lines between @( [a, b] and @) begin with a and end with b"
OPEN, CLOSE, PLAIN = "@( ", "@)", "@:"
AHEAD = 100  # lines looked at for one group
LEAST = 24  # characters a group saves
_WORD_END, _WORD_START = re.compile(r"\w*\Z"), re.compile(r"\w*")


def encode(text: str) -> str:
    lines = text.split("\n")
    out, at = [HEAD], 0
    while at < len(lines):
        count, before, after = _group(lines, at)
        check()
        if count < 3:
            out.append(f"{PLAIN}{lines[at]}" if lines[at].startswith((OPEN, CLOSE, PLAIN)) else lines[at])
            at += 1
            continue
        out.append(f"{OPEN}[{dump(before)},{dump(after)}]")
        middles = [line[len(before) : len(line) - len(after)] for line in lines[at : at + count]]
        out += [f"{PLAIN}{m}" if m.startswith((OPEN, CLOSE, PLAIN)) else m for m in middles]
        at += count
        if at == len(lines) or _group(lines, at)[0] < 3:
            out.append(CLOSE)
    return "\n".join(out) if len(out) > len(lines) + 1 else text


def _group(lines: Sequence[str], at: int) -> tuple[int, str, str]:
    """The run from a line on that saves most by what its lines share."""
    before, after = lines[at], ""
    best = (0, "", "")
    most = LEAST
    for n, line in enumerate(lines[at + 1 : at + AHEAD], 2):
        if n == 2:
            before = common_prefix([before, line])
            after = common_prefix([lines[at][len(before) :][::-1], line[len(before) :][::-1]])[::-1]
        elif not line.startswith(before) or not line.endswith(after) or len(line) < len(before) + len(after):
            before = common_prefix([before, line])
            after = common_prefix([after[::-1], line[len(before) :][::-1]])[::-1]
        before = before[: len(before) - len(_WORD_END.search(before)[0])]  # type: ignore[index]
        after = after[len(_WORD_START.match(after)[0]) :]  # type: ignore[index]
        if len(before) + len(after) < 4:
            break
        saved = (n - 1) * (len(before) + len(after)) - 12
        if saved > most:
            most, best = saved, (n, before, after)
    return best


def decode(text: str) -> str:
    out: list[str] = []
    before = after = ""
    for line in text.split("\n")[1:]:
        if line.startswith(OPEN):
            before, after = json.loads(line[len(OPEN) :])
        elif line == CLOSE:
            before = after = ""
        else:
            out.append(before + line.removeprefix(PLAIN) + after)
    return "\n".join(out)
