"""compress, stash, cache and tune as commands, and the tool `feedback`, on a home that was really used."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.client import text
from tests.support.control import Control
from tests.support.data_tools import rows
from tests.support.home import Home


async def command(home: Home, *words: str) -> Any:
    code, out, err = await home.cli(*words, "--json")
    assert code == 0, err
    return json.loads(out)


async def test_compress_without_a_home(home: Home) -> None:
    file = home.cwd / "rows.json"
    file.write_text(json.dumps(rows(1500), indent=1))
    code, out, err = await home.cli("compress", str(file), "--budget", "800", "--query", "which entry failed")
    assert code == 0
    assert json.loads(out)
    assert "failed" in out
    assert "auto→" in err
    code, piped, _ = await home.cli("compress", "-", "--budget", "800", "--quiet", stdin=file.read_bytes())
    assert (code, bool(json.loads(piped))) == (0, True)
    assert not home.config.exists()


async def test_stash_and_cache_after_a_session(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with home.stdio() as client:
        await client.open()
        await client.tools_with("up__table")
        await client.call("up__table", {"n": 1500})
    (entry,) = (await command(home, "stash", "list"))["entries"]
    assert (entry["server"], entry["tool"]) == ("up", "table")
    code, out, _ = await home.cli("stash", "show", entry["handle"])
    assert (code, out) == (0, json.dumps(rows(1500), indent=1))
    code, _, err = await home.cli("stash", "clear")
    assert (code, "--yes" in err) == (6, True)
    assert await command(home, "stash", "clear", "--yes") == {"cleared": 1}
    assert "cleared" in await command(home, "cache", "clear")


async def test_clearing_reaches_the_running_gateway(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with home.serve() as gateway, gateway.client() as client:
        await client.open()
        await client.tools_with("up__table")
        shown = await client.call("up__table", {"n": 1500})
        handle = shown["_meta"]["remora/pipeline"]["handle"]
        assert (await command(home, "stash", "clear", "--yes"))["cleared"] >= 1
        assert (await client.call("read_more", {"handle": handle}))["isError"] is True
        assert "cleared" in await command(home, "cache", "clear", "--server", "up")


@pytest.mark.parametrize("live", [False, True])
async def test_tuned_by_what_agents_read_on_and_taken_back(home: Home, control: Control, live: bool) -> None:
    home.configure({"up": control.server("up")})
    before = home.config.read_bytes()
    async with home.stdio() as client:
        await client.open()
        await client.tools_with("up__table")
        for n in range(1500, 1506):
            shown = await client.call("up__table", {"n": n})
            await client.call("read_more", {"handle": shown["_meta"]["remora/pipeline"]["handle"]})
        told = await client.call("feedback", {"server": "up", "tool": "table", "missing": "rows", "kind": "truncated"})
        assert told["structuredContent"]["trace_id"]
        wrong = await client.call("feedback", {"server": "up", "tool": "table", "missing": "rows", "kind": "bad"})
        assert wrong["isError"] is True
        assert "wrong_topic" in text(wrong)
        if not live:
            await client.end()
        found = await command(home, "tune", "--since", "1h")
        one = next(each for each in found["recommendations"] if each["field"] == "max_result_tokens")
        assert (one["rule"], one["server"], one["tool"], one["recommended"]) == ("R1", "up", "table", 6_750)
        assert found["evidence"][0]["feedback"] == {"truncated": 1}
        (applied,) = (await command(home, "tune", "--apply", one["id"]))["applied"]
        assert b"max_result_tokens = 6750" in home.config.read_bytes()
        await command(home, "tune", "--rollback", str(applied["id"]))
        assert home.config.read_bytes() == before
        (row,) = (await command(home, "tune", "--history"))["changes"]
        assert row["status"] == "rolled_back"


@pytest.mark.parametrize("words", [(), ("--server", "up"), ("--tool", "recall_note")])
async def test_clearing_reaches_every_engine_of_the_home(home: Home, control: Control, words: tuple[str, ...]) -> None:
    home.configure({"up": control.server("up")})
    async with home.stdio() as client:
        await client.open()
        await client.tools_with("up__recall_note")
        await client.call("up__write_note", {"name": "a", "text": "kept"})
        for _ in range(2):
            await client.call("up__recall_note", {"name": "a"})
        assert len(control.seen("call", tool="recall_note")) == 1
        await command(home, "cache", "clear", *words)
        await client.call("up__recall_note", {"name": "a"})
        assert len(control.seen("call", tool="recall_note")) == 2
