"""What kind of text a result is: by what is known about the call, as long as the content does not contradict it."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from remora.gateway.compression.formats.values import is_json

SAMPLE = 8_192  # characters of head and of tail, enough to know a type by its lines
LINES = 120  # of head and of tail
_PATH_ARGUMENTS = ("path", "file", "filepath", "file_path", "filename", "uri", "url")
_READ_WORDS = {"read", "view", "open", "cat"}
_SLICE_ARGUMENTS = {"offset", "limit", "head", "tail", "lines", "start_line", "end_line", "range", "view_range", "page"}
_CODE_SUFFIXES = """
    js jsx ts tsx mjs cjs mts cts c h cc cpp hpp cxx rs go java kt kts scala swift rb php cs sh bash zsh sql lua r jl
    pl pm hs ml ex exs erl clj dart vue svelte css scss less proto graphql tf zig nim m mm f90 vb ps1
    """.split()
_SUFFIXES = {
    "py": "python", "pyi": "python", "json": "json", "ipynb": "json", "ndjson": "ndjson", "jsonl": "ndjson",
    "md": "markdown", "rst": "markdown", "markdown": "markdown", "html": "html", "htm": "html", "xml": "xml",
    "svg": "xml", "csv": "csv", "tsv": "csv", "diff": "diff", "patch": "diff", "log": "log", "yaml": "yaml",
    "yml": "yaml", "toml": "yaml", "ini": "yaml", "cfg": "yaml", "env": "yaml", "txt": "",
} | dict.fromkeys(_CODE_SUFFIXES, "code")  # fmt: skip
_MIMES = {
    "application/json": "json", "text/html": "html", "application/xhtml+xml": "html", "text/xml": "xml",
    "application/xml": "xml", "image/svg+xml": "xml", "text/csv": "csv", "text/tab-separated-values": "csv",
    "text/markdown": "markdown", "text/x-python": "python", "application/x-ndjson": "ndjson",
    "text/x-diff": "diff", "text/x-patch": "diff", "application/yaml": "yaml", "text/yaml": "yaml",
    "application/toml": "yaml", "text/x-yaml": "yaml",
}  # fmt: skip
_TOOL_WORDS = {
    "diff": "diff", "log": "log", "logs": "log", "grep": "grep", "tree": "listing", "snapshot": "snapshot",
}  # fmt: skip
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_STAMP = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d"
_LOG_LINE = re.compile(
    rf"^(?:\W{{0,3}}(?:\w{{1,6}}=)?\"?(?:{_STAMP}))|^\W{{0,2}}(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|TRACE)\b"
    r"|\blevel=\w+|\x1b\[|^\s+at [\w.$<>]+[ (]|^Traceback \(|^  File \""
)
_TEST_LINE = re.compile(
    r"::\S+ ERROR\b|\b\S+ (?:PASSED|FAILED|SKIPPED)\b|^(?:ok|not ok) \d+|^E   |^={5,}|^-{3,} \w|^FAILED "
    r"|^\s+[\u2713\u2717\u2715×●] |^(?:PASS|FAIL) "
    r"|^\S+\(?\d+[,:]\d+\)?:? (?:error|warning)|^\S+:\d+:\d+: (?:[A-Z]+\d+|error|warning|note)|^  *copying |^running "
    r"|^(?:npm|pip|error|warning)\b.*[:!]|^Collecting |^ +Compiling |^make\[?\d*|^\[ *\d+%\]"
)
_GREP_LINE = re.compile(r"^(?:[A-Za-z]:)?[^\s:]+[:-]\d+[:-]|^--$")
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+", re.M)
_NODE = re.compile(r"^\s*- (?:/\w+: |\w+(?: \"[^\n]*\")?(?: \[[^\]\n]+\])*:?(?: |$))")
_HEADING = re.compile(r"^(?:#{1,6} \S|(?:=|-|~|\^|\"|\*){4,}\s*$)")
_MARKUP = re.compile(r"^\s*(?:[-*+] |\d+\. |> |\|.*\|$)|\]\(\S+\)|^```|``[^`]+``|\*\*\S")
_YAML_LINE = re.compile(r"^\s*(?:- )*[\w.\"'/@$-]+\s*(?::(?:\s|$)|=\s)|^\s*\[+[\w.\"' -]+\]+\s*$|^\s*- |^\s*#|^---$")
_OUTER = re.compile(r"(?:- )?[\w.\"'/$-]+:(?:\s|$)|- |#|---|\.\.\.")
_CODE_LINE = re.compile(
    r"[;{}]\s*$|^\s*(?:def|class|import|from|return|if|for|while|function|const|let|var|export|public|private|static|func"
    r"|fn|use|package|struct|impl|#include|#define|try|else|elif|switch|case|type|interface|enum)\b"
)
_PATH_LINE = re.compile(
    r"^\s*(?:[\d.,]+[KMGTB]?\s+)?(?:[│├└─|`+\\ -]*)(?:[dlcbps-][rwxsStT-]{9}\S* .*"
    r"|(?:\./|/|~/)?[\w@.+~-]+(?:/[\w@.+~ \[\]()-]*)*/?)$"
)


@dataclass(frozen=True, slots=True)
class Hints:
    """What the call tells about its result."""

    mime: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    kind: str = ""  # a type set by hand
    verbatim: bool | None = None  # treat as a file read, or never

    @property
    def path(self) -> str:
        return next((v for k in _PATH_ARGUMENTS if isinstance(v := self.arguments.get(k), str)), "")

    @property
    def file_read(self) -> bool:
        if self.verbatim is not None:
            return self.verbatim
        name = self.tool.lower()
        reading = bool(_READ_WORDS & words_of(self.tool)) or "get_file" in name or "file_contents" in name
        return reading and bool(self.path)

    @property
    def slice_read(self) -> bool:
        return self.file_read and any(self.arguments.get(k) is not None for k in _SLICE_ARGUMENTS)


def words_of(name: str) -> set[str]:
    return {w.lower() for w in _WORD.findall(name)}


def detect(text: str, hints: Hints | None = None) -> str:
    """One of the types of the token table; a hint counts only if the content does not contradict it."""
    hints = hints or Hints()
    for guess in (hints.kind, _by_mime(hints.mime), _by_suffix(hints.path), _by_tool(hints.tool)):
        if guess and _plausible(guess, text):
            return guess
    return by_content(text)


def _by_mime(mime: str) -> str:
    mime = mime.split(";")[0].strip().lower()
    return _MIMES.get(mime, "json" if mime.endswith("+json") else "xml" if mime.endswith("+xml") else "")


def _by_suffix(path: str) -> str:
    name = re.split(r"[?#]", path)[0].rsplit("/", 1)[-1]
    return _SUFFIXES.get(name.rsplit(".", 1)[-1].lower(), "") if "." in name else ""


def _by_tool(tool: str) -> str:
    return next((_TOOL_WORDS[w] for w in sorted(words_of(tool)) if w in _TOOL_WORDS), "")


def _plausible(kind: str, text: str) -> bool:
    """Strict on what has a grammar; of the rest a path or a name knows more than the content."""
    if kind in ("json", "ndjson", "diff", "csv", "snapshot", "grep"):
        return _CHECKS[kind](text, _sample(text))
    return kind in ("code", "python") or not (text.lstrip()[:1] in ("{", "[") and is_json(text))


def by_content(text: str) -> str:
    if not text.strip():
        return "unknown"
    lines = _sample(text)
    for kind, check in _CHECKS.items():
        if check(text, lines):
            return kind
    return "prose" if _share(lines, re.compile(r"\w+ \w+ \w+")) > 0.5 else "unknown"


def _sample(text: str) -> list[str]:
    if len(text) > 2 * SAMPLE:
        text = text[:SAMPLE] + "\n" + text[-SAMPLE:]
    lines = [line for line in text.split("\n") if line.strip()]
    return lines if len(lines) <= 2 * LINES else [*lines[:LINES], *lines[-LINES:]]


def _share(lines: list[str], pattern: re.Pattern[str]) -> float:
    return sum(1 for line in lines if pattern.search(line)) / max(1, len(lines))


def _ndjson(text: str, lines: list[str]) -> bool:
    objects = sum(1 for line in lines[:400] if line.lstrip().startswith("{") and is_json(line))
    return len(lines) >= 3 and objects >= 0.95 * min(400, len(lines))


def _html(text: str, lines: list[str]) -> bool:
    head = text[:2000].lstrip("\ufeff \t\r\n").lower()
    return head.startswith(("<!doctype html", "<html")) or ("<html" in head and "<body" in text[:20_000].lower())


def _xml(text: str, lines: list[str]) -> bool:
    head = text.lstrip("\ufeff \t\r\n")
    return head.startswith("<?xml") or (head.startswith("<") and text.rstrip().endswith(">") and "</" in text)


def _diff(text: str, lines: list[str]) -> bool:
    return bool(_HUNK.search(text)) and bool(re.search(r"^(?:\+\+\+ |diff )", text, re.M))


def csv_delimiter(lines: list[str]) -> str:
    """The one delimiter that gives the same number of fields, at least two, in at least five lines; else empty."""
    for mark in (",", "\t", ";", "|"):
        try:
            counts = [len(row) for row in csv.reader((s.replace("\r", "") for s in lines), delimiter=mark) if row]
        except csv.Error:
            continue
        if (
            len(counts) >= 5
            and counts[0] >= 2
            and counts.count(counts[0]) >= 0.98 * len(counts)
            and _dense(lines, mark)
        ):
            return mark
    return ""


def _dense(lines: list[str], mark: str) -> bool:
    """Prose has commas too: cells are short, and a bar or a comma before a space is no delimiter."""
    if mark == "|" and _share(lines, re.compile(r"^\|.*\|$")) > 0.5:
        return False
    spaced = sum(line.count(mark + " ") for line in lines[:300]) / max(1, sum(line.count(mark) for line in lines[:300]))
    return spaced < 0.3 or mark == "\t"


def _csv(text: str, lines: list[str]) -> bool:
    return bool(csv_delimiter(lines)) and not (lines and lines[0].lstrip().startswith(("{", "[", "<")))


def _test(text: str, lines: list[str]) -> bool:
    return _share(lines, _TEST_LINE) > 0.25


def _log(text: str, lines: list[str]) -> bool:
    return _share(lines, _LOG_LINE) > 0.4


def _table(text: str, lines: list[str]) -> bool:
    if _share(lines, re.compile(r"^\|.*\|\s*$|^\+[-=+]+\+\s*$")) > 0.8:
        return True
    columns = [len(re.split(r"\s{2,}|\t", line.strip())) for line in lines]
    usual = max(set(columns), key=columns.count) if columns else 1
    return usual >= 3 and len(lines) >= 5 and columns.count(usual) > 0.7 * len(lines)


def _markdown(text: str, lines: list[str]) -> bool:
    fenced, headings, marked = False, 0, 0
    for line in lines:
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if not fenced and _HEADING.match(line):
            headings += 1
        marked += bool(_MARKUP.search(line))
    prose = _share(lines, re.compile(r"[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}"))
    if _share(lines, _CODE_LINE) > 0.4 and headings < 6:
        return False
    return (headings >= 2 and prose > 0.15 and _share(lines, re.compile(r"^#(?!#* \S)")) < 0.02) or (
        marked >= 0.2 * len(lines) and prose > 0.4
    )


def _listing(text: str, lines: list[str]) -> bool:
    return len(lines) >= 5 and _share(lines, _PATH_LINE) > 0.85 and _share(lines, re.compile(r"[/.│├└]")) > 0.5


def _config(text: str, lines: list[str]) -> bool:
    if len(re.findall(r"^\[\[?[\w.\"' :/-]+\]\]?\s*(?:#.*)?$", text, re.M)) >= 2 and _share(lines, _YAML_LINE) > 0.15:
        return True
    outer = [line for line in lines if line[:1] not in (" ", "\t")]
    if len(outer) >= 3 and all(_OUTER.match(line) for line in outer) and any(line[:1] != "#" for line in outer):
        return True
    keyed = _share(lines, re.compile(r"^\s*(?:- )*[\w.\"'/@$-]+:(?:\s|$)|^\s*- "))
    return keyed > 0.45 and _share(lines, _YAML_LINE) > 0.55 and _share(lines, re.compile(r"[;{]\s*$")) < 0.1


def _fenced(text: str, lines: list[str]) -> bool:
    """Markdown with much code in it must not pass for code."""
    return text.count("\n```") >= 2 and len(re.findall(r"^#{1,6} \S", text, re.M)) >= 2


def _python(text: str, lines: list[str]) -> bool:
    starts = _share(
        lines, re.compile(r"^\s*(?:def|class|import|from \S+ import|@\w|async def|elif|except|self\.)\b|:\s*$|\"\"\"")
    )
    return (
        starts > 0.12
        and _share(lines, re.compile(r"[;{]\s*$")) < 0.08
        and bool(re.search(r"^(?:def|class|import|from|async def)\b.*", text, re.M))
    )


_CHECKS: dict[str, Callable[[str, list[str]], bool]] = {
    "json": lambda text, lines: text.lstrip()[:1] in ("{", "[", '"') and is_json(text),
    "ndjson": _ndjson,
    "html": _html,
    "xml": _xml,
    "diff": _diff,
    "listing": _listing,
    "csv": _csv,
    "snapshot": lambda text, lines: "[ref=" in text and _share(lines, _NODE) > 0.7,
    "gitlog": lambda text, lines: len(re.findall(r"(?m)^commit [0-9a-f]{7,40}", text)) > 1 and text[:7] == "commit ",
    "test": _test,
    "grep": lambda text, lines: _share(lines, _GREP_LINE) >= 0.6 and _share(lines, _LOG_LINE) < 0.5,
    "log": _log,
    "table": _table,
    "yaml": lambda text, lines: not _fenced(text, lines) and _config(text, lines) and not _python(text, lines),
    "markdown": lambda text, lines: _fenced(text, lines) or (not _python(text, lines) and _markdown(text, lines)),
    "python": _python,
    "code": lambda text, lines: _share(lines, _CODE_LINE) > 0.3,
}  # fmt: skip
