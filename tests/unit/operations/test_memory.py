from __future__ import annotations

import pytest
from tests.support.memory import Desk

from remora.errors import Invalid, ModeError, RefusedError, SecretFound, UsageError
from remora.operations.memory import trigger


async def test_what_is_remembered_is_recalled(desk: Desk) -> None:
    done = await desk.run(
        "remember", content="Deploys run on Fridays", kind="convention", tags=["ops"], subject_key="deploy.day"
    )
    assert done["status"] == "created"
    (found,) = (await desk.run("recall", query="when do we deploy?"))["memories"]
    assert (found["id"], found["tags"], found["trust"], found["source"]) == (done["id"], ["ops"], "user", "manual")
    assert found["why"]
    assert (await desk.run("get", id=done["id"]))["memory"]["subject_key"] == "deploy.day"


async def test_a_correction_takes_the_place_of_what_it_corrects(desk: Desk) -> None:
    old = await desk.run("remember", content="the rate limit is 100")
    new = await desk.run("remember", content="the rate limit is now 200")
    assert (new["status"], new["superseded"]) == ("superseded", [old["id"]])
    assert [one["id"] for one in (await desk.run("recall", query="rate limit"))["memories"]] == [new["id"]]


async def test_many_are_kept_together_or_not_at_all(desk: Desk) -> None:
    with pytest.raises(Invalid, match="item 1"):
        await desk.run("remember", items=[{"content": "one thing"}, {"content": "  "}])
    assert (await desk.run("recall"))["memories"] == []
    done = await desk.run("remember", items=[{"content": "one thing"}, {"content": " "}], atomic=False)
    assert [one and one["status"] for one in done["items"]] == ["created", None]
    assert done["errors"][0]["index"] == 1


async def test_content_or_items(desk: Desk) -> None:
    for given in ({}, {"content": "a", "items": [{"content": "b"}]}):
        with pytest.raises(UsageError, match="either content or items"):
            await desk.run("remember", **given)


async def test_what_replaces_names_what_it_replaces_by_any_reference(desk: Desk) -> None:
    old = await desk.run("remember", content="The office is in Berlin")
    new = await desk.run("remember", content="We work from anywhere", supersedes=[f"#{old['id'][-6:]}"])
    assert new["superseded"] == [old["id"]]


async def test_without_a_question_the_newest_come_first(desk: Desk) -> None:
    ids = [(await desk.run("remember", content=text))["id"] for text in ("apples are red", "bread is brown")]
    assert [one["id"] for one in (await desk.run("recall"))["memories"]] == ids[::-1]
    assert [one["id"] for one in (await desk.run("recall", ids=[ids[0]]))["memories"]] == [ids[0]]


async def test_several_questions_at_once(desk: Desk) -> None:
    await desk.run("remember", content="the parser is written in Rust")
    found = await desk.run("recall_many", queries=["parser", ""])
    assert [("error" in one, len(one["memories"])) for one in found["results"]] == [(False, 1), (True, 0)]


async def test_fields_change_and_versions_are_checked(desk: Desk) -> None:
    id_ = (await desk.run("remember", content="tabs are four wide", tags=["style"]))["id"]
    done = await desk.run("update", id=id_, content="tabs are two wide", add_tags=["editor"], if_version=1)
    assert (done["version"], done["memory"]["tags"]) == (2, ["style", "editor"])
    with pytest.raises(Exception, match="version 2, not 1"):
        await desk.run("update", id=id_, importance=0.9, if_version=1)


async def test_a_user_forgets_at_once(desk: Desk) -> None:
    id_ = (await desk.run("remember", content="a passing thought"))["id"]
    assert (await desk.run("forget", ids=[id_]))["done"]
    assert (await desk.run("forget", ids=[id_]))["already"] == [id_]
    assert (await desk.run("recall"))["memories"] == []
    assert (await desk.run("restore", ids=[id_]))["memories"][0]["status"] == "active"
    with pytest.raises(Invalid, match="what to forget"):
        await desk.run("forget")


async def test_an_agent_sees_first_what_a_filter_would_forget(desk: Desk) -> None:
    agent = desk.agent()
    for text in ("milk is white", "coal is black"):
        await desk.run("remember", agent, content=text, tags=["colours"])
    seen = await desk.run("forget", agent, tags=["colours"])
    assert (seen["done"], seen["count"], len(seen["previews"])) == (False, 2, 2)
    await desk.run("remember", agent, content="grass is green", tags=["colours"])
    with pytest.raises(RefusedError, match="changed_since_preview"):
        await desk.run("forget", agent, tags=["colours"], confirm=seen["confirm"])
    seen = await desk.run("forget", agent, tags=["colours"])
    assert (await desk.run("forget", agent, tags=["colours"], confirm=seen["confirm"]))["count"] == 3
    assert (await desk.run("recall"))["memories"] == []


async def test_an_agent_erases_only_with_the_word_of_a_preview(desk: Desk) -> None:
    agent = desk.agent()
    id_ = (await desk.run("remember", agent, content="something to erase"))["id"]
    seen = await desk.run("forget", agent, ids=[id_], hard=True)
    assert not seen["done"]
    assert (await desk.run("forget", agent, ids=[id_], hard=True, confirm=seen["confirm"]))["done"]
    assert (await desk.run("history", id=id_))["versions"][0]["content"] == ""


@pytest.mark.parametrize(
    ("mode", "stored"), [("off", False), ("recall", False), ("confirm", "pending"), ("auto", "created")]
)
async def test_modes_bind_agents_alone(desk: Desk, mode: str, stored: bool | str) -> None:
    desk.configure(mode=mode)
    assert (await desk.run("remember", content="a user's word"))["status"] == "created"
    if stored:
        assert (await desk.run("remember", desk.agent(), content="an agent's word"))["status"] == stored
    else:
        with pytest.raises(ModeError):
            await desk.run("remember", desk.agent(), content="an agent's word")
    if mode == "off":
        with pytest.raises(ModeError):
            await desk.run("recall", desk.agent(), query="word")
    else:
        found = (await desk.run("recall", desk.agent(), query="word"))["memories"]
        assert len(found) == (2 if mode == "auto" else 1)


async def test_where_a_person_decides_a_filter_only_asks(desk: Desk) -> None:
    await desk.run("remember", content="keep me", tags=["x"])
    desk.configure(mode="confirm")
    agent = desk.agent()
    seen = await desk.run("forget", agent, tags=["x"])
    done = await desk.run("forget", agent, tags=["x"], confirm=seen["confirm"])
    assert done["pending"]
    assert len((await desk.run("recall"))["memories"]) == 1


async def test_secrets_are_blacked_out_or_refused(desk: Desk) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    done = await desk.run("remember", content=f"the key is {key} for deploys")
    assert key not in done["memory"]["content"]
    assert done["warnings"]
    desk.configure(secrets="block")
    with pytest.raises(SecretFound):
        await desk.run("remember", content=f"the other key is {key} for tests")


def test_triggers_tell_their_type() -> None:
    assert trigger("cmd:terraform apply") == {"type": "command", "value": "terraform apply"}
    assert trigger("alembic/**")["type"] == "path"
    assert trigger("parse_line")["type"] == "identifier"
    with pytest.raises(Invalid, match="not a type"):
        trigger("colour:red")
