"""The profile that speaks like memtomem-stm, as its clients use it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.support.client import Failure, text
from tests.support.control import Control
from tests.support.data_tools import rows
from tests.support.home import Home

ALWAYS = {"stm_proxy_select_chunks", "stm_proxy_read_more", "stm_compression_feedback"}
OBSERVING = {"stm_proxy_stats", "stm_proxy_health", "stm_proxy_cache_clear", "stm_compression_stats",
             "stm_progressive_stats", "stm_tuning_recommendations"}  # fmt: skip
PROGRESSIVE = re.compile(r"\n---\n\[progressive: chars=(\d+)-(\d+)/(\d+)")


def only_stm(tools: dict[str, Any]) -> set[str]:
    return {name for name in tools if name.startswith("stm_")}


async def test_nothing_of_it_is_there_unless_asked_for(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with home.stdio() as client:
        await client.open()
        assert only_stm(await client.tools()) == set()
        with pytest.raises(Failure, match="Unknown tool"):
            await client.call("stm_proxy_stats")


@pytest.mark.parametrize("way", ["flag", "variable", "config", "profile", "query"])
async def test_each_way_to_ask_for_it(home: Home, control: Control, way: str) -> None:
    more: dict[str, Any] = {}
    if way == "config":
        more["compat"] = ["memtomem-stm"]
    if way == "profile":
        more["profiles"] = {"old": {"compat": ["memtomem-stm"]}}
    home.configure({"up": control.server("up")}, **more)
    if way == "query":
        async with home.serve() as gateway, gateway.client("?compat=memtomem-stm") as client:
            await client.open()
            assert only_stm(await client.tools()) == ALWAYS | OBSERVING
        return
    words = {"flag": ["--compat", "memtomem-stm"], "profile": ["--profile", "old"]}.get(way, [])
    env = {"REMORA_COMPAT": "memtomem-stm"} if way == "variable" else {}
    async with home.stdio(*words, env=env) as client:
        await client.open()
        assert only_stm(tools := await client.tools()) == ALWAYS | OBSERVING
        assert {"remora", "read_more"} <= tools.keys()


@pytest.mark.parametrize("way", ["config", "variable"])
async def test_the_observing_half_can_be_hidden(home: Home, control: Control, way: str) -> None:
    hidden = {"compat_options": {"memtomem_stm": {"observability_tools": False}}} if way == "config" else {}
    home.configure({"up": control.server("up")}, compat=["memtomem-stm"], **hidden)
    env = {"MEMTOMEM_STM_ADVERTISE_OBSERVABILITY_TOOLS": "false"} if way == "variable" else {}
    async with home.stdio(env=env) as client:
        await client.open()
        assert only_stm(await client.tools()) == ALWAYS
        with pytest.raises(Failure, match="Unknown tool"):
            await client.call("stm_proxy_stats")


async def test_an_unknown_profile_is_refused(home: Home) -> None:
    code, _, err = await home.cli("mcp", "--compat", "memtomem")
    assert (code, "memtomem-stm" in err) == (3, True)


async def test_arguments_and_defaults_are_theirs(home: Home) -> None:
    home.configure({}, compat=["memtomem-stm"])
    async with home.stdio() as client:
        await client.open()
        tools = await client.tools()
        schema = {name: tools[name]["inputSchema"] for name in only_stm(tools)}
        assert list(schema["stm_proxy_read_more"]["properties"]) == ["key", "offset", "limit"]
        assert schema["stm_proxy_read_more"]["properties"]["offset"]["default"] == 0
        assert schema["stm_proxy_read_more"]["properties"]["limit"]["default"] is None
        assert schema["stm_compression_feedback"]["required"] == ["server", "tool", "missing"]
        assert schema["stm_compression_feedback"]["properties"]["kind"]["default"] == "other"
        assert schema["stm_tuning_recommendations"]["properties"]["since_hours"]["default"] == 24
        assert schema["stm_proxy_stats"]["properties"] == {}
        with pytest.raises(Failure) as wrong:
            await client.call("stm_proxy_read_more", {"key": 5})
        assert wrong.value.code == -32602
        odd = await client.call("stm_proxy_read_more", {"key": "0" * 16, "unheard": 1})
        assert text(odd) == f"Progressive delivery key '{'0' * 16}' not found or expired."
        assert "isError" not in odd
        odd = await client.call("stm_proxy_select_chunks", {"key": "0" * 16, "sections": ["a"]})
        assert text(odd) == f"Selection key '{'0' * 16}' not found or expired."


async def test_proxied_tools_look_as_theirs(home: Home, control: Control) -> None:
    server = {**control.server("up"), "tools": {"table": {"compression": "progressive"}, "echo": {}}}
    home.configure({"up": server}, compat=["memtomem-stm"])
    async with home.stdio() as client:
        await client.open()
        tools = await client.tools_with("up__table")
        assert tools["up__table"]["description"].startswith("[proxied] ")
        assert tools["up__table"]["description"].endswith(" | Chunked: use stm_proxy_read_more for more")
        assert tools["up__echo"]["annotations"]["title"] == "[up] Echo"
        assert not tools["read_more"]["description"].startswith("[proxied]")


async def test_pieces_join_to_the_text(home: Home, control: Control) -> None:
    server = {**control.server("up"), "tools": {"table": {"compression": "progressive"}}}
    home.configure({"up": server}, compat=["memtomem-stm"])
    whole = json.dumps(rows(1500), indent=1)
    async with home.stdio() as client:
        await client.open()
        await client.tools_with("up__table")
        piece = text(await client.call("up__table", {"n": 1500}))
        key = re.search(r'stm_proxy_read_more\(key="([0-9a-f]+)"', piece)
        assert key is not None
        joined, reads = "", 0
        while True:
            end = PROGRESSIVE.search(piece)
            assert end is not None
            joined += piece[: end.start()]
            if end[2] == end[3]:
                break
            reads += 1
            piece = text(
                await client.call("stm_proxy_read_more", {"key": key[1], "offset": int(end[2]), "limit": 30_000})
            )
        assert joined == whole
        assert (
            text(await client.call("stm_proxy_read_more", {"key": key[1], "offset": len(whole)})) == "(no more content)"
        )
        for bad in ({"offset": -1}, {"limit": 0}):
            assert text(await client.call("stm_proxy_read_more", {"key": key[1], **bad})).startswith("Error: ")
        told = text(await client.call("stm_progressive_stats"))
        assert told.startswith("Progressive Reads Stats\n=")
        assert re.search(rf"Total reads: +{reads + 1}\n", told)
        assert "up/table" in told
        stats = text(await client.call("stm_proxy_stats"))
        assert re.search(r"Total calls: +1\n", stats)
        assert "Surfacing: disabled" in stats


async def test_sections_by_name(home: Home, control: Control) -> None:
    server = {**control.server("up"), "tools": {"table": {"compression": "selective"}}}
    home.configure({"up": server}, compat=["memtomem-stm"])
    async with home.stdio() as client:
        await client.open()
        await client.tools_with("up__table")
        toc = json.loads(text(await client.call("up__table", {"n": 1500})))
        assert "stm_proxy_select_chunks" in toc["hint"]
        key = toc["selection_key"]
        got = text(await client.call("stm_proxy_select_chunks", {"key": key, "sections": ["[3]", "[1]", "nothing"]}))
        third, first, missing = got.replace("\n\n", "\n").rsplit("\n", 2)
        assert (json.loads(third)["id"], json.loads(first)["id"]) == (3, 1)
        assert missing == 'Not found: ["nothing"]'
        none = text(await client.call("stm_proxy_select_chunks", {"key": key, "sections": ["nothing"]}))
        assert none.startswith('No matching sections found. Available: ["[0]", ')


async def test_feedback_health_and_tuning(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up"), "gone": {"command": "/nonexistent/program"}}, compat=["memtomem-stm"])
    async with home.stdio() as client:
        await client.open()
        await client.tools_with("up__table")
        said = {"server": "up", "tool": "table", "missing": "the failed rows"}
        assert text(await client.call("stm_compression_feedback", said)).endswith("(other, trace_id unresolved)")
        await client.call("up__table", {"n": 1500})
        told = text(await client.call("stm_compression_feedback", {**said, "kind": "truncated"}))
        assert re.fullmatch(r"Compression feedback recorded \(truncated, trace_id=\w+\)", told)
        wrong = text(await client.call("stm_compression_feedback", {**said, "kind": "bad"}))
        assert wrong.startswith("Error: ")
        assert "missing_metadata" in wrong
        stats = text(await client.call("stm_compression_stats"))
        assert re.search(r"Total feedback: +2\n", stats)
        assert "  up/table: 2" in stats
        health = text(await client.call("stm_proxy_health"))
        assert health.startswith("Upstream Server Health\n=")
        assert re.search(r"  up: connected \(\d+ tools\)", health)
        assert "  gone: DISCONNECTED (0 tools)" in health
        assert text(await client.call("stm_tuning_recommendations")).startswith("No recommendations")


async def test_recommendations_in_words(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")}, compat=["memtomem-stm"])
    async with home.stdio() as client:
        await client.open()
        await client.tools_with("up__table")
        for n in range(1500, 1506):
            shown = text(await client.call("up__table", {"n": n}))
            key = re.search(r'stm_proxy_read_more\(key=\\?"([0-9a-f]+)', shown)
            assert key is not None
            await client.call("stm_proxy_read_more", {"key": key[1]})
        told = text(await client.call("stm_tuning_recommendations"))
        assert told.startswith("Tuning Recommendations (24h window, 6 calls, 1 tools analyzed)\n=")
        assert "up/table  [LOW confidence, 6 calls]" in told
        assert "  Violation rate: 100.0%" in told
        assert "  -> max_result_tokens: 4500 -> 6750" in told
        assert told.endswith("remora tune --apply")


async def test_no_server_at_all(home: Home) -> None:
    home.configure({}, compat=["memtomem-stm"])
    async with home.stdio() as client:
        await client.open()
        assert text(await client.call("stm_proxy_health")) == "No upstream servers configured."
        stats = text(await client.call("stm_proxy_stats"))
        labels = [line.split(":")[0] for line in stats.splitlines()[2:10]]
        assert labels == ["Total calls", "Original chars", "Compressed", "Savings", "Token savings", "Cache hits",
                          "Cache misses", "Reconnects"]  # fmt: skip


async def test_kept_answers_can_be_forgotten(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")}, compat=["memtomem-stm"])
    async with home.stdio() as client:
        await client.open()
        await client.tools_with("up__with_secret")
        for given, told in (
            ({}, r"Cleared all \d+ cache entries\."),
            ({"server": "up"}, r"Cleared \d+ cache entries for server 'up'\."),
            ({"tool": "x"}, r"Cleared \d+ cache entries for tool 'x'\."),
            ({"server": "up", "tool": "x"}, r"Cleared \d+ cache entries for up/x\."),
        ):
            assert re.fullmatch(told, text(await client.call("stm_proxy_cache_clear", given)))
