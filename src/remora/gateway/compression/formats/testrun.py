"""Result lines of a test run under their file and outcome, reversibly: paths, padding and percentages are said once."""

from __future__ import annotations

import json
import re
import statistics

HEAD = "# rem-tests "
_RESULT = re.compile(
    r"^(?P<file>\S+?::(?:\w+::)*)(?P<name>\S.*?) (?P<status>[A-Z]+(?: \(.*\))?) +\[ *(?P<percent>\d+)%\]$"
)
_MARKS = ("+", "*", "@", "\\")
WIDE = 160  # characters of a line of names


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
    base = ""  # of the name before: only what is in brackets is said of the next
    for line, m in zip(lines, found, strict=True):
        if m is None:
            out.append(f"\\{line}" if line.startswith(_MARKS) else line)
            group = None
            continue
        if (m["file"], m["status"]) != group:
            file = m["file"] if group is None or m["file"] != group[0] else ""
            group = (m["file"], m["status"])
            out.append(f"@{file} {m['status']}")
            base = ""
        name, bracket, rest = m["name"].partition("[")
        if " " in m["name"] or not name:
            out.append(f"*{m['name']}")
            base = ""
            continue
        short = f"[{rest}" if bracket and name == base else m["name"]
        if base and len(out[-1]) + len(short) < WIDE:
            out[-1] += f" {short}"
        else:
            out.append(f"+{m['name']}")
        base = name
    return "\n".join(out)


def decode(text: str) -> str:
    head, _, rest = text.partition("\n")
    known = json.loads(head.removeprefix(HEAD))
    out: list[str] = []
    file = status = ""
    done = 0

    def result(name: str) -> str:
        nonlocal done
        done += 1
        percent = f"[{done * 100 // known['total']:>3}%]"
        return f"{file}{name} {status} ".ljust(known["width"] - len(percent)) + percent

    for line in rest.split("\n"):
        if line.startswith("@"):
            same, _, status = line[1:].partition(" ")
            file = same or file
        elif line.startswith("*"):
            out.append(result(line[1:]))
        elif line.startswith("+"):
            base = ""
            for name in line[1:].split(" "):
                base = base if name.startswith("[") else name.partition("[")[0]
                out.append(result(base + name if name.startswith("[") else name))
        else:
            out.append(line[1:] if line.startswith("\\") else line)
    return "\n".join(out)
