"""Reads the labelled stores of `bench/recall_cases` (the form is described in its README)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bench.shelf import Shelf

FOLDER = Path(__file__).parent / "recall_cases"
MINUTE = 60_000_000


@dataclass(slots=True)
class Text:
    content: str
    label: str | None = None
    conversation: str | None = None
    session: str | None = None
    speaker: str | None = None
    title: str = ""
    kind: str = "fact"
    at: int = 0


@dataclass(slots=True)
class Case:
    question: str
    answers: frozenset[str]  # labels; empty = unanswerable


@dataclass(slots=True)
class CaseStore:
    name: str
    lang: str
    form: str
    texts: list[Text] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)


def read_stores(folder: Path = FOLDER) -> list[CaseStore]:
    return [_read(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.txt"))]


def _read(source: str) -> CaseStore:
    lines = iter(source.splitlines())
    _, name, lang, form = next(lines).split()
    store = CaseStore(name, lang, form)
    conversation = session = None
    now = int(datetime(2025, 1, 1, 9, tzinfo=UTC).timestamp() * 1e6)
    for line in lines:
        now += MINUTE
        if line.startswith("== "):
            conversation, session, date = line[3:].split()
            now = int(datetime.fromisoformat(date).replace(tzinfo=UTC, hour=9).timestamp() * 1e6)
        elif line.startswith("? "):
            question, _, labels = line[2:].rpartition(" = ")
            store.cases.append(Case(question, frozenset(labels.split()) - {"none"}))
        elif line.startswith("```"):
            block = []
            for inner in lines:
                if inner.startswith("```"):
                    break
                block.append(inner)
            store.texts.append(_labelled("\n".join(block), Text("", kind="code", at=now)))
        elif line.startswith("- "):
            store.texts.append(_labelled(line[2:], Text("", at=now)))
        elif line.startswith("+ "):
            title, _, content = line[2:].partition(" | ")
            store.texts.append(_labelled(content, Text("", title=title, kind="document", at=now)))
        elif line.strip():
            store.texts.append(_turn(line, conversation, session, now))
    return store


def _labelled(content: str, text: Text) -> Text:
    if found := re.match(r"\[(\w+)\] ", content):
        text.label, content = found[1], content[found.end() :]
    text.content = content
    return text


def _turn(line: str, conversation: str | None, session: str | None, at: int) -> Text:
    text = _labelled(line, Text("", None, conversation, session, kind="conversation_turn", at=at))
    text.speaker, _, _ = text.content.partition(": ")
    return text


def shelve(stores: list[CaseStore], vectors: Mapping[str, object]) -> tuple[Shelf, dict[str, int]]:
    """One store of all the texts, and the row of each label (named store:label)."""
    shelf, rows = Shelf(), {}
    for store in stores:
        for text in store.texts:
            row = shelf.put(
                text.content,
                conversation=text.conversation and f"{store.name}/{text.conversation}",
                session=text.session,
                speaker=text.speaker,
                at=text.at,
                title=text.title,
                kind=text.kind,
                vector=vectors.get(text.content),  # type: ignore[arg-type]
            )
            if text.label:
                rows[f"{store.name}:{text.label}"] = row
    return shelf, rows
