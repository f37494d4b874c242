"""Answers that are kept: only where nothing can be missed by it, and never a stale one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support.client import Client, failure_code, text
from tests.support.control import Control
from tests.support.data_tools import SECRET
from tests.support.fronts import FRONTS, front
from tests.support.home import Home


async def read(client: Client, name: str = "a", **meta: Any) -> str:
    return text(await client.call("up__recall_note", {"name": name}, meta=meta or None))


async def write(client: Client, note: str, name: str = "a") -> None:
    await client.call("up__write_note", {"name": name, "text": note})


def reads(control: Control) -> int:
    return len(control.seen("call", tool="recall_note"))


@pytest.mark.parametrize("kind", FRONTS)
async def test_what_only_reads_is_asked_once_and_what_writes_every_time(
    home: Home, control: Control, kind: str
) -> None:
    home.configure({"up": control.server("up")})
    async with front(home, kind) as client:
        await client.tools_with("up__recall_note")
        for _ in range(2):
            await write(client, "same words")
        assert len(control.seen("call", tool="write_note")) == 2
        assert [await read(client) for _ in range(3)] == ["same words"] * 3
        assert reads(control) == 1
        for _ in range(2):
            await client.call("up__echo", {"text": "not annotated"})
        assert len(control.seen("call", tool="echo")) == 2


async def test_after_a_write_the_new_text_is_read(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up"), "other": control.server("other", invalidates=["up"])})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__recall_note", "other__echo")
        for note in ("one", "two", "three"):
            await write(client, note)
            assert await read(client) == note
        before = reads(control)
        await client.call("other__echo", {"text": "a write for all we know"})
        assert await read(client) == "three"
        assert reads(control) == before + 1


async def test_a_write_of_another_engine_counts_too(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with front(home, "stdio-handshake") as one, home.stdio() as two:
        await two.open()
        await one.tools_with("up__recall_note")
        await two.tools_with("up__recall_note")
        await write(one, "old")
        assert [await read(one) for _ in range(2)] == ["old", "old"]
        await write(two, "of the other process")
        before = reads(control)
        await read(one)
        assert reads(control) == before + 1


async def test_fifty_equal_calls_make_one_request(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__slow_look")
        asked = [
            await client.send(
                "tools/call", {"name": "up__slow_look", "arguments": {"n": 1}}, {"progressToken": f"p{n}"}
            )
            for n in range(50)
        ]
        await control.until("looking")
        await client.note("notifications/cancelled", {"requestId": asked[0]})
        await client.inbox.until(
            lambda note: note.get("method") == "notifications/progress" and note["params"]["progressToken"] == "p0"
        )
        await control.tell("up", "release")
        answers = await asyncio.gather(*(client.answer(each) for each in asked[1:]))
        assert {text(answer["result"]) for answer in answers} == {"seen"}
        assert len(control.seen("call", tool="slow_look")) == 1
        assert control.seen("cancelled") == []


async def test_when_the_last_caller_goes_the_request_is_cancelled(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__slow_look")
        asked = [await client.send("tools/call", {"name": "up__slow_look", "arguments": {"n": 1}}) for _ in range(3)]
        await control.until("looking")
        for each in asked:
            await client.note("notifications/cancelled", {"requestId": each})
        await control.until("cancelled")


async def test_errors_and_secrets_are_not_kept(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up")}, pipeline={"enabled": False})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__with_secret")
        for _ in range(2):
            await client.ask("tools/call", {"name": "up__recall_note", "arguments": {"name": "none"}})
        assert reads(control) == 2
        assert SECRET in text(await client.call("up__with_secret", {"n": 20}))
        await client.call("remora", {"action": "status"})
    for file in home.folder.rglob("*"):
        if file.is_file():
            assert SECRET.encode() not in file.read_bytes(), file


async def test_a_file_that_changed_on_disk_is_read_again(home: Home, control: Control, tmp_path: Path) -> None:
    home.configure({"up": control.server("up")})
    file = tmp_path / "notes.txt"
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__read_file")
        for content in ("first\r\n", "second, longer"):
            file.write_bytes(content.encode())
            for _ in range(2):
                assert text(await client.call("up__read_file", {"path": str(file)})) == content
        assert len(control.seen("call", tool="read_file")) == 2


async def test_answers_survive_a_restart_and_the_loss_of_the_file_costs_only_warmth(
    home: Home, control: Control
) -> None:
    home.configure({"up": control.server("up")})
    for _ in range(2):
        async with front(home, "stdio-handshake") as client:
            await client.tools_with("up__whoami")
            first = text(await client.call("up__whoami", {}))
            assert text(await client.call("up__whoami", {})) == first
    assert len(control.seen("call", tool="whoami")) == 1
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__table")
        handle = (await client.call("up__table", {"n": 600}))["_meta"]["remora/pipeline"]["handle"]
        for file in home.path.rglob("state.db*"):
            file.unlink()
        assert text(await client.call("up__whoami", {}))
        again = await client.call("up__table", {"n": 600})
        assert again["_meta"]["remora/pipeline"]["handle"] == handle
        assert "isError" not in await client.call("read_more", {"handle": handle})
        assert failure_code(again) == ""


async def test_it_can_be_gone_past_switched_off_and_cleared(home: Home, control: Control) -> None:
    home.configure({"up": control.server("up", tools={"echo": {"cache": "on"}, "whoami": {"cache": "off"}})})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__recall_note")
        await write(client, "x")
        await read(client)
        await read(client, **{"remora/no_cache": True})
        assert reads(control) == 2
        await client.call("remora", {"action": "cache_clear"})
        await read(client)
        assert reads(control) == 3
        for _ in range(2):
            await client.call("up__echo", {"text": "on"})
            await client.call("up__whoami", {})
        assert len(control.seen("call", tool="echo")) == 1
        assert len(control.seen("call", tool="whoami")) == 2


async def test_what_is_kept_is_the_original(home: Home, control: Control, tmp_path: Path) -> None:
    home.configure({"up": control.server("up", tools={"table": {"cache": "on"}})}, pipeline={"max_result_tokens": 600})
    async with front(home, "stdio-handshake") as client:
        await client.tools_with("up__table")
        one = await client.call("up__table", {"n": 600})
        two = await client.call("up__table", {"n": 600, "_context_query": "user77"})
        assert "user77" not in text(one)
        assert "user77" in text(two)
        assert two["_meta"]["remora/pipeline"]["cache"]["hit"] is True
        assert len(control.seen("call", tool="table")) == 1
