from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from remora.memory.dedup import Delta, Likeness, delta
from remora.memory.supersede import has_cue, judge, may_supersede
from remora.model.memory import Memory, content_hash


def a_memory(text: str, **fields: Any) -> Memory:
    given: dict[str, Any] = {
        "id": text,
        "namespace": "global",
        "kind": "fact",
        "base_kind": "fact",
        "created_at": 1,
        "updated_at": 1,
    }
    return Memory(content=text, content_hash=content_hash(text), **{**given, **fields})


def beside(new: str, old: Memory, idf: float = 0.5, frame: float = 0.9) -> Likeness:
    return Likeness(memory=old, cosine=None, idf=idf, grams=0.3, frame=frame, delta=delta(new, old.content), text=new)


@pytest.mark.parametrize("text", ["is now 5", "moved to", "no longer", "jetzt um 10", "nicht mehr", "statt dessen"])
def test_cues(text: str) -> None:
    assert has_cue(text)


@pytest.mark.parametrize("text", ["the knowledge base", "a statement", "nowhere near"])
def test_no_cues(text: str) -> None:
    assert not has_cue(text)


def test_verdicts() -> None:
    old = a_memory("limit is 100")
    now = a_memory("limit is now 200", created_at=2)
    assert judge(now, beside(now.content, old)) == "supersede"
    assert judge(now, beside(now.content, replace(old, pinned=True))) == "conflict"
    assert judge(now, beside(now.content, replace(old, kind="bug"))) == "none"
    assert judge(now, beside(now.content, replace(old, created_at=3))) == "none"
    assert judge(now, beside(now.content, old, idf=0.2)) == "suggestion"
    assert judge(now, beside(now.content, old, idf=0.1)) == "none"
    plain = a_memory("limit is 200", created_at=2)
    assert judge(plain, beside(plain.content, old)) == "conflict"
    assert judge(plain, beside(plain.content, old, frame=0.3)) == "suggestion"
    negated = a_memory("limit is not 100", created_at=2)
    assert judge(negated, beside(negated.content, old)) == "contradiction"


def test_who_may_not_be_replaced() -> None:
    old, new = a_memory("a"), a_memory("b")
    assert may_supersede(new, old)
    assert not may_supersede(new, replace(old, trust="user"))
    assert not may_supersede(new, replace(old, subject_key="k"))
    assert may_supersede(replace(new, subject_key="k"), replace(old, subject_key="k"))


def test_no_difference_is_no_correction() -> None:
    nothing = Delta(numbers=False, identifiers=False, negation=False, opposed=False, dates=False)
    old = a_memory("x")
    new = a_memory("x now", created_at=2)
    likeness = Likeness(memory=old, cosine=0.99, idf=0.9, grams=0.9, frame=1.0, delta=nothing, text="x")
    assert judge(new, likeness) == "suggestion"
