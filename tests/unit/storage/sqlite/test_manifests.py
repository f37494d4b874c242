from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import pytest

from remora.storage.sqlite.state import StateDb


@pytest.fixture
async def state(tmp_path) -> AsyncIterator[StateDb]:
    state = StateDb(tmp_path / "state.db")
    yield state
    await state.close()


async def test_saved_and_loaded_by_name(state):
    payload = {"era": "modern", "tools": [{"name": "log", "x-vendor": "ü"}]}
    state.manifests.save("git", "f1", payload)
    state.manifests.save("time", "f2", {"era": None})
    await state.run(lambda db: None)
    loaded = await state.manifests.load(["git", "missing"])
    assert list(loaded) == ["git"]
    assert loaded["git"].payload == payload
    assert (loaded["git"].fingerprint, loaded["git"].era) == ("f1", "modern")
    assert loaded["git"].ts > 0


async def test_saving_again_replaces_and_deleting_removes(state):
    state.manifests.save("git", "f1", {"n": 1})
    state.manifests.save("git", "f2", {"n": 2})
    await state.run(lambda db: None)
    assert (await state.manifests.load(["git"]))["git"].fingerprint == "f2"
    state.manifests.delete("git")
    await state.run(lambda db: None)
    assert await state.manifests.load(["git"]) == {}


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", b"\xff\x00"])
async def test_a_damaged_row_is_ignored(state, caplog, text):
    state.manifests.save("git", "f", {})
    await state.run(lambda db: db.execute("UPDATE manifests SET payload = ?", (text,)))
    with caplog.at_level(logging.WARNING):
        assert await state.manifests.load(["git"]) == {}
    assert "git" in caplog.text


async def test_a_state_db_that_cannot_be_used_is_an_empty_one(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    state = StateDb(tmp_path / "file" / "state.db")
    with caplog.at_level(logging.WARNING):
        assert await state.manifests.load(["git"]) == {}
        state.manifests.save("git", "f", {})
        await state.close()
    assert "no manifests" in caplog.text
    assert "not written" in caplog.text
