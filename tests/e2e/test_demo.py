"""`remora demo` in a place where there is nothing: what it claims must be true."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

from tests.support.home import PROGRAM


async def demo(folder: Path, *words: str) -> tuple[int, str, str]:
    env = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    process = await asyncio.create_subprocess_exec(
        *PROGRAM, "demo", *words, stdin=-3, stdout=-1, stderr=-1, env=env, cwd=folder
    )
    out, err = await asyncio.wait_for(process.communicate(), 120)
    return process.returncode or 0, out.decode(), err.decode()


async def test_it_shows_real_calls_and_leaves_nothing(tmp_path: Path) -> None:
    code, out, err = await demo(tmp_path, "--json")
    assert (code, err) == (0, "")
    seen = json.loads(out)
    assert {row["name"]: row["protocol"] for row in seen["catalog"]["servers"]} == {
        "notes": "2025-11-25", "tickets": "2026-07-28",
    }  # fmt: skip
    assert seen["catalog"]["same_for_both_eras"]
    assert seen["catalog"]["tools"] == 9
    outcomes = {call["tool"]: call["outcome"] for call in seen["calls"]}
    assert outcomes.pop("tickets__close_ticket") == "error"
    assert set(outcomes.values()) == {"ok"}
    assert next(call for call in seen["calls"] if call["progress"])["progress"][-1] == "4/4 T-7"
    assert seen["parallel"]["calls"] == 20
    assert seen["recovery"]["call"]["outcome"] == "ok"
    assert seen["recovery"]["new_pid"] not in (None, seen["recovery"]["killed_pid"])
    assert seen["stats"]["calls"] == 26
    assert seen["stats"]["errors"]["total"] == 1
    assert os.listdir(tmp_path) == []


async def test_it_reads_well(tmp_path: Path) -> None:
    code, out, err = await demo(tmp_path)
    assert (code, err) == (0, "")
    assert "\x1b[" not in out
    for told in ("Two MCP servers behind one connection", "speaks 2025-11-25", "speaks 2026-07-28, stateless",
                 "T-9 is closed already", "kill -9", "through Remora"):  # fmt: skip
        assert told in out
