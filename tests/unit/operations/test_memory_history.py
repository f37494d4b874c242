from __future__ import annotations

import pytest
from tests.support.memory import Desk

from remora.errors import Forbidden, Invalid, NotFound


async def test_every_version_is_kept_and_can_be_taken_back(desk: Desk) -> None:
    id_ = (await desk.run("remember", content="the limit is 100", subject_key="api.limit"))["id"]
    assert (await desk.run("remember", content="the limit is 200", subject_key="api.limit"))["status"] == "updated"
    versions = (await desk.run("history", id=id_))["versions"]
    assert [one["content"] for one in versions] == ["the limit is 200", "the limit is 100"]
    assert versions[0]["diff"] == "the limit is [-100-]{+200+}"
    assert versions[0]["op"]["actor"]["door"] == "cli"
    assert (await desk.run("undo"))["count"] == 1
    assert (await desk.run("get", id=id_))["memory"]["content"] == "the limit is 100"


async def test_an_agent_takes_back_only_what_its_session_did(desk: Desk) -> None:
    first, second = desk.agent(), desk.agent()
    done = await desk.run("remember", first, content="said in the first session")
    with pytest.raises(Forbidden):
        await desk.run("undo", second, op_id=done["op_id"])
    with pytest.raises(NotFound):
        await desk.run("undo", second)
    await desk.run("undo", first, op_id=done["op_id"])
    assert (await desk.run("recall"))["memories"] == []


async def test_the_log_and_who_said_what(desk: Desk) -> None:
    done = await desk.run("remember", content="One sentence. Another one.")
    await desk.run("update", id=done["id"], content="One sentence. A third one.")
    log = (await desk.run("audit", id=done["id"]))["operations"]
    assert [op["kind"] for op in log] == ["update", "create"]
    blamed = (await desk.run("blame", id=done["id"]))["sentences"]
    assert [one["op"]["op_id"] for one in blamed] == [log[1]["op_id"], log[0]["op_id"]]


async def test_a_person_approves_what_agents_propose(desk: Desk) -> None:
    desk.configure(mode="confirm")
    agent = desk.agent()
    ids = [(await desk.run("remember", agent, content=text))["id"] for text in ("water is wet", "fire burns hot")]
    assert {one["id"] for one in (await desk.run("pending"))["memories"]} == {*ids}
    with pytest.raises(Forbidden):
        await desk.run("review", agent, ids=ids, approve=True)
    await desk.run("review", ids=[ids[0]], approve=True, content="water is very wet")
    await desk.run("review", ids=[ids[1]], approve=False)
    assert [one["content"] for one in (await desk.run("recall"))["memories"]] == ["water is very wet"]


@pytest.mark.parametrize("name", ["undo", "resolve"])
async def test_where_a_person_decides_an_agent_neither_undoes_nor_resolves(desk: Desk, name: str) -> None:
    desk.configure(mode="confirm")
    with pytest.raises(Invalid):
        await desk.run(name, desk.agent(), **({} if name == "undo" else {"winner": "A" * 8, "loser": "B" * 8}))


async def test_a_disagreement_is_listed_and_decided(desk: Desk) -> None:
    old = await desk.run("remember", content="the rate limit is 100")
    new = await desk.run("remember", content="the rate limit is 200")
    (open_one,) = (await desk.run("conflicts"))["conflicts"]
    assert {open_one["a"]["id"], open_one["b"]["id"]} == {old["id"], new["id"]}
    await desk.run("resolve", winner=new["id"], loser=old["id"])
    assert (await desk.run("conflicts"))["conflicts"] == []
    assert [one["id"] for one in (await desk.run("recall"))["memories"]] == [new["id"]]


async def test_relations_come_and_go(desk: Desk) -> None:
    a, b = [(await desk.run("remember", content=text))["id"] for text in ("the disk was full", "the build failed")]
    await desk.run("connect", action="add", src=a, dst=b, type="causes")
    assert [edge["type"] for edge in (await desk.run("connect", src=b))["edges"]] == ["causes"]
    assert (await desk.run("connect", action="remove", src=a, dst=b))["removed"] == 1
    with pytest.raises(Invalid, match="two memories"):
        await desk.run("connect", action="add", src=a)


async def test_tags_are_counted_and_renamed_together(desk: Desk) -> None:
    for text, tag in (("snow is cold", "weather"), ("rain is wet", "wether")):
        await desk.run("remember", content=text, tags=[tag])
    done = await desk.run("retag", rename={"wether": "weather"})
    assert (done["count"], (await desk.run("tags"))["tags"]) == (1, {"weather": 2})
    await desk.run("undo", op_id=done["batch_id"])
    assert (await desk.run("tags"))["tags"] == {"weather": 1, "wether": 1}
    with pytest.raises(Forbidden):
        await desk.run("retag", desk.agent(), rename={"a": "b"})
