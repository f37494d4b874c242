"""HTML pages as Markdown: what a reader sees, nothing of how it is drawn. Code text keeps every character."""

from __future__ import annotations

import html
import re

from remora.gateway.compression.deadline import watched

_TOKEN = re.compile(
    r"<!--.*?(?:-->|$)|<!\[CDATA\[.*?(?:\]\]>|$)|<[!?][^>]*>"
    r"|<(?P<close>/?)(?P<name>[a-zA-Z][\w:-]*)(?P<attrs>(?:[^<>\"']|\"[^\"]*\"|'[^']*')*+)>|(?P<text>[^<]+)|(?P<lone><)",
    re.S,
)
_ATTR = re.compile(r"([\w:-]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?")
_RAW = {"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "head"}
_VOID = {"br", "hr", "img", "input", "meta", "link", "wbr", "source", "area", "base", "col", "embed", "track", "param"}
_BLOCK = {
    "p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "ul", "ol", "dl", "dt", "dd",
    "table", "form", "fieldset", "figure", "figcaption", "blockquote", "address", "details", "summary", "body", "html",
    "caption", "tbody", "thead", "tfoot", "legend", "option", "select", "textarea", "button", "label",
}  # fmt: skip
_HEADINGS = {f"h{i}": i for i in range(1, 7)}
_HIDDEN = re.compile(r"(?i)(?:^|\s)hidden(?:\s|=|$)|display\s*:\s*none|visibility\s*:\s*hidden")
_ANCHOR = re.compile(r"<[a-zA-Z][^<>]*\s(?:id|name)=[\"']?([^\"'\s>]+)")
_SPACE = re.compile(r"[ \t\r\n\f]+")
_TITLE = re.compile(r"(?is)<title[^>]*>(.*?)</title>")


def to_markdown(text: str) -> str:
    """Markdown of a page; the page itself when almost nothing readable came out."""
    page = _Page()
    page.read(text)
    found = page.text()
    title = _TITLE.search(text)
    if title and (name := _plain(title[1]).strip()) and name not in found[:2000]:
        found = f"# {name}\n\n{found}"
    visible = len(_SPACE.sub(" ", re.sub(r"(?s)<(script|style)\b.*?</\1>|<[^>]+>", " ", text)).strip())
    return found if len(found.strip()) >= 0.02 * visible else text


def _plain(text: str) -> str:
    return html.unescape(_SPACE.sub(" ", text)).replace("\u00a0", " ")


class _Page:
    def __init__(self) -> None:
        self.out: list[str] = []
        self.newlines = 2  # line ends at the end of `out`: no block begins in the middle of a line
        self.pre = 0
        self.lists: list[int] = []  # -1: bullets, else the number of the last item
        self.links: list[tuple[int, str]] = []
        self.rows: list[list[int]] = []  # where the cells of each open row begin
        self.heads = 0
        self.known: set[str] = set()  # links told before: their label is enough
        self.anchors: set[str] = set()  # places of this page: links to them lead nowhere else

    def read(self, text: str) -> None:
        self.anchors.update(_ANCHOR.findall(text))
        skip, depth = "", 0
        for token in watched(_TOKEN.finditer(text)):
            name = (token["name"] or "").lower()
            if skip:
                if name == skip:
                    depth += -1 if token["close"] else 0 if token["attrs"].endswith("/") else 1
                    if depth == 0:
                        skip = ""
                continue
            if token["text"] is not None or token["lone"]:
                self._text(token["text"] or "<")
            elif name and token["close"]:
                self._close(name)
            elif name:
                attrs = token["attrs"] or ""
                gone = name in _RAW or (_HIDDEN.search(attrs) and _hidden(attrs))
                if gone and name not in _VOID and not attrs.endswith("/"):
                    skip, depth = name, 1
                elif not gone:
                    self._open(name, attrs)

    def text(self) -> str:
        found = "".join(self.out)
        found = re.sub(r"[ \t]+\n", "\n", found)
        return re.sub(r"\n{3,}", "\n\n", found).strip("\n") + "\n"

    def _emit(self, text: str) -> None:
        if text:
            self.out.append(text)
            tail = len(text) - len(text.rstrip("\n"))
            self.newlines = self.newlines + tail if tail == len(text) else tail

    def _break(self, lines: int) -> None:
        if self.newlines < lines:
            self._emit("\n" * (lines - self.newlines))

    def _text(self, text: str) -> None:
        if self.pre:
            self._emit(html.unescape(text))
            return
        # spaces of the source fall out at the start of a line, those that are meant (&nbsp;) stay
        self._emit(_plain(text.lstrip(" \t\r\n\f") if self.newlines else text))

    def _open(self, name: str, attrs: str) -> None:
        if name in _HEADINGS:
            self._break(2)
            self._emit("#" * _HEADINGS[name] + " ")
        elif name == "br":
            self._emit("\n")
        elif name == "hr":
            self._break(2)
        elif name == "pre":
            self._break(2)
            self._emit("```\n")
            self.pre += 1
        elif name in ("ul", "ol"):
            self._break(1 if self.lists else 2)
            self.lists.append(-1 if name == "ul" else 0)
        elif name == "li":
            self._break(1)
            mark = "- "
            if self.lists and self.lists[-1] >= 0:
                self.lists[-1] += 1
                mark = f"{self.lists[-1]}. "
            self._emit("  " * (len(self.lists) - 1) + mark)
            self.newlines = 1
        elif name == "tr":
            self._break(1)
            self.rows.append([])
            self.heads = 0
        elif name in ("td", "th"):
            cells = self.rows[-1] if self.rows else []
            if cells and not self.newlines:
                self._emit(" | ")
            cells.append(len(self.out))
            self.heads += name == "th"
        elif name == "a":
            self.links.append((len(self.out), _attribute(attrs, "href")))
        elif name == "img":
            alt = _plain(_attribute(attrs, "alt")).strip()
            self._emit(f"[image: {alt}]" if alt else "")
        elif name in _BLOCK:
            self._break(1 if name in ("dt", "dd", "caption", "option", "label", "tbody", "thead", "div") else 2)
            self._emit("> " if name == "blockquote" else "")

    def _close(self, name: str) -> None:
        if name in _HEADINGS:
            self._break(2)
        elif name == "pre" and self.pre:
            self.pre -= 1
            self._break(1)
            self._emit("```\n\n")
        elif name in ("ul", "ol") and self.lists:
            self.lists.pop()
            self._break(1 if self.lists else 2)
        elif name == "tr":
            self._end_row(self.rows.pop() if self.rows else [])
        elif name == "a" and self.links:
            start, target = self.links.pop()
            label = "".join(self.out[start:])
            name = label.strip()
            meant = target and not target.startswith(("#", "javascript:")) and target != name
            if meant and name and "\n" not in name:
                link = f"[{name}]({html.unescape(target)})"
                here = target.partition("#")[2] in self.anchors
                self.out[start:] = [name if here or link in self.known else link]
                self.known.add(link)
                self.newlines = 0
        elif name in _BLOCK:
            self._break(2 if name in ("p", "table", "blockquote", "section", "article") else 1)

    def _end_row(self, cells: list[int]) -> None:
        """A row with one filled cell is layout, not data: no empty cells beside it."""
        parts = ["".join(self.out[a:b]) for a, b in zip(cells, [*cells[1:], None], strict=True)]
        filled = [part.removesuffix(" | ") for part in parts if part.strip(" |\n\u00a0")]
        if len(cells) > 1 and len(filled) <= 1:
            self.out[cells[0] :] = []
            self.newlines = 1
            self._emit("".join(filled).strip("\n"))
        self._break(1)
        if self.heads and self.heads == len(cells):
            self._emit(" | ".join(["---"] * len(cells)) + "\n")


def _hidden(attrs: str) -> bool:
    found = {m[1].lower(): (m[2] or m[3] or m[4] or "") for m in _ATTR.finditer(attrs)}
    style = found.get("style", "").replace(" ", "").lower()
    return "hidden" in found or "display:none" in style or "visibility:hidden" in style


def _attribute(attrs: str, name: str) -> str:
    return next((m[2] or m[3] or m[4] or "" for m in _ATTR.finditer(attrs) if m[1].lower() == name), "")
