from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from remora.config.check import check
from remora.config.model import Config
from remora.doors.mcp.compat.memtomem_stm import HIDES_VARIABLE, OBSERVABILITY, TOOLS, MemtomemStm
from remora.errors import RpcError
from remora.gateway.session import ViewKey

ALWAYS = ["stm_proxy_select_chunks", "stm_proxy_read_more", "stm_compression_feedback"]


def tools(environ: dict[str, str] | None = None, **config: Any) -> MemtomemStm:
    made, issues = check(Config, config)
    assert issues == []

    async def nothing(handle: str, principal: Any) -> None:
        return None

    gateway = SimpleNamespace(config=made, parts=SimpleNamespace(environ=environ or {}),
                              stash=SimpleNamespace(get=nothing))  # fmt: skip
    context: Any = SimpleNamespace(gateway=gateway, principal=None, session=None)
    return MemtomemStm(lambda front: context, lambda: context)


def names(group: MemtomemStm) -> list[str]:
    return [each["name"] for each in group.definitions()]


def test_only_where_it_was_asked_for() -> None:
    assert not tools().serves(ViewKey())
    assert tools().serves(ViewKey(compat=("memtomem-stm",)))
    assert tools(compat=["memtomem-stm"]).serves(ViewKey())


def test_the_observing_tools_can_be_hidden() -> None:
    assert names(tools()) == list(TOOLS)
    assert names(tools({HIDES_VARIABLE: "false"})) == ALWAYS
    assert names(tools(compat_options={"memtomem_stm": {"observability_tools": False}})) == ALWAYS
    assert set(TOOLS) - OBSERVABILITY == set(ALWAYS)


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("stm_proxy_read_more", {"key": "k" * 200}, f"Progressive delivery key '{'k' * 64}' not found or expired."),
        ("stm_proxy_read_more", {"key": "k", "offset": -1}, "Error: offset must not be negative"),
        ("stm_proxy_read_more", {"key": "k", "limit": 0}, "Error: limit must be at least 1"),
        ("stm_proxy_select_chunks", {"key": "k", "sections": [], "more": 1},
         "Selection key 'k' not found or expired."),
    ],
)  # fmt: skip
async def test_failures_are_texts(name: str, given: dict[str, Any], told: str) -> None:
    made = await tools().call(name, given, None)  # type: ignore[arg-type]
    assert made == {"content": [{"type": "text", "text": told}]}


@pytest.mark.parametrize("given", [{}, {"key": 1}, {"key": "k", "offset": "1"}, {"key": "k", "limit": 1.5}])
async def test_wrong_types_are_errors_of_the_protocol(given: dict[str, Any]) -> None:
    with pytest.raises(RpcError) as wrong:
        await tools().call("stm_proxy_read_more", given, None)  # type: ignore[arg-type]
    assert wrong.value.code == -32602
