from __future__ import annotations

from typing import Any

import pytest

from remora.config.check import check
from remora.config.model import Config
from remora.gateway.stages.settings import NOTHING, Settings, effective


def of(tool: dict[str, Any] | None = None, server: dict[str, Any] | None = None, **tables: Any) -> Settings:
    given = {"servers": {"up": {"command": "x", **(server or {}), "tools": {"t": tool or {}}}}, **tables}
    config, issues = check(Config, given)
    assert issues == []
    return effective(config, config.server("up"), config.server("up").tools["t"])


def test_a_tool_before_its_server_before_everything() -> None:
    pipeline = {"min_tokens": 1, "compression": "truncate"}
    assert of(pipeline=pipeline).min_tokens == 1
    made = of({"compression": "none"}, {"min_tokens": 2, "compression": "table"}, pipeline=pipeline)
    assert (made.strategy, made.min_tokens) == ("none", 2)


def test_tables_are_merged_key_by_key() -> None:
    made = of({"hybrid": {"head_chars": 700}}, {"hybrid": {"head_chars": 800, "min_toc_budget": 300}})
    assert (made.options.head_chars, made.options.min_toc_budget) == (700, 300)
    assert not of({"relevance": {"infer_query": False}}).infer_query


@pytest.mark.parametrize(
    ("tool", "server", "pipeline", "limit"),
    [
        ({"max_result_chars": 900}, {"max_result_tokens": 700}, {}, (900, None)),
        ({}, {"max_result_tokens": 700, "max_result_chars": 900}, {}, (None, 700)),
        ({}, {}, {"max_result_tokens": 600}, (None, 600)),
    ],
)
def test_the_nearest_limit_counts(tool: Any, server: Any, pipeline: Any, limit: Any) -> None:
    budget = of(tool, server, pipeline=pipeline).budget
    assert (budget.chars, budget.tokens) == limit


def test_without_limits_the_model_decides() -> None:
    assert of().budget == of(consumer_model="unheard-of").budget
    assert of(consumer_model="gpt-4.1").budget.tokens != of().budget.tokens


def test_no_cleaning_at_all() -> None:
    assert of({"clean": {"enabled": False}}).switches == NOTHING
    assert of().switches != NOTHING
    assert not of({"clean": {"blobs": False}}).switches.blobs
