"""memento's tools as its clients know them: names, arguments, and the shape of every answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.memory import Desk
from tests.support.memory import desk as opened

from remora.doors.mcp.compat.memento import MementoTools

ARGUMENTS = {
    "memento_store": ({"content", "kind", "importance", "subject_key", "metadata"}, {"content"}),
    "memento_recall": ({"query", "limit", "kind"}, {"query"}),
    "memento_update": ({"id", "content", "importance", "metadata"}, {"id"}),
    "memento_forget": ({"id", "hard"}, {"id"}),
    "memento_forget_prefix": ({"prefix", "hard"}, {"prefix"}),
    "memento_recent": ({"limit"}, set()),
    "memento_browse": ({"prefix", "limit"}, {"prefix"}),
    "memento_stats": (set(), set()),
    "memento_store_many": ({"items"}, {"items"}),
    "memento_recall_many": ({"queries", "limit"}, {"queries"}),
}
RECORD = {
    "id": str, "content": str, "kind": str, "subject_key": (str, type(None)), "importance": float, "source": str,
    "metadata": dict, "created_at": str, "updated_at": str, "archived_at": (str, type(None)),
}  # fmt: skip


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with opened(tmp_path) as made:
        yield made


def is_record(row: dict[str, Any]) -> bool:
    return all(isinstance(row[name], kind) for name, kind in RECORD.items())


def test_names_and_arguments(desk: Desk) -> None:
    tools = {tool["name"]: tool["inputSchema"] for tool in MementoTools(desk.of, desk.serving).definitions()}
    assert {name: (set(schema["properties"]), set(schema["required"])) for name, schema in tools.items()} == ARGUMENTS


async def test_every_answer_has_its_shape(desk: Desk) -> None:
    tools, front = MementoTools(desk.of, desk.serving), desk.front()

    async def call(name: str, **given: Any) -> Any:
        answer = await tools.call(f"memento_{name}", given, front)
        assert not answer.get("isError"), answer
        return answer["structuredContent"]

    stored = await call("store", content="the API speaks JSON", kind="lesson", importance=0.7, subject_key="api.form")
    assert is_record(stored)
    assert len(stored["id"]) == 26
    for name, given in (("recall", {"query": "JSON"}), ("recent", {}), ("browse", {"prefix": "api."})):
        results = (await call(name, **given))["results"]
        assert [row["id"] for row in results] == [stored["id"]]
        assert is_record(results[0])
    assert is_record(await call("update", id=stored["id"], importance=0.9))
    assert all(map(is_record, (await call("store_many", items=[{"content": "one"}, {"content": "two"}]))["results"]))
    assert [len(rows) for rows in (await call("recall_many", queries=["JSON", "zebra"]))["results"]] == [1, 0]
    assert await call("forget", id=stored["id"][:12]) == {"archived": 1}
    assert await call("forget_prefix", prefix="api.", hard=True) == {"deleted": 1}
    assert {"total", "by_kind", "archived", "model", "dimension", "schema_version"} == set(await call("stats"))
