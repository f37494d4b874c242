import json
from typing import Any

import pytest

from remora.config.model import Config
from remora.gateway.stages.reduce import Order, reduce, shortened
from remora.gateway.stages.settings import effective

LOG = "\n".join(
    f"2026-01-01 10:{i // 60 % 60:02}:{i % 60:02} INFO step {i} of run {i * 7919 % 977}" for i in range(900)
)


def order(pipeline: Any = None, **fields: Any) -> Order:
    config = Config.model_validate({"pipeline": pipeline or {}})
    return Order(**{"settings": effective(config), "pointer": 'read_more("{handle}")', **fields})


def test_what_is_small_or_a_file_stays():
    assert reduce("a few words " * 20, order()).text is None
    read = {"tool": "read_file", "arguments": {"path": "/a/run.log"}}
    assert reduce(LOG[:15_000], order(**read)).text is None
    assert reduce(LOG, order(**read)).text is not None
    sliced = {"tool": "read_file", "arguments": {"path": "/a/run.log", "offset": 3}}
    assert reduce(LOG[:40_000], order(**sliced)).text is None


def test_what_is_left_out_is_told():
    made = reduce(LOG, order({"max_result_tokens": 500}))
    assert made.text is not None
    assert made.lossy
    assert made.tokens_out <= 500 < made.tokens_in
    assert made.units_kept < made.units_total
    assert 'read_more("' in made.text
    assert not made.secret


def test_without_a_way_back_nothing_is_missing():
    assert reduce(LOG, order({"max_result_tokens": 500}, pointer=None)).text is None
    data = [{"id": i, "name": f"user{i}", "url": f"https://example.com/users/{i}"} for i in range(300)]
    made = reduce(json.dumps(data, indent=2), order({"max_result_tokens": 3000}, pointer=None))
    assert made.text is None or not made.lossy


def test_a_secret_in_it_is_noticed():
    made = reduce(
        LOG + "\naws_secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzQ1pLe9vT", order({"max_result_tokens": 500})
    )
    assert made.secret


def test_a_little_over_a_budget_nobody_set_passes():
    tokens = reduce(LOG, order({"max_result_tokens": 10**6})).tokens_in
    text = LOG[: len(LOG) * 4500 * 105 // (tokens * 100)]
    assert reduce(text, order()).text is None
    assert reduce(text, order({"max_result_tokens": 4500})).text is not None


@pytest.mark.parametrize(
    ("given", "arguments", "expected"),
    [
        ("asked", {"query": "q"}, ("asked", "context")),
        ("", {"q": "", "pattern": "x y"}, ("x y", "argument:pattern")),
        ("", {"path": "/a", "query": 3}, ("", "")),
    ],
)
def test_where_the_question_comes_from(given, arguments, expected):
    assert order(query=given, arguments=arguments).asked == expected
    assert order({"relevance": {"infer_query": False}}, arguments=arguments).asked == ("", "")


def test_head_and_tail_of_json_are_json_within_the_budget():
    text = json.dumps([{"id": i} for i in range(5000)])
    made = shortened(text, order({"max_result_tokens": 400}))
    assert made.text is not None
    assert json.loads(made.text)
    assert made.tokens_out <= 400
    assert made.secret
    assert (
        reduce("x " * 600, order({"max_upstream_chars": 1000, "max_result_tokens": 200})).strategy
        == "headtail_fallback"
    )
