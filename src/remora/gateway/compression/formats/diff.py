"""Unified diffs: changed lines before context, headers carry their hunks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from remora.gateway.compression.lines import Layout

_FILE = re.compile(r"^(?:diff |index |--- |\+\+\+ |Only in |Binary files |new file |deleted file |rename |similarity )")


def layout(lines: Sequence[str]) -> Layout:
    up, prior, headers = [], {}, []
    file, hunk, header = -1, -1, False
    for i, line in enumerate(lines):
        if line.startswith("@@"):
            hunk, header = i, False
            up.append(file)
            prior[i] = 0.2
        elif _FILE.match(line) and (header or hunk < 0 or line.startswith(("diff ", "Only in ")) or _pair(lines, i)):
            if not header:
                file = i
            header, hunk = True, -1
            headers.append(i)
            up.append(file if file != i else -1)
            prior[i] = 0.8 if line.startswith("+++ ") else 0.0
        else:
            header = False
            up.append(hunk if hunk >= 0 else file)
            changed = line[:1] in "+-" and line[1:].strip()
            prior[i] = 0.6 if changed else -0.8 if hunk >= 0 else 0.0
    return Layout(lines, up=up, prior=prior, faint=frozenset(headers))


def _pair(lines: Sequence[str], i: int) -> bool:
    return lines[i].startswith("--- ") and i + 1 < len(lines) and lines[i + 1].startswith("+++ ")
