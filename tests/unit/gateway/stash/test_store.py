from __future__ import annotations

import time
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


async def test_the_least_recently_read_make_room(state: StateDb, monkeypatch: pytest.MonkeyPatch) -> None:
    config = StashConfig(max_bytes=600)
    stash = Stash(state, config)
    old = [await stash.put(f"{n} " * 3, principal="me") for n in range(30)]
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + store.FRESH_SECONDS + 100)
    assert await Stash(state, config).get(old[0], ME)
    new = await stash.put("".join(map(chr, range(40, 240))), principal="me")
    kept = {row.handle for row in await stash.list()}
    assert {new, old[0]} <= kept
    assert len(kept) < 31
    assert old[1] not in kept
    assert await Stash(state, config).get(old[1], ME) is None


async def test_it_ends_some_time_after_the_last_reading(state: StateDb, monkeypatch: pytest.MonkeyPatch) -> None:
    config = StashConfig(ttl_hours=1)
    stash, now = Stash(state, config), time.time()
    handle = await stash.put(TEXT, principal="me")
    secret = await stash.put("a secret", principal="me", secret=True)
    for later in (3_000, 6_000):
        monkeypatch.setattr(time, "time", lambda later=later: now + later)
        assert await stash.get(handle, ME)
        assert await stash.get(secret, ME)
    monkeypatch.setattr(time, "time", lambda: now + 6_000 + 3_601)
    assert await stash.get(handle, ME) is None
    assert await stash.get(secret, ME) is None
    assert await Stash(state, config).get(handle, ME) is None
    assert await stash.list() == []


async def test_long_texts_with_every_character_come_back(state: StateDb) -> None:
    text = "caf\u00e9 \ud800 \r\n" * 20_000
    handle = await Stash(state, StashConfig()).put(text, principal="me")
    kept = await Stash(state, StashConfig()).get(handle, ME)
    assert kept is not None
    assert kept.text == text


async def test_without_a_file_nothing_is_taken_for_kept(state: StateDb) -> None:
    await state.close()
    stash = Stash(state, StashConfig())
    with pytest.raises(NotKept):
        await stash.put(TEXT, principal="me")
    assert await stash.get(handle_of(TEXT), ME) is None


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
