"""The strategy llm_summary through a whole gateway, against local servers that speak the providers' wire forms."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.support.client import text
from tests.support.control import Control
from tests.support.data_tools import rows
from tests.support.home import Home
from tests.support.llm_server import LlmServer

SAID = "Row 750 failed. All other rows are done."
REPORT = "remora/pipeline"


def configured(home: Home, control: Control, server: LlmServer, provider: str, **llm: Any) -> None:
    base = server.url + ("/v1" if provider == "openai" else "")
    given = {"provider": provider, "model": "small-1", "api_key": "k", "base_url": base, **llm}
    tools = {name: {"compression": "llm_summary"} for name in ("table", "with_secret")}
    home.configure({"up": {**control.server("up"), "tools": tools}}, pipeline={"llm": given})


@pytest.mark.parametrize("provider", ["openai", "anthropic", "ollama"])
async def test_a_summary_with_the_way_back(home: Home, control: Control, provider: str) -> None:
    async with LlmServer(lambda _: SAID) as server:
        configured(home, control, server, provider)
        async with home.stdio() as client:
            await client.open()
            await client.tools_with("up__table")
            result = await client.call("up__table", {"n": 1500})
            handle = result["_meta"][REPORT]["handle"]
            assert text(result) == f'[summary by small-1; original: read_more("{handle}")]\n{SAID}'
            found = text(await client.call("read_more", {"handle": handle, "q": "$[750].state"}))
            assert json.loads(found)["matches"] == ["failed"]
            again = await client.call("up__table", {"n": 1500})
            assert text(again) == text(result)
            assert len(server.requests) == 1


async def test_when_the_model_does_not_answer_the_text_is_cut_and_says_why(home: Home, control: Control) -> None:
    async with LlmServer(lambda _: SAID) as server:
        server.hang = asyncio.Event()
        configured(home, control, server, "openai", llm_timeout_seconds=0.05)
        async with home.stdio() as client:
            await client.open()
            await client.tools_with("up__table")
            result = await client.call("up__table", {"n": 1500})
            assert result["_meta"][REPORT]["strategy"] == "llm_summary→timeout_fallback"
            assert len(json.loads(text(result))) > 1  # JSON stays JSON
            assert len(json.dumps(rows(1500), indent=1)) > 4 * len(text(result))


@pytest.mark.parametrize(
    ("provider", "key"), [("", "k"), ("openai", "${NOT_SET_ANYWHERE}"), ("openai", ""), ("anthropic", "")]
)
async def test_without_a_model_or_its_key(home: Home, control: Control, provider: str, key: str) -> None:
    async with LlmServer(lambda _: SAID) as server:
        configured(home, control, server, provider, api_key=key)
        async with home.stdio(env={"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": ""}) as client:
            await client.open()
            await client.tools_with("up__table")
            result = await client.call("up__table", {"n": 1500})
            assert result["_meta"][REPORT]["strategy"] == "llm_summary→no_config_fallback"
        assert server.requests == []


@pytest.mark.parametrize("provider", ["openai", "anthropic", "ollama"])
async def test_a_text_with_a_secret_is_never_sent(home: Home, control: Control, provider: str) -> None:
    async with LlmServer(lambda _: SAID) as server:
        configured(home, control, server, provider)
        async with home.stdio() as client:
            await client.open()
            await client.tools_with("up__with_secret")
            result = await client.call("up__with_secret", {"n": 3000})
            assert result["_meta"][REPORT]["strategy"] == "llm_summary→privacy_fallback"
        assert server.requests == []
