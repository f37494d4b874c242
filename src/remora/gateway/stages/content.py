"""The texts of a result: which there are, and the result with other ones in their places."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from remora.gateway.compression.budget import Budget
from remora.gateway.pipeline import Result

TEXT, STRUCTURED = "text", "structured"


@dataclass(frozen=True, slots=True)
class Texts:
    """`text` is all text items in one; `structured` the JSON of structured content that may go, None if it stays."""

    result: Result
    text: str
    resources: tuple[tuple[int, str, str], ...]  # position, text, MIME type
    structured: str | None
    mirrored: bool

    @classmethod
    def of(cls, result: Result, keep_structured: bool) -> Texts:
        content = result.get("content")
        items = content if isinstance(content, list) else []
        text = "\n".join(item["text"] for item in items if _is_text(item))
        found = [(at, item["resource"]) for at, item in enumerate(items) if _is_text_resource(item)]
        resources = tuple((at, each["text"], _word(each.get("mimeType"))) for at, each in found)
        data = result.get("structuredContent")
        if data is None or keep_structured:
            return cls(result, text, resources, None, False)
        return cls(result, text, resources, json.dumps(data, ensure_ascii=False), _mirrors(text, data))

    @property
    def size(self) -> int:
        """Characters of everything that may be made smaller."""
        return len(self.text) + sum(len(each[1]) for each in self.resources) + len(self.structured or "")

    def parts(self, budget: Budget, model: str) -> Iterator[tuple[str, str, str]]:
        """(name, text, MIME type) of what may change. Structured content that fits stays as it is."""
        if self.text:
            yield TEXT, self.text, ""
        for at, text, mime in self.resources:
            if not budget.fits(text, "unknown", model):
                yield str(at), text, mime
        if self.structured is not None and not self.mirrored and not self._fits(budget, model):
            yield STRUCTURED, self.structured, "application/json"

    def _fits(self, budget: Budget, model: str) -> bool:
        return self.structured is None or budget.fits(self.structured, "json", model, slack=True)

    def with_texts(self, texts: dict[str, str]) -> Result:
        """The result with these texts; a text stands where the first of its parts stood."""
        content: list[Any] = []
        placed = False
        items = self.result.get("content")
        for at, item in enumerate(items if isinstance(items, list) else ()):
            if TEXT in texts and _is_text(item):
                if not placed:
                    content.append({**item, "text": texts[TEXT]})
                placed = True
            elif str(at) in texts:
                resource = item["resource"]
                head = f"[resource {resource.get('uri', '')} {resource.get('mimeType', '')}".rstrip() + "]"
                content.append({"type": "text", "text": f"{head}\n{texts[str(at)]}"})
            else:
                content.append(item)
        made = {**self.result, "content": content}
        if STRUCTURED in texts:
            content.append({"type": "text", "text": texts[STRUCTURED]})
        if STRUCTURED in texts or (self.mirrored and TEXT in texts):
            del made["structuredContent"]
        return made


def _mirrors(text: str, data: Any) -> bool:
    """Whether the text says the same: the JSON of it, or the one string in it."""
    if isinstance(data, dict) and len(data) == 1 and next(iter(data.values())) == text:
        return True
    try:
        read = json.loads(text)
    except ValueError:
        return False
    return read == data or (isinstance(data, dict) and len(data) == 1 and next(iter(data.values())) == read)


def _is_text(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "text" and isinstance(item.get("text"), str)


def _is_text_resource(item: Any) -> bool:
    if not isinstance(item, dict) or item.get("type") != "resource":
        return False
    resource = item.get("resource")
    return isinstance(resource, dict) and isinstance(resource.get("text"), str)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""
