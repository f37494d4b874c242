from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from remora.config.results import StashConfig
from remora.gateway.session import Principal
from remora.gateway.stash import store
from remora.gateway.stash.store import NotKept, Stash, handle_of
from remora.storage.sqlite.state import StateDb

TEXT = "text " * 100
ME, OTHER, ADMIN = Principal("me", "read"), Principal("other", "write"), Principal("root", "admin")


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[StateDb]:
    state = StateDb(tmp_path / "state.db")
    yield state
    await state.close()


async def test_kept_for_its_owner_and_found_by_another_engine(state: StateDb) -> None:
    handle = await Stash(state, StashConfig()).put(
        TEXT, principal="me", server="s", tool="t", kind="log", cleaned="clean"
    )
    assert handle == handle_of(TEXT)
    later = Stash(state, StashConfig())
    kept = await later.get(handle, ME)
    assert kept is not None
    assert (kept.text, kept.cleaned, kept.kind, kept.server, kept.tool) == (TEXT, "clean", "log", "s", "t")
    assert await later.get(handle, OTHER) is None
    assert (await later.get(handle, ADMIN)) is not None


async def test_the_same_text_belongs_to_everybody_who_had_it(state: StateDb) -> None:
    stash = Stash(state, StashConfig())
    handle = await stash.put(TEXT, principal="me")
    assert await stash.put(TEXT, principal="other") == handle
    assert await stash.get(handle, ME)
    assert await stash.get(handle, OTHER)
    assert len(await stash.list()) == 1


async def test_texts_with_secrets_never_reach_the_file(state: StateDb) -> None:
    stash = Stash(state, StashConfig())
    handle = await stash.put(TEXT, principal="me", secret=True)
    assert await stash.get(handle, ME)
    assert [row.in_memory for row in await stash.list()] == [True]
    assert await Stash(state, StashConfig()).get(handle, ADMIN) is None


async def test_what_there_is_no_room_for_is_refused(state: StateDb) -> None:
    with pytest.raises(NotKept, match="max_entry_bytes"):
        await Stash(state, StashConfig(max_entry_bytes=100)).put(TEXT, principal="me")
    full = Stash(state, StashConfig(max_bytes=20))
    with pytest.raises(NotKept, match="of the last hour"):
        await full.put(TEXT, principal="me")


async def test_older_entries_make_room(state: StateDb) -> None:
    stash = Stash(state, StashConfig(max_bytes=60))
    old = await stash.put("old " * 50, principal="me")
    await state.run(lambda db: db.execute("UPDATE stash SET created = created - ?", (store.FRESH_SECONDS + 1,)))
    texts = [f"{i} new words {i * 7919}" for i in range(3)]
    handles = [await stash.put(text, principal="me") for text in texts[:1]]
    kept = {row.handle for row in await stash.list()}
    assert handles[0] in kept
    assert (old in kept) is (sum(1 for _ in kept) > 1)


async def test_entries_expire_and_can_be_forgotten(state: StateDb) -> None:
    stash = Stash(state, StashConfig())
    one, two = await stash.put(TEXT, principal="me"), await stash.put(TEXT, principal="me", secret=True)
    assert one == two
    other = await stash.put("another", principal="me")
    assert await stash.clear(other) == 1
    assert await stash.get(other, ADMIN) is None
    assert await stash.clear() == 2
    assert await stash.list() == []
    handle = await stash.put(TEXT, principal="me")
    await state.run(lambda db: db.execute("UPDATE stash SET used = 0"))
    assert await Stash(state, StashConfig()).get(handle, ADMIN) is None
