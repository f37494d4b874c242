"""Texts whose indentation is their structure: code, YAML and other configuration, accessibility snapshots."""

from __future__ import annotations

import re
from collections.abc import Sequence

from remora.gateway.compression.lines import Layout

_DEFINES = re.compile(
    r"^\s*(?:export\s+|default\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|pub(?:\([^)]*\))?\s+|unsafe\s+|abstract\s+|final\s+)*"
    r"(?:def|class|function\*?|func|fn|interface|struct|enum|trait|impl|type|module|namespace|macro_rules!)\b"
)
_SIGNATURE = re.compile(
    r"^[A-Za-z_][\w\s*&<>:,\[\]~.]*\([^;]*$|^[\w.]+\s*=\s*function\b|^\s+(?:async\s+)?[\w$#]+\([^()]*\)\s*\{\s*$"
)
_CONSTANT = re.compile(
    r"^(?:export\s+)?(?:const|let|var|static|final)?\s*[A-Z_a-z$][\w$]*(?:\s*:\s*[^=]+)?\s*=\s*\S|^#define\s"
)
_IMPORT = re.compile(r"^\s*(?:import|from\s+\S+\s+import|#include|use|package|require|using)\b")
_RAISES = re.compile(r"^\s*(?:raise|throw|panic!|return\s+Err)\b|\b(?:throw new|throw|abort|panic)\b")
_PARAMETER = re.compile(r"^\s+\*{0,2}\w+\s*(?::\s*[^=()]+)?=\s*[^=].*,$|^\s+\w+:\s*[\w\[\]|. \"']+(?:\s*=.*)?,$")
_DOC = re.compile(r'^\s*[rbuRBU]?(?:"""|\'\'\')\s*\S')
_COMMENT = re.compile(r"^\s*(?:#|//|/\*|\*)")
_NAMES = re.compile(r"^\s+(?:- )?[\"']?(?:name|id|title|key|path|number|uid|slug)[\"']?\s*[:=]\s*\S")
_STATE = re.compile(
    r"\[(?:checked|disabled|expanded|selected|active|pressed|invalid|level=1)\b|^\s*- (?:alert|status|dialog|heading)\b"
)
_QUOTED = re.compile(r'"[^"]+"')
_ACTS = re.compile(
    r"^\s*- (?:button|link|textbox|searchbox|combobox|checkbox|radio|menuitem|tab|option|switch|slider|spinbutton)\b"
)


def parents(lines: Sequence[str]) -> list[int]:
    """For each line the nearest line above that is indented less; blank lines belong to what is before them."""
    found: list[int] = []
    stack: list[tuple[int, int]] = []
    for i, line in enumerate(lines):
        bare = line.lstrip(" \t")
        if not bare or bare in ("}", ")", "]", "},", "),", "],", "});", "};", ")}"):
            found.append(stack[-1][1] if stack else -1)
            continue
        depth = len(line) - len(bare)
        while stack and stack[-1][0] >= depth:
            stack.pop()
        found.append(stack[-1][1] if stack else -1)
        stack.append((depth, i))
    return found


def code(lines: Sequence[str], numbered: bool) -> Layout:
    """Definitions carry their bodies; signatures, first lines of documentation, constants and errors matter alone."""
    prior: dict[int, float] = {}
    documented = False
    for i, line in enumerate(lines):
        if _DEFINES.match(line):
            prior[i], documented = 2.0, True
        elif _RAISES.search(line):
            prior[i] = 1.2
        elif _DOC.match(line) and documented:
            prior[i], documented = 1.2, False
        elif line.strip() in ('"""', "'''", 'r"""', "/**"):
            if documented and i + 1 < len(lines):
                prior[i + 1], documented = 1.2, False
        elif _SIGNATURE.match(line):
            prior[i] = 1.5
        elif _PARAMETER.match(line):
            prior[i] = 0.9
        elif _CONSTANT.match(line):
            prior[i] = 0.8
        elif _IMPORT.match(line):
            prior[i] = 0.2
        elif not line.strip() or _COMMENT.match(line):
            prior[i] = -0.2
    return Layout(lines, up=parents(lines), prior=prior, numbered=numbered)


def config(lines: Sequence[str], numbered: bool) -> Layout:
    up = parents(lines)
    section = -1
    for i, line in enumerate(lines):  # [section] of TOML and INI
        if re.match(r"^\[+[^\]]+\]+\s*(?:#.*)?$", line):
            section = i
            up[i] = -1
        elif section >= 0 and up[i] < 0:
            up[i] = section
    # a list item's members stand deeper than its dash: they are its children
    items = [i for i, line in enumerate(lines) if line.startswith("- ")]
    if items:
        for i, line in enumerate(lines):
            if up[i] < 0 and line.startswith(" ") and i > items[0]:
                up[i] = max(j for j in items if j < i)
    return Layout(
        lines if numbered else narrow(lines), up=up, siblings=bool(items), numbered=numbered, title=_titles(lines, up)
    )


def _titles(lines: Sequence[str], up: Sequence[int]) -> dict[int, int]:
    """For each list item of the outermost list the first line in it that names it."""
    found: dict[int, int] = {}
    item = -1
    for i, line in enumerate(lines):
        if line.startswith("- ") or (line[:1] not in (" ", "") and up[i] < 0):
            item = i
        if item >= 0 and item not in found and item != i and _NAMES.match(line):
            found[item] = i
    return found


def snapshot(lines: Sequence[str]) -> Layout:
    """What can be acted upon matters, then names and states; bare containers only carry them."""
    prior = {}
    up = parents(lines)
    names = [_QUOTED.search(line) for line in lines]
    for i, line in enumerate(lines):
        name, above = names[i], names[up[i]] if up[i] >= 0 else None
        if _STATE.search(line):
            prior[i] = 0.8
        elif _ACTS.match(line):
            prior[i] = 0.6
        elif name and above and name[0] == above[0]:  # the cell that says what its row says
            prior[i] = -1.5
        elif not name and not re.search(r": \S", line):
            prior[i] = -0.8
    return Layout(narrow(lines), unit="nodes", up=up, prior=prior, siblings=True)


def narrow(lines: Sequence[str]) -> list[str]:
    """Indentation by one column a level where it was two or four: spacing only."""
    depths = {len(line) - len(line.lstrip(" ")) for line in lines if line.strip()}
    step = min((d for d in depths if d), default=1)
    if step < 2 or any(d % step for d in depths):
        return list(lines)
    return [" " * ((len(line) - len(line.lstrip(" "))) // step) + line.lstrip(" ") for line in lines]


def block(lines: Sequence[str], start: int) -> list[int]:
    """The line of a definition and its body: everything deeper, and a closing line at its own depth."""
    depth = len(lines[start]) - len(lines[start].lstrip())
    found, opened = [start], False
    for i in range(start + 1, len(lines)):
        bare = lines[i].strip()
        deeper = len(lines[i]) - len(lines[i].lstrip()) > depth
        if bare and not deeper:
            if bare[0] in "})]" or (not opened and bare == "{"):
                found.append(i)
                if bare[0] == "}" or bare.endswith(":"):
                    opened = opened or bare.endswith((":", "{"))
                    if not opened:
                        break
                continue
            break
        opened = opened or bool(bare and deeper)
        found.append(i)
    while found and not lines[found[-1]].strip():
        found.pop()
    return found
