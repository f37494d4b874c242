from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.memory import Desk
from tests.support.memory import desk as opened

from remora.doors.mcp.compat.memento import MementoTools
from remora.gateway.session import ViewKey

RECORD = ["id", "content", "kind", "subject_key", "importance", "source", "metadata", "created_at", "updated_at",
          "archived_at"]  # fmt: skip


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with opened(tmp_path) as made:
        yield made


async def call(desk: Desk, name: str, **given: Any) -> dict[str, Any]:
    return await MementoTools(desk.of, desk.serving).call(f"memento_{name}", given, desk.front())


def test_it_is_there_for_those_who_ask(desk: Desk) -> None:
    tools = MementoTools(desk.of, desk.serving)
    assert not tools.serves(ViewKey())
    assert tools.serves(ViewKey(compat=("memento",)))
    assert [tool["name"] for tool in tools.definitions()] == tools.names
    assert len(tools.names) == 10


async def test_a_record_has_the_fields_of_memento(desk: Desk) -> None:
    made = await call(desk, "store", content="prefers dark mode", importance=0.8, subject_key="user.theme", unknown=1)
    done = made["structuredContent"]
    assert list(done) == [*RECORD, "status"]
    assert made["content"][0]["text"] == f"{done['id'][:12]}  fact    imp=0.80  [user.theme] prefers dark mode"
    again = (await call(desk, "store", content="prefers light mode", subject_key="user.theme"))["structuredContent"]
    assert (again["id"], again["status"]) == (done["id"], "updated")


async def test_recall_gives_scores(desk: Desk) -> None:
    await call(desk, "store", content="the parser is written in Rust", kind="lesson")
    (row,) = (await call(desk, "recall", query="parser", kind="lesson"))["structuredContent"]["results"]
    assert 0 <= row["score"] <= 1
    many = (await call(desk, "recall_many", queries=["parser", ""]))["structuredContent"]["results"]
    assert [isinstance(one, list) for one in many] == [True, False]


async def test_update_merges_metadata(desk: Desk) -> None:
    id_ = (await call(desk, "store", content="a thing", metadata={"a": 1}))["structuredContent"]["id"]
    done = (await call(desk, "update", id=id_, metadata={"b": 2}))["structuredContent"]
    assert done["metadata"] == {"a": 1, "b": 2}
    assert (await call(desk, "update", id=id_))["isError"]
    assert (await call(desk, "update", id="01KVF2CKW772AAAAAAAAAAAAA1", content="x"))["isError"]


async def test_forgetting_archives_unless_it_is_hard(desk: Desk) -> None:
    ids = []
    for text, key in (("likes tea", "user.drink"), ("likes rice", "user.food"), ("is tall", "user")):
        ids.append((await call(desk, "store", content=text, subject_key=key))["structuredContent"]["id"])
    assert (await call(desk, "forget", id=ids[0]))["structuredContent"] == {"archived": 1}
    assert (await desk.run("get", id=ids[0]))["memory"]["status"] == "archived"
    assert (await call(desk, "forget_prefix", prefix="user."))["structuredContent"] == {"archived": 2}
    assert (await call(desk, "forget", id=ids[1], hard=True))["structuredContent"] == {"deleted": 1}
    assert (await call(desk, "forget_prefix", prefix=" . "))["isError"]
    assert (await call(desk, "forget"))["isError"]


async def test_lists_and_counts(desk: Desk) -> None:
    items = [{"content": "b is second", "subject_key": "x.b"}, {"content": "a is first", "subject_key": "x.a"}]
    assert len((await call(desk, "store_many", items=items))["structuredContent"]["results"]) == 2
    bad = await call(desk, "store_many", items=[*items, {"content": " "}])
    assert "item 2" in bad["content"][0]["text"]
    recent = (await call(desk, "recent", limit=1))["structuredContent"]["results"]
    assert len(recent) == 1
    browsed = (await call(desk, "browse", subject_key_prefix="x."))["structuredContent"]["results"]
    assert [row["subject_key"] for row in browsed] == ["x.a", "x.b"]
    counts = (await call(desk, "stats"))["structuredContent"]
    assert (counts["total"], counts["by_kind"], counts["archived"]) == (2, {"fact": 2}, 0)
    assert counts["schema_version"] >= 1
