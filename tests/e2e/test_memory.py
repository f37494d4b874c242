"""The long-term memory through the real program: what an agent keeps in one run is there in the next."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.support.client import Message, text
from tests.support.home import Home

WORDS_ALONE = {"REMORA_EMBEDDING__PROVIDER": "none"}


def structured(result: Message) -> Any:
    assert not result.get("isError"), text(result)
    return result["structuredContent"]


@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_remembered_in_one_run_and_recalled_in_another(home: Home, era: str) -> None:
    home.configure({})
    async with home.stdio(era=era) as client:
        await client.open()
        assert {"remember", "recall", "revise", "forget"} <= (await client.tools()).keys()
        first = structured(await client.call("remember", {"content": "the rate limit is 100", "tags": ["api"]}))
        second = structured(await client.call("remember", {"content": "the rate limit is now 200"}))
        assert second["superseded"] == [first["id"]]
    async with home.stdio(era=era) as client:
        await client.open()
        found = await client.call("recall", {"query": "what is the rate limit?"})
        assert [row["id"] for row in structured(found)["memories"]] == [second["id"]]
        assert "is now 200" in text(found)
        refused = await client.call("revise", {"action": "undo", "op_id": second["op_id"]})
        assert "[forbidden]" in text(refused)  # another session did that
    assert (await home.cli("undo"))[0] == 1  # the person at the terminal did nothing yet
    assert (await home.cli("undo", second["op_id"]))[0] == 0


async def test_undo_forget_and_restore(home: Home) -> None:
    home.configure({})
    async with home.stdio(env=WORDS_ALONE) as client:
        await client.open()
        done = structured(await client.call("remember", {"content": "tabs are four wide"}))
        structured(await client.call("forget", {"ids": [done["id"]]}))
        assert "no memory matches" in text(await client.call("recall", {"query": "tabs"}))
        structured(await client.call("revise", {"action": "restore", "id": done["id"]}))
        changed = structured(await client.call("revise", {"id": done["id"], "content": "tabs are two wide"}))
        structured(await client.call("revise", {"action": "undo", "op_id": changed["op_id"]}))
        assert "four wide" in text(await client.call("recall", {"query": "tabs"}))
        versions = structured(await client.call("revise", {"action": "history", "id": done["id"]}))["versions"]
        assert [one["version"] for one in versions] == [5, 4, 3, 2, 1]


async def test_modes_of_the_configuration_and_of_a_session(home: Home) -> None:
    home.configure({}, memory={"mode": "confirm"})
    async with home.stdio(env=WORDS_ALONE) as client:
        await client.open()
        done = structured(await client.call("remember", {"content": "an agent proposes this"}))
        assert done["status"] == "pending"
        assert "no memory matches" in text(await client.call("recall", {"query": "proposes"}))
        waiting = json.loads((await home.cli("pending", "--json", env=WORDS_ALONE))[1])["memories"]
        assert (await home.cli("pending", "approve", waiting[0]["id"], env=WORDS_ALONE))[0] == 0
        assert "proposes" in text(await client.call("recall", {"query": "proposes"}))
        await client.call("remora", {"action": "mode", "mode": "recall"})
        refused = await client.call("remember", {"content": "and this"})
        assert refused["isError"]
        assert 'read-only in this session (mode "recall"); nothing was stored' in text(refused)
    async with home.stdio(env={**WORDS_ALONE, "REMORA_INCOGNITO": "1"}) as client:
        await client.open()
        assert "incognito" in text(await client.call("remember", {"content": "nothing of this"}))


async def test_projects_keep_to_themselves(home: Home) -> None:
    home.configure({})
    one, two = home.folder / "one", home.folder / "two"
    one.mkdir()
    two.mkdir()
    async with home.stdio(env=WORDS_ALONE, cwd=one) as client:
        await client.open()
        await client.call("remember", {"content": "the build here needs make"})
        await client.call("remember", {"content": "likes short answers", "subject_key": "user.style"})
    async with home.stdio(env=WORDS_ALONE, cwd=two) as client:
        await client.open()
        assert "no memory matches" in text(await client.call("recall", {"query": "build"}))
        assert "short answers" in text(await client.call("recall", {"query": "answers"}))


async def test_a_gateway_that_is_not_asked_opens_no_memory(home: Home) -> None:
    home.configure({})
    async with home.stdio() as client:
        await client.open()
        await client.tools()
        await client.call("remora", {"action": "status"})
    assert not (home.path / "memory.db").exists()


async def test_the_first_day(home: Home) -> None:
    """Make it, look, keep, find, show, forget, take out, take in: every line as it is documented."""

    async def run(*words: str) -> str:
        code, out, err = await home.cli(*words, env=WORDS_ALONE)
        assert code == 0, err
        return str(out)

    assert await run("mem", "init") == f"Initialized remora at {home.path / 'memory.db'}\n"
    assert await run("mem", "list") == "No memories yet. Run `remora mem init` then store something.\n"
    id_ = (await run("mem", "store", "prefers dark mode", "--key", "user.theme", "--importance", "0.8")).split()[1]
    line = f"{id_[:12]}  fact    imp=0.80  [user.theme] prefers dark mode\n"
    assert await run("mem", "list") == f"  {line}"
    assert await run("mem", "search", "dark mode") == f"  1. {line}"
    assert re.match(rf"Memory {id_}\n  kind: +fact\n  subject_key: +user.theme\n  importance: +0.80\n",
                    await run("mem", "show", id_[:12]))  # fmt: skip
    export, other = home.folder / "out.jsonl", home.folder / "other.db"
    export.write_text(await run("mem", "export"))
    assert (await run("mem", "forget", id_)).startswith(f"Forgot {id_} (operation ")
    assert await run("mem", "search", "dark mode") == "No matches.\n"
    await run("mem", "import_data", str(other), str(export))
    assert await run("mem", "list", str(other)) == f"  {line}"
    assert "[ok]" in await run("mem", "verify", str(other))
