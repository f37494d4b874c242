"""What every backend must pass: subclass `StoreContract`, give it `open_store`, and let pytest collect it.

The suite knows nothing of how a backend keeps its rows; it compares with plain Python over the same memories.
"""

from __future__ import annotations

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from remora.model.graph import Conflict, Relation
from remora.model.memory import Memory, content_hash, new_id
from remora.model.ops import Actor, Batch, Change
from remora.model.search import EVERYTHING, Chunk, IndexEntry, IndexRow, Space, Where
from remora.storage.matching import matches
from remora.storage.protocol import Stale, Store, View

ACTOR = Actor(door="contract")
NOW = 1_760_000_000_000_000
DAY = 86_400_000_000
WORDS = "deploy limit billing api user cache retry token river stone 数据 naïve İstanbul".split()


def a_memory(content: str, **fields: Any) -> Memory:
    given: dict[str, Any] = {
        "id": new_id(), "namespace": "global", "kind": "fact", "base_kind": "fact", "created_at": NOW,
        "updated_at": NOW,
    }  # fmt: skip
    given |= {"content": content, "content_hash": content_hash(content), **fields}
    return Memory(**given)


def an_entry(memory: Memory) -> IndexEntry:
    """A plain index: words as they are, one chunk."""
    words = memory.content.lower().split()
    vector = np.zeros(len(set(words)), np.dtype([("term", "<u4"), ("column", "u1"), ("count", "u1")])).tobytes()
    row = IndexRow((" ".join(words), "", memory.subject_key or "", " ".join(memory.tags), ""), len(words), vector)
    chunk = Chunk(0, 0, len(memory.content), memory.content, memory.content_hash)
    return IndexEntry(row, memory.content.casefold(), (chunk,))


def a_batch(*changes: Change, at: int = NOW) -> Batch:
    return Batch(id=new_id(), at=at, actor=ACTOR, changes=changes)


def created(memory: Memory) -> Change:
    return Change(kind="create", before=None, after=memory, index=an_entry(memory))


def changed(before: Memory, **fields: Any) -> tuple[Memory, Change]:
    after = replace(before, version=before.version + 1, **fields)
    return after, Change(kind="update", before=before, after=after, index=an_entry(after))


def some_memories(rng: random.Random, count: int) -> list[Memory]:
    """Every state, scattered over namespaces, kinds, tags and times."""
    found: list[Memory] = []
    for number in range(count):
        status = rng.choice(["active"] * 6 + ["archived", "pending", "deleted"])
        memory = a_memory(
            f"{' '.join(rng.choices(WORDS, k=5))} number-{number}",
            namespace=rng.choice(["global", "alpha", "beta"]),
            kind=rng.choice(["fact", "bug", "note"]),
            base_kind=rng.choice(["fact", "error"]),
            status=status,
            deleted_at=NOW if status == "deleted" else None,
            tags=tuple(sorted(rng.sample(["red", "green", "blue", "team:x", "team:y"], rng.randrange(3)))),
            created_at=NOW - rng.randrange(30) * DAY,
            importance=rng.choice([0.1, 0.5, 0.9]),
            trust=rng.choice(["user", "agent", "import"]),
            pinned=rng.random() < 0.2,
            superseded_by=rng.choice([None] * 5 + [found[0].id if found else None]),
            expires_at=rng.choice([None, None, NOW - DAY, NOW + DAY]),
            valid_from=rng.choice([None, None, NOW + DAY]),
            valid_to=rng.choice([None, None, NOW - 1, NOW + 2 * DAY]),
            scope=rng.choice([None, "src/**", "docs/*.md"]),
            subject_key=rng.choice([None, f"user.k{number}", f"app.k{number}"]),
            source={"session_id": rng.choice(["s1", "s2"]), "agent_id": rng.choice(["a1", "a2"]), "kind": "manual"},
        )
        found.append(memory)
    return found


def some_filters(rng: random.Random) -> Where:
    def maybe(value: Any, nothing: Any = None) -> Any:
        return value if rng.random() < 0.3 else nothing

    return Where(
        namespaces=maybe(tuple(rng.sample(["global", "alpha", "beta"], 2))),
        statuses=maybe(("active", "archived"), ("active",)), superseded=rng.random() < 0.2, expired=rng.random() < 0.2,
        any_validity=rng.random() < 0.2, valid_at=maybe(NOW + DAY + 1),
        tags=maybe(tuple(rng.sample(["red", "green", "team:*"], rng.randint(1, 2))), ()),
        tag_match=rng.choice(["any", "all"]), not_tags=maybe(("blue",), ()), untagged=rng.random() < 0.1,
        kinds=maybe((rng.choice(["fact", "error", "bug"]),), ()),
        after=maybe(NOW - 20 * DAY), before=maybe(NOW - 5 * DAY), min_trust=maybe("agent"), min_importance=maybe(0.5),
        key_prefix=maybe("user."), path=maybe("src/app/main.py"), session=maybe("s1"), exclude_session=maybe("s2"),
        agent=maybe("a1"), pinned=maybe(True),
    )  # fmt: skip


class StoreContract(ABC):
    """Subclass it in a test module, as `class TestMine(StoreContract)`."""

    @abstractmethod
    async def open_store(self, place: Path, *, tenant: str = "local", now: Callable[[], int]) -> Store:
        """The store at this place; opened twice, two handles on the same rows."""

    @asynccontextmanager
    async def store(self, place: Path, *memories: Memory, **given: Any) -> AsyncIterator[Store]:
        store = await self.open_store(place, now=lambda: NOW, **given)
        try:
            if memories:
                await store.apply(a_batch(*map(created, memories)))
            yield store
        finally:
            await store.close()

    async def test_every_field_comes_back(self, tmp_path: Path) -> None:
        odd = a_memory(
            "emoji \U0001f988, nul \ufffd, tab\t and 1 MB: " + "x" * 1_000_000,
            tags=("ünïcode", 'quo"te', "back\\slash"),
            metadata={"deep": [{"a": None, "b": 1.5, "c": "ß"}], "big": 2**53},
            source={"turn": 3, "conversation_id": "c"},
            triggers=({"type": "error", "value": "E1"},), importance=0.123456789, created_at=1, updated_at=2**52,
            requested_kind="wobble", kind_defaulted=True, lang="de", page=3, chunk_no=0, document_id="d",
            confirmations=7,
        )  # fmt: skip
        async with self.store(tmp_path, odd) as store:
            assert await store.read(lambda view: view.get(odd.id)) == odd
            assert await store.read(lambda view: view.by_hash(odd.content_hash, "global")) == [odd]

    async def test_every_read_keeps_to_the_filter(self, tmp_path: Path) -> None:
        rng = random.Random(5)
        memories = some_memories(rng, 150)
        async with self.store(tmp_path, *memories) as store:
            for _ in range(80):
                where = some_filters(rng)
                wanted = {memory.id for memory in memories if matches(memory, where, NOW)}
                await store.read(lambda view, where=where, wanted=wanted: _check(view, where, wanted))  # type: ignore[misc]

    async def test_pages_have_no_gaps_while_others_write(self, tmp_path: Path) -> None:
        memories = [a_memory(f"row {n}", created_at=NOW - n // 3, namespace=f"n{n % 4}") for n in range(90)]
        async with self.store(tmp_path, *memories) as store:
            seen: list[str] = []
            after = None
            while True:
                page = await store.read(lambda view, after=after: view.list(Where(), 7, after))  # type: ignore[misc]
                seen += [memory.id for memory in page.rows]
                await store.apply(a_batch(created(a_memory(f"newer {len(seen)}", created_at=NOW + len(seen)))))
                if (after := page.next) is None:
                    break
            assert sorted(seen) == sorted(memory.id for memory in memories)

    async def test_a_batch_stands_or_falls_as_one(self, tmp_path: Path) -> None:
        held = a_memory("held", subject_key="a.b")
        async with self.store(tmp_path, held) as store:
            for position in range(3):
                changes = [created(a_memory(f"new {position} {n}")) for n in range(2)]
                changes.insert(position, created(a_memory("takes the key", subject_key="a.b")))
                assert await _stale(store, *changes)
            fresh, change = changed(held, content="second", content_hash=content_hash("second"))
            await store.apply(a_batch(change))
            assert await _stale(store, change), "an old version was overwritten"
            assert await store.read(lambda view: view.ids(EVERYTHING)) == [held.id]
            assert await store.read(lambda view: view.get(held.id)) == fresh

    async def test_history_and_as_of(self, tmp_path: Path) -> None:
        first = a_memory("one")
        async with self.store(tmp_path) as store:
            await store.apply(a_batch(created(first), at=NOW - 10))
            second, change = changed(first, content="two", content_hash=content_hash("two"))
            ops = await store.apply(a_batch(change, at=NOW - 5))
            _, change = changed(second, status="deleted", deleted_at=NOW)
            await store.apply(a_batch(change, at=NOW - 1))
            states = await store.read(lambda view: view.versions(first.id))
            assert [(state.content, start, end) for state, start, end, _ in states] == [
                ("two", NOW - 1, None), ("two", NOW - 5, NOW - 1), ("one", NOW - 10, NOW - 5),
            ]  # fmt: skip
            for at, text in ((NOW - 11, []), (NOW - 10, ["one"]), (NOW - 5, ["two"]), (NOW, [])):
                found = await store.read(lambda view, at=at: view.as_of(at, Where()))  # type: ignore[misc]
                assert [memory.content for memory in found] == text, at
            op = await store.read(lambda view: view.op(ops[0].op_id))
            assert op is not None
            assert (op.before["content"], op.after["content"]) == ("one", "two")

    async def test_tenants_never_meet(self, tmp_path: Path) -> None:
        mine = a_memory("shared words secret", subject_key="k.a", tags=("t",))
        theirs = replace(mine, content="shared words other")
        async with self.store(tmp_path, mine) as one, self.store(tmp_path, theirs, tenant="other") as two:
            for store, own in ((one, mine), (two, theirs)):
                assert await store.read(lambda view: view.get(mine.id)) == own
                await store.read(lambda view, own=own: _check(view, Where(), {own.id}))  # type: ignore[misc]
                assert await store.read(lambda view: view.substring("shared", Where(), 9)) == [mine.id]
                assert len(await store.read(lambda view: view.ops())) == 1
                assert (await store.read(lambda view: view.term_stats(["shared"]))).rows == 1

    async def test_another_handle_sees_a_change_at_once(self, tmp_path: Path) -> None:
        async with self.store(tmp_path) as writer, self.store(tmp_path) as reader:
            space = Space(id="s", dim=8, label="s")
            await writer.add_space(space)
            memory = a_memory("visible everywhere")
            assert await reader.read(lambda view: view.matching(Where())) == 0
            await writer.apply(a_batch(created(memory)))
            await _embed(writer, "s", 8)
            vector = np.ones(8, np.float32)
            await reader.read(lambda view: _check(view, Where(), {memory.id}))
            assert len(await reader.read(lambda view: view.nearest(vector, "s", Where(), 5))) == 1
            edited, change = changed(memory, content="other words", content_hash=content_hash("other words"))
            await writer.apply(a_batch(change))
            assert await _found(reader, "everywhere") == []
            assert await _found(reader, "other") == [memory.id]
            _, change = changed(edited, status="deleted", deleted_at=NOW)
            await writer.apply(a_batch(change))
            assert await _found(reader, "other") == []
            assert await reader.read(lambda view: view.nearest(vector, "s", Where(), 5)) == []

    async def test_no_query_is_an_error(self, tmp_path: Path) -> None:
        async with self.store(tmp_path, a_memory('a "quoted" word OR * NEAR( here')) as store:
            for text in ('"', 'a" OR b', "*", "NEAR(", "\0", "a:b", "-", "{x}", "^", "'"):
                await store.read(lambda view, text=text: view.lexical([text], Where(), 5))  # type: ignore[misc]
                await store.read(lambda view, text=text: view.grams([text * 3], Where(), 5))  # type: ignore[misc]
            exact = await store.read(lambda view: view.substring("OR * near(", Where(), 5))
            assert len(exact) == 1, "wild cards are literal and the case does not matter"
            assert await store.read(lambda view: view.substring("OR % near(", Where(), 5)) == []

    async def test_vectors_are_exact_within_the_filter(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(1)
        memories = [a_memory(f"row {n}", tags=("few",) if n % 25 == 0 else ()) for n in range(500)]
        async with self.store(tmp_path, *memories) as store:
            await store.add_space(Space(id="s", dim=64, label="s"))
            vectors = await _embed(store, "s", 64, rng)
            query = rng.standard_normal(64).astype(np.float32)
            for where in (Where(), Where(tags=("few",))):
                wanted = [memory.id for memory in memories if matches(memory, where, NOW)]
                exact = sorted(wanted, key=lambda id_: -float(vectors[id_] @ query))[:10]
                hits = await store.read(lambda view, where=where: view.nearest(query, "s", where, 10))  # type: ignore[misc]
                assert await store.read(lambda view, hits=hits: _ids(view, hits)) == exact  # type: ignore[misc]

    async def test_spaces_stand_side_by_side_and_go(self, tmp_path: Path) -> None:
        async with self.store(tmp_path, a_memory("one"), a_memory("two")) as store:
            for name, dim in (("small", 8), ("large", 16)):
                await store.add_space(Space(id=name, dim=dim, label=name))
                await _embed(store, name, dim)
            await store.activate_space("large")
            active = await store.read(lambda view: [space.id for space in view.spaces() if space.active])
            assert active == ["large"]
            await store.drop_space("small")
            assert await store.read(lambda view: view.nearest(np.ones(8, np.float32), "small", Where(), 5)) == []
            assert len(await store.read(lambda view: view.nearest(np.ones(16, np.float32), "large", Where(), 5))) == 2
            assert await store.read(lambda view: view.covered("large")) == (2, 2)

    async def test_purge_leaves_a_tombstone_and_nothing_else(self, tmp_path: Path) -> None:
        secret, other = a_memory("unmentionable zebra", tags=("zebra",)), a_memory("stays")
        async with self.store(tmp_path, secret, other) as store:
            edge = Relation(id=new_id(), src=other.id, dst=secret.id, type="supports", created_at=NOW)
            await store.apply(a_batch(Change(kind="relate", before=None, after=edge)))
            after = replace(secret, version=2, content="", tags=(), status="deleted", deleted_at=NOW)
            await store.purge([secret.id], a_batch(Change(kind="purge", before=secret, after=after)))
            states = await store.read(lambda view: view.versions(secret.id))
            assert [state[0] for state in states] == [after]
            assert await store.read(lambda view: view.relations([other.id], hidden=True)) == []
            assert await _found(store, "zebra") == []

    async def test_relations_hide_with_their_ends(self, tmp_path: Path) -> None:
        a, b = a_memory("a"), a_memory("b")
        async with self.store(tmp_path, a, b) as store:
            edge = Relation(id=new_id(), src=a.id, dst=b.id, type="causes", created_at=NOW, reasons=("x",))
            conflict = Conflict(id=new_id(), a=a.id, b=b.id, kind="contradiction", created_at=NOW, hashes=("x", "y"))
            await store.apply(a_batch(*(Change(kind="relate", before=None, after=one) for one in (edge, conflict))))
            assert await store.read(lambda view: view.relations([b.id])) == [edge]
            assert await store.read(lambda view: view.conflicts()) == [conflict]
            gone, change = changed(b, status="deleted", deleted_at=NOW)
            await store.apply(a_batch(change))
            assert await store.read(lambda view: view.relations([a.id])) == []
            assert await store.read(lambda view: view.conflicts()) == []
            _, change = changed(gone, status="active", deleted_at=None)
            await store.apply(a_batch(change))
            assert await store.read(lambda view: view.relations([a.id])) == [edge]

    async def test_a_lease_has_one_owner(self, tmp_path: Path) -> None:
        async with self.store(tmp_path) as one, self.store(tmp_path) as two:
            assert await one.lease("job", "one")
            assert not await two.lease("job", "two")
            assert await one.lease("job", "one"), "the owner may renew"
            assert await two.lease("other", "two")

    async def test_writers_of_two_handles_lose_nothing(self, tmp_path: Path) -> None:
        async with self.store(tmp_path) as one, self.store(tmp_path) as two:
            memories = [a_memory(f"row {n}") for n in range(200)]
            handles = (one, two)
            await asyncio.gather(*(handles[n % 2].apply(a_batch(created(memory))) for n, memory in enumerate(memories)))
            assert await one.read(lambda view: view.count(Where())) == 200
            assert await two.read(lambda view: view.matching(Where())) == 200

    async def test_tables_agree_after_any_sequence(self, tmp_path: Path) -> None:
        rng = random.Random(11)
        held: dict[str, Memory] = {}
        async with self.store(tmp_path) as store:
            await store.add_space(Space(id="s", dim=16, label="s"))
            for step in range(150):
                if not held or rng.random() < 0.5:
                    memory = a_memory(
                        f"{rng.choice(WORDS)} step {step}", tags=tuple(rng.sample(["p", "q"], rng.randrange(3)))
                    )
                    await store.apply(a_batch(created(memory)))
                else:
                    before = rng.choice(list(held.values()))
                    text = f"{rng.choice(WORDS)} step {step}"
                    status = rng.choice(["active", "archived", "deleted"])
                    fields = {"content": text, "content_hash": content_hash(text), "status": status}
                    memory, change = changed(before, tags=tuple(rng.sample(["p", "q"], rng.randrange(3))), **fields)
                    await store.apply(a_batch(change))
                held[memory.id] = memory
                if step % 10 == 0:
                    await _embed(store, "s", 16)
            await _embed(store, "s", 16)
            assert [check for check in await store.verify(deep=True) if check[0] == "FAIL"] == []
            live = {memory.id for memory in held.values() if matches(memory, Where(), NOW)}
            await store.read(lambda view: _check(view, Where(), live))
            hits = await store.read(lambda view: view.nearest(np.ones(16, np.float32), "s", Where(), 1000))
            assert len(hits) == len(live)

    async def test_a_backup_holds_the_same(self, tmp_path: Path) -> None:
        memories = [a_memory(f"row {n}") for n in range(50)]
        async with self.store(tmp_path, *memories) as store:
            copy = tmp_path / "copy.db"
            await store.backup(copy)
            await store.apply(a_batch(created(a_memory("after the backup"))))
            await store.restore(copy)
            assert await store.read(lambda view: view.ids(EVERYTHING)) == sorted(memory.id for memory in memories)
            await store.apply(a_batch(created(a_memory("after the restore"))))
            assert await _found(store, "restore") != []


def _ids(view: View, hits: Sequence[tuple[int, float]]) -> list[str]:
    ids = {fact.row: fact.id for fact in view.facts([row for row, _ in hits])}
    return [ids[row] for row, _ in hits]


def _check(view: View, where: Where, wanted: set[str]) -> None:
    """Every read method gives exactly the rows of the filter."""
    assert set(view.ids(where)) == wanted, where
    assert view.count(where) == len(wanted)
    assert view.matching(where) == len(wanted), where
    assert {memory.id for memory in view.list(where, 10_000).rows} == wanted
    by_row = {row: id_ for id_, row in view.rows_of(sorted(wanted)).items()}
    assert set(view.all_rows(where, 10_000)) == set(by_row)
    words = sorted(
        {word.lower() for memory in view.get_many(sorted(wanted)).values() for word in memory.content.split()}
    )
    found = {hit.row for word in words[:20] for hit in view.lexical([word], where, 10_000)}
    assert found <= set(by_row)
    counts: dict[str, int] = {}
    for memory in view.get_many(sorted(wanted)).values():
        for tag in memory.tags:
            counts[tag] = counts.get(tag, 0) + 1
    if where != Where():  # the counts of all live rows leave the clock out
        assert dict(view.tags(where)) == counts, where


async def _stale(store: Store, *changes: Change) -> bool:
    try:
        await store.apply(a_batch(*changes))
    except Stale:
        return True
    return False


async def _found(store: Store, word: str) -> list[str]:
    def read(view: View) -> list[str]:
        return [fact.id for fact in view.facts([hit.row for hit in view.lexical([word], Where(), 10)])]

    return await store.read(read)


async def _embed(store: Store, space: str, dim: int, rng: np.random.Generator | None = None) -> dict[str, Any]:
    """Give every waiting chunk a vector; by memory id."""
    found: dict[str, Any] = {}
    while taken := await store.take_unembedded(space, 100):
        vectors = np.ones((len(taken), dim), np.float32) if rng is None else rng.standard_normal((len(taken), dim))
        vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16).astype(np.float32)
        await store.put_vectors(space, [(chunk.chunk, chunk.hash) for chunk in taken], vectors)
        found |= {chunk.memory_id: vector for chunk, vector in zip(taken, vectors, strict=True)}
    return found
