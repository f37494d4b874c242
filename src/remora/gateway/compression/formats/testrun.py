"""Result lines of a test run under their file and outcome, reversibly: paths, padding and percentages are said once."""

from __future__ import annotations

import json
import re
import statistics

HEAD = "# rem-tests "
_RESULT = re.compile(
    r"^(?P<file>\S+?::(?:\w+::)*)(?P<name>\S.*?) (?P<status>[A-Z]+(?: \(.*\))?) +\[ *(?P<percent>\d+)%\]$"
)
_MARKS = ("+", "@", "\\")


def encode(text: str) -> str:
    """Groups of results; other lines stay as they are."""
    lines = text.split("\n")
    found = [_RESULT.match(line) for line in lines]
    widths = [len(line) for line, m in zip(lines, found, strict=True) if m]
    if len(widths) < 8:
        return text
    collected = re.search(r"^collected (\d+) items|^collecting \.\.\. collected (\d+) items", text, re.M)
    total = int(collected[1] or collected[2]) if collected else len(widths)
    width = statistics.mode(widths)
    out = [HEAD + json.dumps({"width": width, "total": total}, separators=(",", ":"))]
    group: tuple[str, str] | None = None
    for line, m in zip(lines, found, strict=True):
        if m is None:
            out.append(f"\\{line}" if line.startswith(_MARKS) else line)
            continue
        if (m["file"], m["status"]) != group:
            group = (m["file"], m["status"])
            out.append(f"@{m['file']} {m['status']}")
        out.append(f"+{m['name']}")
    return "\n".join(out)


def decode(text: str) -> str:
    head, _, rest = text.partition("\n")
    known = json.loads(head.removeprefix(HEAD))
    out: list[str] = []
    file = status = ""
    done = 0
    for line in rest.split("\n"):
        if line.startswith("@"):
            file, _, status = line[1:].partition(" ")
        elif line.startswith("+"):
            done += 1
            percent = f"[{done * 100 // known['total']:>3}%]"
            out.append(f"{file}{line[1:]} {status} ".ljust(known["width"] - len(percent)) + percent)
        else:
            out.append(line[1:] if line.startswith("\\") else line)
    return "\n".join(out)
