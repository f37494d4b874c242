from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from remora.demo.client import Failed, connected, text_of
from remora.demo.tour import command


async def test_it_speaks_either_era(tmp_path: Path) -> None:
    async with connected(command("notes"), os.environ, str(tmp_path)) as client:
        assert (await client.initialize())["serverInfo"]["name"] == "notes"
        assert (await client.call("search_notes", {"query": "deploys"}))["structuredContent"]["notes"]
    async with connected(command("tickets"), os.environ, str(tmp_path)) as client:
        listed = await client.request("tools/list", modern=True)
        assert listed["tools"][0]["name"] == "find_tickets"
        with pytest.raises(Failed, match="Unsupported protocol version"):
            await client.request("tools/list")


async def test_it_keeps_what_progress_said(tmp_path: Path) -> None:
    async with connected(command("notes"), os.environ, str(tmp_path)) as client:
        await client.call("tidy_notes")
        assert client.progress[0] == "1/3 Checkout runbook"


async def test_a_server_that_goes_ends_what_waits_for_it(tmp_path: Path) -> None:
    once = 'import sys; sys.stdin.readline(); print(\'{"jsonrpc": "2.0", "method": "notifications/x"}\')'
    async with connected([sys.executable, "-c", once], os.environ, str(tmp_path)) as client:
        with pytest.raises(Failed, match="has gone"):
            await client.request("ping")


async def test_a_server_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remora.demo.client.PATIENCE_SECONDS", 0.1)
    async with connected([sys.executable, "-c", "import time; time.sleep(60)"], os.environ, str(tmp_path)) as client:
        process = client.process
    assert process.returncode not in (None, 0)


def test_the_text_of_a_result() -> None:
    assert (
        text_of({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]})
        == "a\nb"
    )
    assert text_of({}) == ""
