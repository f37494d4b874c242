from typing import Any

from remora.config.model import Config
from remora.gateway.compression.budget import Budget
from remora.gateway.stages.settings import NOTHING, Settings, effective


def settings(pipeline: Any = None, server: Any = None, tool: Any = None, **top: Any) -> Settings:
    tools = {"tools": {"t": tool}} if tool is not None else {}
    data = {**top, "pipeline": pipeline or {}, "servers": {"s": {"command": "x", **(server or {}), **tools}}}
    config = Config.model_validate(data)
    return effective(config, config.server("s"), config.servers["s"].tools.get("t"))


def test_a_tool_is_stronger_than_its_server_and_that_than_the_pipeline():
    found = settings({"compression": "table", "min_tokens": 7}, {"min_tokens": 8}, {"compression": "log"})
    assert (found.strategy, found.min_tokens) == ("log", 8)
    assert settings({"compression": "table"}).strategy == "table"


def test_the_nearest_limit_counts_tokens_before_characters():
    assert settings({"max_result_tokens": 900}).budget == Budget(tokens=900)
    assert settings({"max_result_tokens": 900}, {"max_result_chars": 500}).budget == Budget(chars=500)
    both = {"max_result_chars": 500, "max_result_tokens": 700}
    assert settings({}, {"max_result_tokens": 300}, both).budget == Budget(tokens=700)
    assert settings({"max_result_tokens": 900}, {"max_result_tokens": 0}).budget == Budget(tokens=900)


def test_without_a_limit_the_models_window_decides_with_slack():
    assert settings().budget == Budget(tokens=4500, slack=True)
    assert settings(consumer_model="gpt-5").budget == Budget(tokens=10_000, slack=True)
    small = {"consumer_model": "tiny-1", "model_windows": {"tiny": 32_000}}
    assert settings(**small).budget == Budget(tokens=1600, slack=True)
    assert settings({"context_budget_ratio": 0.05}, **small).budget == Budget(tokens=1600, slack=True)


def test_tables_merge_key_by_key():
    found = settings(
        {"clean": {"blobs": False}, "hybrid": {"head_chars": 9}},
        {"clean": {"strip_html": False}},
        {"hybrid": {"tail_mode": "truncate"}, "relevance": {"infer_query": False}},
    )
    assert (found.switches.blobs, found.switches.strip_html, found.switches.strip_ansi) == (False, False, True)
    assert (found.options.head_chars, found.options.tail_mode, found.infer_query) == (9, "truncate", False)
    assert settings({"clean": {"enabled": False}}).switches == NOTHING
