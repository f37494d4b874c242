from __future__ import annotations

from typing import Any

import pytest

from remora.config.check import check
from remora.config.model import Config
from remora.gateway.catalog import Catalog, Source
from remora.gateway.compat import active, dress
from remora.gateway.manifest import Manifest
from remora.gateway.session import ViewKey
from remora.gateway.view import Filter, View, build

STM = "memtomem-stm"


def config(**more: Any) -> Config:
    made, issues = check(Config, {"servers": {"up": {"command": "x"}}, **more})
    assert issues == []
    return made


@pytest.mark.parametrize(
    ("given", "key", "expected"),
    [
        ({}, ViewKey(), set()),
        ({}, ViewKey(compat=(STM,)), {STM}),
        ({"compat": [STM]}, ViewKey(), {STM}),
        ({"profiles": {"old": {"compat": [STM]}}}, ViewKey("old"), {STM}),
        ({"profiles": {"old": {"compat": [STM]}}}, ViewKey("new"), set()),
    ],
)
def test_a_session_a_profile_or_everybody(given: dict[str, Any], key: ViewKey, expected: set[str]) -> None:
    assert active(config(**given), key) == expected


def view(strategy: str, tmp_path: Any) -> View:
    made = config(servers={"up": {"command": "x", "tools": {"look": {"compression": strategy}}}})
    tools = [{"name": "look", "description": "Looks.", "inputSchema": {"type": "object"},
              "annotations": {"title": "Look", "readOnlyHint": True}}]  # fmt: skip
    manifest = Manifest("f", False, "2025-11-25", tools=tuple(tools))
    catalog = Catalog([Source("up", "up", made.server("up"), manifest)], ("rem",), ["remora"])
    own = [{"name": "remora", "description": "Ours.", "inputSchema": {"type": "object"}}]
    return build(catalog, Filter(None, None, tmp_path), made, own, "full", lambda _: True)


@pytest.mark.parametrize(
    ("strategy", "suffix"),
    [
        ("auto", ""),
        ("selective", " | TOC response: use stm_proxy_select_chunks"),
        ("progressive", " | Chunked: use stm_proxy_read_more for more"),
        ("hybrid", " | Head+TOC: use stm_proxy_select_chunks"),
    ],
)
def test_proxied_tools_are_dressed_and_ours_are_not(strategy: str, suffix: str, tmp_path: Any) -> None:
    made = view(strategy, tmp_path)
    dress(made)
    ours, theirs = made.tools
    assert ours["description"] == "Ours."
    assert theirs["description"] == f"[proxied] Looks.{suffix}"
    assert theirs["annotations"] == {"title": "[up] Look", "readOnlyHint": True}
