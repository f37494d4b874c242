from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from remora.config.model import Config
from remora.gateway.compression.budget import Budget
from remora.gateway.compression.job import POINTER
from remora.gateway.stages.reduce import Order, reduce, shortened
from remora.gateway.stages.settings import effective

SETTINGS = replace(effective(Config()), budget=Budget(tokens=400), min_tokens=100)
LINES = "\n".join(f"{i * 7919 % 1009} plain words {i} that say little {i * 31 % 97}" for i in range(400))
READ = {"tool": "read_file", "arguments": {"path": "/x.txt"}}


def order(pointer: str | None = POINTER, settings: Any = SETTINGS, **more: Any) -> Order:
    return Order(settings, pointer=pointer, **more)


def test_long_texts_are_within_their_budget_and_say_where_the_rest_is() -> None:
    made = reduce(LINES, order())
    assert made.text is not None
    assert (made.lossy, made.secret) == (True, False)
    assert made.tokens_out <= 400 < made.tokens_in
    assert 'read_more("' in made.text
    assert 0 < made.units_kept < made.units_total


def test_short_texts_and_files_that_were_read_stay() -> None:
    assert reduce("short", order()).text is None
    assert reduce(LINES, order(**READ)).text is None
    strict = replace(SETTINGS, verbatim_max_tokens=10, pass_through_max_tokens=10)
    assert reduce(LINES, order(settings=strict, **READ)).text is not None


def test_without_a_way_to_the_rest_nothing_is_left_out() -> None:
    assert reduce(LINES, order(None)).text is None
    rows = json.dumps([{"id": i, "state": "running", "kind": "thing"} for i in range(60)])
    made = reduce(rows, order(None))
    assert made.text is not None
    assert made.units_kept == made.units_total
    assert "read_more" not in made.text


def test_secrets_are_noticed_before_the_original_is_kept() -> None:
    assert reduce(LINES + "\npassword: ghp_abcdefghijklmnopqrstuvwxyz0123456789", order()).secret


def test_the_question_and_where_it_comes_from() -> None:
    arguments = {"path": "x", "pattern": "zebra"}
    assert order(query="why", arguments=arguments).asked == ("why", "context")
    assert order(arguments=arguments).asked == ("zebra", "argument:pattern")
    assert order(arguments=arguments, settings=replace(SETTINGS, infer_query=False)).asked == ("", "")


def test_head_and_tail_of_what_is_too_long_to_look_at() -> None:
    small = replace(SETTINGS, max_upstream_chars=2_000)
    made = reduce(LINES, order(settings=small))
    assert made.text is not None
    assert made.strategy.endswith("headtail_fallback")
    assert made.text.startswith(LINES.split("\n")[0])
    assert made.tokens_out <= 400
    assert shortened(LINES, order(), "auto→timeout_fallback").strategy == "auto→timeout_fallback"
