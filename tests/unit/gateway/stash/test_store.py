import time

import pytest

from remora.config.results import StashConfig
from remora.gateway.session import Principal
from remora.gateway.stash.store import NotKept, Stash, handle_of
from remora.storage.sqlite.state import StateDb

ADMIN = Principal("local", "admin")
OTHER = Principal("other", "read")


@pytest.fixture
async def state(tmp_path):
    made = StateDb(tmp_path / "state.db")
    yield made
    await made.close()


def stash(state: StateDb, **config: int) -> Stash:
    return Stash(state, StashConfig(**config))


async def test_what_is_kept_comes_back_as_it_was_also_to_another_engine(state):
    text = "caf\u00e9 \ud800 \r\n" * 50_000
    handle = await stash(state).put(
        text, principal="a", kind="prose", cleaned="short", cleaned_kind="markdown", tool="t"
    )
    assert handle == handle_of(text)
    assert len(handle) == 16
    for each in (stash(state), stash(state)):
        kept = await each.get(handle, ADMIN)
        assert (kept.text, kept.cleaned, kept.kind, kept.cleaned_kind, kept.tool) == (
            text,
            "short",
            "prose",
            "markdown",
            "t",
        )


async def test_one_entry_for_one_content_and_only_for_those_who_caused_it(state):
    one = stash(state)
    handle = await one.put("same", principal="a")
    assert await one.get(handle, OTHER) is None
    assert await stash(state).get(handle, OTHER) is None
    assert await one.put("same", principal="other") == handle
    assert (await one.get(handle, OTHER)).text == "same"
    assert (await stash(state).get(handle, OTHER)).text == "same"
    assert len(await one.list()) == 1
    assert await one.get("0" * 16, ADMIN) is None


async def test_what_holds_a_secret_never_reaches_the_file(state):
    one = stash(state)
    handle = await one.put("secret words", principal="a", secret=True)
    assert (await one.get(handle, ADMIN)).in_memory
    assert [row.in_memory for row in await one.list()] == [True]
    assert await stash(state).get(handle, ADMIN) is None
    assert await one.clear() == 1


async def test_it_ends_some_time_after_the_last_reading(state, monkeypatch):
    one = stash(state, ttl_hours=1)
    handle = await one.put("words", principal="a")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3000)
    assert await one.get(handle, ADMIN)
    monkeypatch.setattr(time, "time", lambda: now + 6000)
    assert await one.get(handle, ADMIN)
    monkeypatch.setattr(time, "time", lambda: now + 6000 + 3601)
    assert await one.get(handle, ADMIN) is None
    assert await stash(state, ttl_hours=1).get(handle, ADMIN) is None
    assert await one.list() == []


async def test_the_least_recently_read_make_room_and_fresh_ones_do_not(state, monkeypatch):
    one = stash(state, max_bytes=600)
    old = [await one.put(f"{n} " * 3, principal="a") for n in range(30)]
    with pytest.raises(NotKept):
        await one.put("".join(map(chr, range(40, 600))), principal="a")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 4000)
    assert await stash(state, max_bytes=600).get(old[3], ADMIN)
    new = await one.put("".join(map(chr, range(40, 240))), principal="a")
    kept = {row.handle for row in await one.list()}
    assert new in kept
    assert len(kept) < 31


async def test_what_is_too_large_or_cannot_be_written_is_refused(state):
    with pytest.raises(NotKept):
        await stash(state, max_entry_bytes=3).put("four", principal="a")
    await state.close()
    with pytest.raises(NotKept):
        await stash(state).put("words", principal="a")
    assert await stash(state).get("0" * 16, ADMIN) is None


async def test_clearing_one_or_all(state):
    one = stash(state)
    handles = [await one.put(word, principal="a") for word in ("x", "y", "z")]
    assert await one.clear(handles[0]) == 1
    assert await one.get(handles[0], ADMIN) is None
    assert await one.clear() == 2
