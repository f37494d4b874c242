"""Results on their way to the agent: small, true to what the server said, and all of it can be read on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.client import Client, Failure, text
from tests.support.control import Control
from tests.support.data_tools import SECRET, rows
from tests.support.fronts import FRONTS, front, same
from tests.support.home import Home

REPORT = "remora/pipeline"
HANDLE = re.compile(r'read_more\("([0-9a-f]{16})"\)')


async def more(client: Client, handle: str, **arguments: Any) -> str:
    return text(await client.call("read_more", {"handle": handle, **arguments}))


@pytest.mark.parametrize("kind", FRONTS)
async def test_a_large_result_comes_small_and_can_be_read_on(home: Home, control: Control, kind: str) -> None:
    home.configure({"up": control.server("up")})
    async with front(home, kind) as client:
        await client.tools_with("up__table")
        result = await client.call("up__table", {"n": 600})
        body, report = text(result), result["_meta"][REPORT]
        shown = json.loads(body)
        assert "failed" in body  # the one row that is unlike all others
        assert report["tokens_out"] <= 4500 < report["tokens_in"]
        assert HANDLE.findall(shown["_rem"]) == [report["handle"]]
        pieces, offset = "", 0
        while True:
            piece = await more(client, report["handle"], offset=offset)
            page, _, foot = piece.rpartition("\n[rem: chars ")
            pieces += page
            if "next:" not in foot:
                break
            offset = int(re.search(r"offset=(\d+)", foot)[1])  # type: ignore[index]
        assert json.loads(pieces) == rows(600)
        found = await more(client, report["handle"], q="$[?@.state=='failed'].id")
        assert json.loads(found)["matches"] == [300]


async def test_what_was_left_out_survives_a_restart(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__table")
        handle = (await client.call("up__table", {"n": 600}))["_meta"][REPORT]["handle"]
    async with front(home, "stdio-modern") as client:
        assert json.loads(await more(client, handle, mode="jsonpath", q="$[417]"))["matches"] == [rows(600)[417]]
        unknown = await client.call("read_more", {"handle": "0123456789abcdef"})
        assert unknown["isError"]
        assert text(unknown).startswith('rem: handle "0123456789abcdef" not found')
        for wrong in ({"handle": handle, "offset": -1}, {"handle": handle, "mode": "sideways"}):
            with pytest.raises(Failure) as refused:
                await client.call("read_more", wrong)
            assert refused.value.code == -32602


async def test_the_question_decides_what_is_kept(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")}, pipeline={"max_result_tokens": 600})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__table")
        asked = await client.call("up__table", {"n": 600, "_context_query": "what did user123 do?"})
        assert "user123" in text(asked)
        assert asked["_meta"][REPORT]["tokens_out"] <= 600
        assert "user123" not in text(await client.call("up__table", {"n": 600}))


@pytest.mark.parametrize("call", ["error", "small", "file", "slice", "off", "own"])
async def test_what_must_not_change_does_not(home: Home, control: Control, call: str, tmp_path: Path) -> None:
    pipeline = {"enabled": False} if call == "off" else {}
    home.configure({"up": control.server("up")}, pipeline=pipeline)
    source = "\r\n".join(f"  const item{i} = <Row key={{{i}}} />;" for i in range(400 if call == "file" else 900))
    file = tmp_path / "page.tsx"
    file.write_bytes(source.encode())
    calls: dict[str, tuple[str, dict[str, Any], str]] = {
        "error": ("up__complain", {"message": "no " * 5000}, "no " * 5000),
        "small": ("up__table", {"n": 8}, json.dumps(rows(8), indent=1)),
        "file": ("up__read_file", {"path": str(file)}, source),
        "slice": ("up__read_file", {"path": str(file), "offset": 0}, source),
        "off": ("up__table", {"n": 600}, json.dumps(rows(600), indent=1)),
        "own": ("remora", {"action": "describe_tool", "name": "up__talkative"}, ""),
    }
    name, arguments, expected = calls[call]
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__table")
        result = await client.call(name, arguments)
        assert REPORT not in result.get("_meta", {})
        if expected:
            assert same(result["content"], [{"type": "text", "text": expected}])


async def test_of_a_longer_file_whole_lines_are_shown(home: Home, control: Control, tmp_path: Path) -> None:
    home.configure({"up": control.server("up")})
    lines = [f"    value_{i} = compute(item[{i}], '{i * 7919 % 1000}')" for i in range(3000)]
    file = tmp_path / "big.js"
    file.write_text("\n".join(lines))
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__table")
        result = await client.call("up__read_file", {"path": str(file)})
        shown = text(result).split("\n")
        assert "omitted" in text(result)
        assert {line for line in shown if line.startswith("    value_")} <= set(lines)
        assert await more(client, result["_meta"][REPORT]["handle"], q="1500-1501") == "\n".join(lines[1499:1501])


async def test_structured_content_over_budget_goes_where_no_schema_promises_it(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")}, catalog={"mode": "slim"})
    async with front(home, "stdio-handshake") as client:
        tools = await client.tools_with("up__mirrored")
        assert "outputSchema" not in tools["up__mirrored"]
        small, large = [await client.call("up__mirrored", {"n": n}) for n in (3, 600)]
        assert small["structuredContent"] == {"rows": rows(3)}
        assert "structuredContent" not in large
        assert json.loads(text(large))
    home.configure({"up": control.server("up")}, catalog={"mode": "full"})
    async with front(home, "stdio-handshake") as client:
        tools = await client.tools_with("up__mirrored")
        assert tools["up__mirrored"]["outputSchema"] == {"type": "object"}
        assert (await client.call("up__mirrored", {"n": 600}))["structuredContent"] == {"rows": rows(600)}


async def test_without_a_way_back_nothing_is_left_out(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")}, profiles={"plain": {"hidden": ["read_more"]}})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__table")
        assert "read_more" in await client.tools_with("up__table")
    async with home.stdio("--profile", "plain") as client:
        await client.open()
        assert "read_more" not in await client.tools_with("up__table")
        result = await client.call("up__echo", {"text": " ".join(f"word{i * i}" for i in range(9000))})
        assert "read_more" not in json.dumps(result)
        assert text(result).endswith(f"word{8999**2}")


async def test_a_secret_reaches_the_agent_and_no_file(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__with_secret")
        result = await client.call("up__with_secret", {"n": 2000})
        handle = result["_meta"][REPORT]["handle"]
        assert SECRET in await more(client, handle, mode="grep", q="OPENAI")
    for file in home.folder.rglob("*"):
        if file.is_file():
            assert SECRET.encode() not in file.read_bytes(), file
    async with front(home, "stdio-handshake") as client:
        assert (await client.call("read_more", {"handle": handle}))["isError"]
