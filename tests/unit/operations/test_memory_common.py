from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from tests.support.memory import Desk

from remora.config.load import Paths
from remora.errors import UnavailableError
from remora.gateway.session import LOCAL_USER
from remora.operations.memory_common import Filters, iso, opened, refs
from remora.operations.registry import Context


def test_what_was_not_set_is_no_filter() -> None:
    assert Filters().given() == {}
    assert not Filters(namespace="*").narrows
    assert Filters(tags=["a"], untagged=False).given() == {"tags": ["a"]}


async def test_an_agent_is_known_by_its_client_and_session(desk: Desk) -> None:
    session = desk.agent("cursor")
    _, actor = await opened(desk.context(session))
    assert (actor.door, actor.agent, actor.session, actor.user) == ("mcp", "cursor", session.id, False)
    assert (await opened(desk.context()))[1].user


async def test_each_project_has_its_own_namespace(desk: Desk, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir(), two.mkdir()
    done = await desk.run("remember", desk.agent(project=one), content="this is said in one")
    assert done["memory"]["namespace"].startswith("dir:one-")
    assert (await desk.run("recall", desk.agent(project=two), query="said"))["memories"] == []
    assert len((await desk.run("recall", desk.agent(project=two), query="said", namespace="*"))["memories"]) == 1


async def test_references_are_as_long_as_the_store_needs(desk: Desk) -> None:
    ids = [(await desk.run("remember", content=f"statement number {n}", dedup="off"))["id"] for n in range(3)]
    engine, _ = await opened(desk.context())
    found = await refs(engine, ids)
    assert len({*found.values()}) == 3
    assert (await desk.run("get", id=found[ids[1]]))["memory"]["id"] == ids[1]


async def test_a_door_without_a_memory_says_so() -> None:
    with pytest.raises(UnavailableError):
        await opened(Context(cast(Any, None), cast(Any, None), Paths(Path("/nowhere")), LOCAL_USER))


def test_times_are_shown_in_utc() -> None:
    assert iso(1_700_000_000_000_000) == "2023-11-14T22:13:20Z"
    assert iso(None) is None
