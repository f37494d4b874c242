"""Takes away what carries no information, by type; never touches data, code or anything read from a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from remora.gateway.compression.detect import Hints
from remora.gateway.compression.formats.html import to_markdown

LEAST_SAVED = 0.03
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_REDRAW = re.compile(r"(?m)^[^\n]*\r(?=[^\n\r])")
_BLOB = re.compile(r"(?:data:(?P<mime>[\w/+.-]+);base64,)?(?P<data>[A-Za-z0-9+/]{2000,}={0,2})")
_LINK = re.compile(r"^\s*(?:[-*+]|\d+\.)?\s*\[([^\]]*)\]\([^)]*\)\s*$")
_STRUCTURE = re.compile(r"^\s*(?:#|```|~~~|\||>|[-*+] |\d+\. )")


@dataclass(frozen=True, slots=True)
class Switches:
    """Each step can be switched off for a server or tool."""

    strip_html: bool = True
    strip_ansi: bool = True
    deduplicate: bool = True
    collapse_links: bool = True
    blobs: bool = True


@dataclass(frozen=True, slots=True)
class Cleaned:
    """`lossy`: something other than spacing and terminal codes is gone, so the original must be kept."""

    text: str
    kind: str
    lossy: bool = False


def clean(text: str, kind: str, hints: Hints | None = None, switches: Switches | None = None) -> Cleaned:
    """The text without noise; unchanged where that would save less than 3 %."""
    hints, switches = hints or Hints(), switches or Switches()
    if hints.file_read:
        return Cleaned(text, kind)
    found, after, lossy = text, kind, False
    if kind == "html" and switches.strip_html:
        found = to_markdown(text)
        if found != text:
            after, lossy = "markdown", True
    steps: list[tuple[bool, bool, Callable[[str], str]]] = []
    if after in ("markdown", "prose"):
        steps = [
            (True, False, _spacing), (switches.deduplicate, True, deduplicate),
            (switches.collapse_links, True, collapse_links), (switches.blobs, True, drop_blobs),
        ]  # fmt: skip
    elif after in ("log", "test", "grep", "unknown"):
        steps = [(switches.strip_ansi, False, strip_terminal), (switches.blobs, True, drop_blobs)]
    for on, loses, step in steps:
        if on and (changed := step(found)) != found:
            found, lossy = changed, lossy or loses
    if len(found) > (1 - LEAST_SAVED) * len(text):
        return Cleaned(text, kind)
    return Cleaned(found, after, lossy)


def _spacing(text: str) -> str:
    text = re.sub(r"[ \t]+(?=\n)", "", text.replace("\r\n", "\n"))
    return re.sub(r"\n{4,}", "\n\n\n", text)


def strip_terminal(text: str) -> str:
    """Without colour codes; of redrawn progress lines the last state."""
    text = _ESCAPE.sub("", text.replace("\r\n", "\n"))
    return _REDRAW.sub("", text) if "\r" in text else text


def deduplicate(text: str) -> str:
    """A long paragraph that came before, word for word, becomes a reference."""
    seen: dict[str, int] = {}
    out, fenced = [], False
    for number, block in enumerate(re.split(r"\n\n+", text), 1):
        toggles = len(re.findall(r"(?m)^\s*(?:```|~~~)", block))
        key = " ".join(block.split())
        if len(key) >= 200 and not fenced and not toggles and not _STRUCTURE.match(block):
            if key in seen:
                out.append(f"[same as paragraph {seen[key]}]")
                continue
            seen[key] = number
        fenced ^= bool(toggles % 2)
        out.append(block)
    return "\n\n".join(out) if any(b.startswith("[same as paragraph") for b in out) else text


def collapse_links(text: str) -> str:
    """Of ten and more lines that are nothing but links, the first two."""
    out: list[str] = []
    run: list[str] = []
    for line in [*text.split("\n"), None]:
        if line is not None and _LINK.match(line):
            run.append(line)
            continue
        out.extend(run if len(run) < 10 else [*run[:2], f"[{len(run) - 2} links omitted]"])
        run = []
        if line is not None:
            out.append(line)
    return "\n".join(out)


def drop_blobs(text: str) -> str:
    def name(found: re.Match[str]) -> str:
        kind = found["mime"] or "data"
        return f"[base64 {kind} {len(found['data']) * 3 // 4} bytes omitted]"

    return _BLOB.sub(name, text)
