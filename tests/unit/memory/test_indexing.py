from __future__ import annotations

from remora import AsyncMemory
from remora.memory.indexing import entry, pieces
from remora.model.memory import Memory, content_hash, new_id


def a_turn(text: str, **fields: object) -> Memory:
    given: dict[str, object] = {
        "id": new_id(), "namespace": "global", "kind": "note", "base_kind": "observation", "created_at": 1,
        "updated_at": 1,
        "source": {"conversation_id": "c"}, "content": text, "content_hash": content_hash(text), **fields,
    }  # fmt: skip
    return Memory(**given)  # type: ignore[arg-type]


def test_the_words_of_a_private_turn_lead_only_to_private_ones() -> None:
    secret = a_turn("zebra", sensitivity="private")
    assert "zebra" not in entry(a_turn("next"), [secret]).row.texts[1]
    assert "zebra" in entry(a_turn("next", sensitivity="private"), [secret]).row.texts[1]


def test_long_memories_are_embedded_in_pieces_and_indexed_whole() -> None:
    long = a_turn("word " * 2000 + "needle", source={})
    found = entry(long)
    assert len(found.chunks) > 5
    assert found.chunks == pieces(long)
    assert found.row.texts[0].endswith("needl")
    assert long.content[found.chunks[-1].start : found.chunks[-1].end].endswith("needle")


async def test_followers_forget_what_a_turn_no_longer_says(memory: AsyncMemory) -> None:
    first = await memory.store("the zebra escaped", conversation_id="c", turn=1, author="Ann")
    answer = await memory.store("when was that?", conversation_id="c", turn=2, author="Bob")
    assert answer in [hit.id for hit in await memory.recall("zebra")]
    await memory.update(first, content="the lion escaped")
    assert answer in [hit.id for hit in await memory.recall("lion")]
    assert await memory.recall("zebra", min_score=0.01) == []
    await memory.forget(first)
    assert await memory.recall("lion", min_score=0.01) == []
    await memory.restore(first)
    assert answer in [hit.id for hit in await memory.recall("lion")]


async def test_any_order_of_storing_gives_the_same_context(memory: AsyncMemory) -> None:
    texts = {1: "the zebra escaped", 2: "when?", 3: "at noon"}
    stored = {}
    for turn in (3, 1, 2):
        stored[turn] = await memory.store(
            texts[turn], conversation_id="c", turn=turn, created_at=f"2026-01-01T10:0{turn}:00"
        )
    assert {hit.id for hit in await memory.recall("zebra")} == set(stored.values())
    assert [check for check in await memory.verify(deep=True) if check[0] == "FAIL"] == []
