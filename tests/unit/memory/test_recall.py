from __future__ import annotations

import random

import pytest

from remora import AsyncMemory
from remora.errors import AmbiguousId, Invalid, NotFound


async def test_every_unique_code_is_found_first(memory: AsyncMemory) -> None:
    rng = random.Random(3)
    codes = [f"{rng.choice('ABCDEFGH')}{rng.randrange(10**6):06d}-{rng.choice('xyz')}" for _ in range(1000)]
    for start in range(0, 1000, 500):
        part = codes[start : start + 500]
        await memory.store_many([f"order {code} was shipped to the warehouse by the night crew" for code in part])
    for code in rng.sample(codes, 50):
        assert code in (await memory.recall(code, limit=1))[0].content
        assert code in (await memory.recall(f"what happened to order {code}?", limit=1))[0].content


async def test_filters_come_before_ranking(memory: AsyncMemory) -> None:
    await memory.store_many([{"content": f"the deploy of service {n} failed", "tags": ["a"]} for n in range(500)])
    wanted = await memory.store_many([{"content": f"lunch menu {n}", "tags": ["a", "b"]} for n in range(30)])
    seen: list[str] = []
    cursor = None
    while True:
        page = await memory.recall("deploy failed", limit=10, tags=["a", "b"], tag_match="all", cursor=cursor)
        seen += [hit.id for hit in page]
        if (cursor := page.next_cursor) is None:
            break
    hits = await memory.recall(tags=["a", "b"], tag_match="all", limit=100)
    assert {hit.id for hit in hits} == set(wanted)
    assert set(seen) <= set(wanted)
    assert len(seen) == len(set(seen))


async def test_pages_show_each_memory_once_while_others_are_stored(memory: AsyncMemory) -> None:
    stored = await memory.store_many([f"river crossing number {n}" for n in range(45)])
    seen: list[str] = []
    cursor = None
    for _ in range(10):
        page = await memory.recall("river crossing", limit=10, cursor=cursor)
        seen += [hit.id for hit in page]
        await memory.store(f"another river crossing {len(seen)} by night", dedup="off")
        if (cursor := page.next_cursor) is None:
            break
    assert len(seen) == len(set(seen))
    assert set(stored) <= set(seen)
    with pytest.raises(Invalid) as refused:
        await memory.recall("another query", cursor=(await memory.recall("river", limit=1)).next_cursor)
    assert refused.value.code == "bad_cursor"


async def test_what_has_nothing_to_do_with_it_scores_near_nothing(memory: AsyncMemory) -> None:
    await memory.store("invoices are kept for seven years")
    assert all((hit.score or 0) < 0.2 for hit in await memory.recall("kubernetes ingress timeout"))
    assert await memory.recall("kubernetes ingress timeout", min_score=0.5) == []


async def test_a_query_may_name_the_memory(memory: AsyncMemory) -> None:
    id_ = await memory.store("likes dark mode", subject_key="user.editor.theme")
    await memory.store("likes 4 spaces", subject_key="user.editor.indent")
    for name in (id_, id_.lower(), "user.editor.theme"):
        first = (await memory.recall(name))[0]
        assert (first.id, first.score) == (id_, 1.0)
    assert {hit.content for hit in await memory.recall("user.editor")} >= {"likes dark mode", "likes 4 spaces"}


async def test_exact_takes_the_words_literally(memory: AsyncMemory) -> None:
    await memory.store("100% of users_a match")
    await memory.store("100 of usersXa match", dedup="off")
    assert [hit.content for hit in await memory.recall("0% OF users_a", mode="exact")] == ["100% of users_a match"]
    assert len(await memory.recall("us", mode="exact")) == 2


@pytest.mark.parametrize("query", ['"', 'a" OR b', "*", "NEAR(", "\0", "(", "x" * 20_000, "-", "a AND"])
async def test_no_query_is_a_syntax_error(memory: AsyncMemory, query: str) -> None:
    await memory.store("a quiet afternoon")
    await memory.recall(query)


async def test_a_query_or_a_filter_is_needed(memory: AsyncMemory) -> None:
    for given in ({}, {"namespace": "global"}):
        with pytest.raises(Invalid) as refused:
            await memory.recall("", **given)  # type: ignore[arg-type]
        assert refused.value.code == "empty_query"
    with pytest.raises(Invalid) as refused:
        await memory.recall("x", wobble=1)  # type: ignore[call-arg]
    assert refused.value.code == "unknown_argument"
    with pytest.raises(Invalid) as refused:
        await memory.recall("x", time="blargh")
    assert refused.value.code == "bad_time"


async def test_the_time_may_stand_in_the_query(memory: AsyncMemory) -> None:
    await memory.store("the cache was cleared", created_at="2025-03-10")
    await memory.store("the cache was cleared twice", created_at="2025-06-10", dedup="off")
    hits = await memory.recall("what about the cache in March 2025", parse_time=True)
    assert [hit.content for hit in hits] == ["the cache was cleared"]
    assert len(await memory.recall("may we clear the cache", parse_time=True)) == 2


async def test_superseded_and_expired_take_no_places(memory: AsyncMemory) -> None:
    old = await memory.store("limit is 100")
    new = await memory.store("limit is now 200")
    await memory.store("limit of yesterday", expires_at="2020-01-01")
    assert [hit.id for hit in await memory.recall("limit")] == [new]
    assert {hit.id for hit in await memory.recall("limit", include_superseded=True)} == {old, new}
    assert len(await memory.recall("limit", include_expired=True)) == 2


async def test_scope_and_validity(memory: AsyncMemory) -> None:
    await memory.store("use decimals for money", scope="src/billing/**")
    await memory.store("summer hours apply", valid_from="2030-06-01", valid_to="2030-09-01")
    assert len(await memory.recall("money", path="src/billing/tax.py")) == 1
    assert await memory.recall("money", path="src/web/app.py") == []
    assert await memory.recall("summer hours") == []
    assert len(await memory.recall("summer hours", valid_at="2030-07-01")) == 1


async def test_reads_leave_the_file_alone(memory: AsyncMemory) -> None:
    id_ = await memory.store("quiet")
    before = await memory.engine.store.read(lambda view: view.ops())
    for _ in range(3):
        await memory.recall("quiet")
        await memory.similar(id_)
        await memory.list()
    assert await memory.engine.store.read(lambda view: view.ops()) == before


async def test_several_queries_and_a_bad_one(memory: AsyncMemory) -> None:
    await memory.store("one fish")
    first, second = await memory.recall_many(["fish", ""])
    assert len(first) == 1
    assert second.warnings == ("a query or a filter is needed",)


async def test_ids_may_be_short_if_they_are_clear(memory: AsyncMemory) -> None:
    one, two = await memory.store_many(["first of two", "second of two"])
    assert (await memory.get(f"#{one[-6:]}")).id == one
    with pytest.raises(AmbiguousId) as refused:
        await memory.get(one[:9])
    assert one in str(refused.value)
    assert two in str(refused.value)
    with pytest.raises(NotFound):
        await memory.get("nothing-like-it")
