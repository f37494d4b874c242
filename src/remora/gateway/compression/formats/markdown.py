"""Markdown and reStructuredText: headings give their sections context."""

from __future__ import annotations

import re
from collections.abc import Sequence

from remora.gateway.compression.lines import Layout

_ATX = re.compile(r"^(#{1,6})\s+\S")
_UNDERLINE = re.compile(r"^(=|-|~|\^|\"|\*|\+){3,}\s*$")
_FENCE = re.compile(r"^\s*(?:```|~~~)")


def headings(lines: Sequence[str]) -> dict[int, int]:
    """Line -> level of every heading outside fences; underlined titles get levels in order of appearance."""
    found: dict[int, int] = {}
    marks: list[str] = []
    fenced = False
    for i, line in enumerate(lines):
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced:
            continue
        elif atx := _ATX.match(line):
            found[i] = len(atx[1])
        elif i and (under := _UNDERLINE.match(line)) and lines[i - 1].strip() and i - 1 not in found:
            title = lines[i - 1]
            if len(line.rstrip()) >= 0.6 * len(title.rstrip()) and not title.startswith((" ", "|", "-", "*")):
                if under[1] not in marks:
                    marks.append(under[1])
                found[i - 1] = marks.index(under[1]) + 1
    return found


def layout(lines: Sequence[str], numbered: bool) -> Layout:
    level = headings(lines)
    up: list[int] = []
    stack: list[int] = []
    prior: dict[int, float] = {}
    inside: list[int] = []
    fenced, item = False, (-1, 0)
    for i, line in enumerate(lines):
        if i in level:
            while stack and level[stack[-1]] >= level[i]:
                stack.pop()
            up.append(stack[-1] if stack else -1)
            stack.append(i)
            prior[i] = 1.0 - 0.15 * level[i]
            item = (-1, 0)
            continue
        top = stack[-1] if stack else -1
        bare = line.lstrip()
        depth = len(line) - len(bare)
        if re.match(r"(?:[-*+]|\d+[.)])\s", bare):
            item = (i, depth)
            up.append(top)
        elif item[0] >= 0 and bare and depth > item[1]:
            up.append(item[0])  # the continuation of a list item
        else:
            item = item if not bare else (-1, 0)
            up.append(top)
        if _FENCE.match(line):
            fenced = not fenced
            prior[i] = -0.5
        elif not bare or _UNDERLINE.match(line):
            prior[i] = -0.5
        elif fenced:
            prior[i] = 0.2
            inside.append(i)
    return Layout(lines, up=up, prior=prior, numbered=numbered, code=inside)
