from __future__ import annotations

import pytest

from remora import AsyncMemory
from remora.memory.dedup import background, delta, divergence, gram_jaccard, neighbours
from remora.model.memory import Memory, content_hash, new_id
from remora.model.search import TermStats


@pytest.mark.parametrize(
    ("new", "old", "sorts"),
    [
        ("limit is 200", "limit is 100", {"numbers"}),
        ("version 1.2.3 is out", "version 1.2.4 is out", {"numbers"}),
        ("use api-v2", "use api-v1", {"identifiers", "numbers"}),
        ('say "blue"', 'say "green"', {"identifiers"}),
        ("do not deploy", "do deploy", {"negation"}),
        ("nicht am Freitag", "am Freitag", {"negation"}),
        ("caching is enabled", "caching is disabled", {"opposed"}),
        ("on Friday", "on Monday", {"dates"}),
        ("the branch is cut monthly.", "The branch is cut monthly", set()),
        ("chapter 3 is done", "chapter 4 is done", {"numbers", "identifiers"}),
    ],
)
def test_what_two_texts_differ_in(new: str, old: str, sorts: set[str]) -> None:
    found = delta(new, old)
    names = ("numbers", "identifiers", "negation", "opposed", "dates")
    assert {name for name in names if getattr(found, name)} == sorts
    assert bool(found) == bool(sorts)


def test_one_value_or_another_record() -> None:
    assert delta("limit is 200", "limit is 100").of_one_value
    assert not delta("2 of 30 in 4 days", "3 of 40 in 5 days").of_one_value
    assert not delta("ABC-2 was closed", "ABC-1 was closed").of_one_value
    assert delta("moved from srv-1 to srv-2", "lives on srv-1").of_one_value


def test_likeness_measures() -> None:
    assert gram_jaccard("same text", "same text") == 1
    assert gram_jaccard("abc", "xyz") == 0
    assert divergence("same", "SAME") == 0


def test_a_small_store_knows_common_words_by_heart() -> None:
    stats = background(TermStats(1, 4.0, {"the": 1, "kubernetes": 1}))
    assert stats.rows > 1000
    assert stats.df["the"] > 50 * stats.df["kubernetes"]


async def test_neighbours_are_those_that_share_rare_words(memory: AsyncMemory) -> None:
    near = await memory.store("the billing service retries payments 3 times")
    await memory.store("the cat sleeps on the radiator")
    text = "the billing service retries payments 5 times"
    new = Memory(
        id=new_id(), content=text, content_hash=content_hash(text), namespace="global", kind="fact", base_kind="fact",
        created_at=1, updated_at=1,
    )  # fmt: skip
    found = await memory.engine.store.read(lambda view: neighbours(view, new, None, None))
    assert [likeness.memory.id for likeness in found] == [near]
    assert found[0].delta.numbers
