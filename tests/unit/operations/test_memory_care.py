from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.memory import Desk, desk

from remora.errors import Forbidden, Invalid, ModeError, NotFound


async def test_counts_and_checks(desk: Desk) -> None:
    await desk.run("remember", content="a statement to count")
    counts = await desk.run("stats")
    assert (counts["memories"], counts["embedding"]["provider"], counts["mode"]) == (1, "none", "auto")
    checks = (await desk.run("verify", deep=True))["checks"]
    assert "FAIL" not in {status for status, _, _ in checks}


async def test_an_export_comes_back_whole(desk: Desk, tmp_path: Path) -> None:
    await desk.run("remember", content="to be carried over", tags=["kept"], subject_key="moving.house")
    target = tmp_path / "out.jsonl"
    assert (await desk.run("export", target=str(target), history=True))["count"] == 1
    (tmp_path / "other").mkdir()
    async with _other(tmp_path / "other") as other:
        assert (await other.run("import", path=str(target), dry_run=True))["new"] == 1
        assert (await other.run("recall"))["memories"] == []
        assert (await other.run("import", path=str(target)))["new"] == 1
        assert (await other.run("import", path=str(target)))["new"] == 0
        (found,) = (await other.run("recall", namespace="*"))["memories"]
        assert (found["tags"], found["subject_key"]) == (["kept"], "moving.house")


_other = desk


async def test_a_copy_is_made_checked_and_put_back(desk: Desk) -> None:
    await desk.run("remember", content="before the copy")
    path = Path((await desk.run("backup"))["path"])
    await desk.run("remember", content="said after the copy was made")
    (row,) = (await desk.run("backups"))["backups"]
    assert (row["path"], row["memories"]) == (str(path), 1)
    checks = (await desk.run("verify_backup", path=path.name))["checks"]
    assert checks[0] == ["ok", "manifest", "it is what was written"]
    assert (await desk.run("restore_backup", path=path.name))["counts"]["memories"] == [2, 1]
    assert len((await desk.run("recall"))["memories"]) == 1


async def test_a_changed_copy_is_found_out(desk: Desk) -> None:
    await desk.run("remember", content="something")
    path = Path((await desk.run("backup"))["path"])
    manifest = path.with_suffix(".json")
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"sha256": "0" * 64}))
    assert (await desk.run("verify_backup", path=str(path)))["checks"][0][0] == "FAIL"
    with pytest.raises(NotFound):
        await desk.run("verify_backup", path="nothing.db")


async def test_what_is_known_of_the_user(desk: Desk) -> None:
    await desk.run("remember", content="prefers dark mode", subject_key="user.theme")
    await desk.run("remember", content="moved to Berlin", kind="event")
    found = await desk.run("about")
    assert [len(found[name]) for name in ("user", "events")] == [1, 1]
    assert [one["subject_key"] for one in (await desk.run("browse", prefix="user."))["memories"]] == ["user.theme"]


@pytest.mark.parametrize(("name", "given"), [("export", {"target": "x"}), ("import", {"path": "x"})])
async def test_files_are_for_people(desk: Desk, name: str, given: dict[str, str]) -> None:
    with pytest.raises(Forbidden):
        await desk.run(name, desk.agent(), **given)


async def test_a_session_may_be_restricted_and_not_freed_by_its_agent(desk: Desk) -> None:
    agent = desk.agent()
    assert (await desk.run("mode", agent, mode="recall"))["mode"] == "recall"
    with pytest.raises(ModeError):
        await desk.run("remember", agent, content="not now")
    with pytest.raises(Forbidden):
        await desk.run("mode", agent, mode="auto")
    assert (await desk.run("mode", desk.agent()))["mode"] == "auto"
    with pytest.raises(Invalid):
        await desk.run("mode", mode="off")


async def test_an_incognito_session_leaves_nothing(desk: Desk) -> None:
    await desk.run("remember", content="known before")
    agent = desk.agent()
    await desk.run("incognito", agent)
    with pytest.raises(ModeError, match="incognito"):
        await desk.run("remember", agent, content="never written")
    assert len((await desk.run("recall", agent))["memories"]) == 1
    with pytest.raises(Invalid):
        await desk.run("incognito")
