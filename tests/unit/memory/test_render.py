from __future__ import annotations

from remora import AsyncMemory
from remora.embedding.chunks import estimate_tokens
from remora.memory.api import ACTOR
from remora.memory.recall import Query, Recalled, recall
from remora.memory.render import age, as_text, quoted


async def test_a_line_each(memory: AsyncMemory) -> None:
    id_ = await memory.store("we cut releases\non Mondays", "decision", subject_key="release.day")
    found = await recall(memory.engine, Query(text="releases"), ACTOR)
    text = as_text(found, memory.engine.now())
    assert text.startswith(f"1. #{id_[-5:]} decision ")
    assert text.endswith(" now [release.day] we cut releases on Mondays")


async def test_never_more_than_the_budget(memory: AsyncMemory) -> None:
    await memory.store_many([f"river note {n} " + "and so on " * 30 for n in range(20)])
    found = await recall(memory.engine, Query(text="river", limit=20), ACTOR)
    for budget in (100, 200, 500, 1500):
        text = as_text(found, memory.engine.now(), budget)
        assert estimate_tokens(text) <= budget
        assert text.startswith("1. ")
        assert "of 20" in text


async def test_nothing_found_says_so(memory: AsyncMemory) -> None:
    assert as_text(Recalled(hits=(), searched=7), 0) == "no memory matches (searched 7)"


def test_hidden_characters_are_not_shown() -> None:
    assert quoted("a\u202eb\u200b\x1b[31mc\n d") == "ab[31mc d"


def test_ages() -> None:
    day = 86_400_000_000
    assert [age(value) for value in (0, 3_600_000_000, day, 8 * day, 95 * day, 800 * day)] == [
        "now",
        "1h",
        "1d",
        "1w",
        "3mo",
        "2y",
    ]
