"""The parts of a text that have names: headings, keys, definitions, paragraphs. Together they are the whole text."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from remora.gateway.compression.formats import markdown
from remora.gateway.compression.formats.values import Unfaithful, dump, parse

_TOP = re.compile(
    r"^(?:export\s+|default\s+|async\s+|pub\s+|static\s+|public\s+)*(?:def|class|function|func|fn|struct|enum|interface|impl|trait|type)\s+\*?([\w.]+)"
)
_PLAIN = re.compile(r"[\w$@/+:-]+")


@dataclass(frozen=True, slots=True)
class Section:
    """`key` is unique in its text; `text` is what selecting it gives (a JSON value is valid JSON)."""

    key: str
    type: str
    text: str

    @property
    def preview(self) -> str:
        return " ".join(self.text.split())[:80]


def split(text: str, kind: str, depth: int = 2) -> list[Section]:
    if kind == "json":
        try:
            value = parse(text)
        except (ValueError, Unfaithful):
            value = None
        if isinstance(value, (dict, list)) and value:
            return _values(value, depth)
    if kind in ("markdown", "prose", "unknown", "html"):
        starts = sorted(markdown.headings(text.split("\n")))
        if len(starts) >= 2:
            return _headed(text.split("\n"), starts)
    if kind in ("python", "code"):
        lines = text.split("\n")
        starts = [i for i, line in enumerate(lines) if _TOP.match(line)]
        if len(starts) >= 2:
            return _headed(lines, starts, "definition")
    return _paragraphs(text)


def join(key: str, name: str) -> str:
    """Dotted path of a member; names with other characters are quoted."""
    part = name if _PLAIN.fullmatch(name) else f"[{dump(name)}]"
    return part if not key else f"{key}.{part}"


def _values(value: Any, depth: int, key: str = "") -> list[Section]:
    found: list[Section] = []
    members = (
        [(join(key, k), v) for k, v in value.items()]
        if isinstance(value, dict)
        else [(f"{key}[{i}]", v) for i, v in enumerate(value)]
    )
    for name, member in members:
        if depth > 1 and isinstance(member, (dict, list)) and member:
            found += _values(member, depth - 1, name)
        else:
            found.append(Section(name, _type(member), dump(member)))
    return found


def _type(value: Any) -> str:
    return "object" if isinstance(value, dict) else "array" if isinstance(value, list) else "value"


def _headed(lines: list[str], starts: list[int], kind: str = "heading") -> list[Section]:
    found: list[Section] = []
    if starts[0] > 0:
        found.append(Section("Preamble", kind, "\n".join(lines[: starts[0]]) + "\n"))
    names: Counter[str] = Counter()
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        top = _TOP.match(lines[start])
        title = top[1] if kind == "definition" and top else lines[start].lstrip("#").strip().rstrip("#").strip()
        names[title] += 1
        key = title if names[title] == 1 else f"{title}#{names[title]}"
        found.append(Section(key, kind, "\n".join(lines[start:end]) + ("\n" if end < len(lines) else "")))
    return found


def _paragraphs(text: str) -> list[Section]:
    """Blocks between blank lines; a text without any is cut every 40 lines."""
    parts = re.split(r"(?<=\n)(?=[^\n])(?<=\n\n)", text)
    if len(parts) < 2:
        lines = text.split("\n")
        parts = ["\n".join(lines[i : i + 40]) + ("\n" if i + 40 < len(lines) else "") for i in range(0, len(lines), 40)]
    return [Section(f"Paragraph {i}", "paragraph", part) for i, part in enumerate(parts, 1)]


def pick(sections: list[Section], keys: list[str]) -> tuple[list[Section], list[str]]:
    """Sections in the order asked for, and the names nothing answers to. `[40..79]`, `Paragraph 40-79` are ranges."""
    by_key = {s.key: s for s in sections}
    position = {s.key: i for i, s in enumerate(sections)}
    found: list[Section] = []
    unknown: list[str] = []
    for key in keys:
        span = re.fullmatch(r"(.*)\[(\d+)\.\.(\d+)\]|Paragraph (\d+)-(\d+)|#(\d+)-(\d+)", key)
        if key in by_key:
            found.append(by_key[key])
        elif span and span[6]:
            found += sections[int(span[6]) - 1 : int(span[7])]
        elif span and span[4]:
            found += [by_key[k] for i in range(int(span[4]), int(span[5]) + 1) if (k := f"Paragraph {i}") in by_key]
        elif span and f"{span[1]}[{span[2]}]" in by_key and f"{span[1]}[{span[3]}]" in by_key:
            found += sections[position[f"{span[1]}[{span[2]}]"] : position[f"{span[1]}[{span[3]}]"] + 1]
        elif inner := [s for s in sections if s.key.startswith((f"{key}.", f"{key}["))]:
            found += inner
        else:
            unknown.append(key)
    return found, unknown
