from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from remora.config.check import check
from remora.config.model import Config
from remora.gateway.tuning.evidence import Evidence
from remora.gateway.tuning.rules import confidence, current, recommend

SEEN = Evidence("git", "log", 20, 0, 0, 0, {}, (9_000, 12_000), (4_000, 4_400), 0.4, 5.0, 40.0, "log", "auto→log")


def config(**more: Any) -> Config:
    made, issues = check(Config, {"servers": {"git": {"command": "uvx"}}, **more})
    assert issues == []
    return made


def ruled(seen: Evidence, **more: Any) -> list[tuple[str, str, Any, Any]]:
    return [(one.rule, one.field, one.current, one.value) for one in recommend(config(**more), [seen])]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"again": 5}, [("R1", "max_result_tokens", 4_500, 6_750)]),
        ({"again": 4}, []),
        ({"again": 5, "tokens_in": (5_000, 5_200)}, [("R1", "max_result_tokens", 4_500, 5_200)]),
        ({"again": 5, "tokens_in": (4_000, 4_300)}, []),
        ({"reduced": 50}, [("R2", "max_result_tokens", 4_500, 3_600)]),
        ({"reduced": 50, "recovered": 1, "again": 1}, []),
        ({"reduced": 50, "feedback": {"other": 1}}, []),
        ({"feedback": {"truncated": 2, "missing_example": 1}}, [("R3", "max_result_tokens", 4_500, 6_750)]),
        ({"feedback": {"truncated": 2}}, []),
        ({"again": 9, "feedback": {"truncated": 3}}, [("R1", "max_result_tokens", 4_500, 6_750)]),
        ({"feedback": {"missing_metadata": 3}}, []),
        ({"feedback": {"missing_metadata": 3}, "type": "json"}, [("R4", "compression", "auto", "extract_fields")]),
        ({"feedback": {"wrong_topic": 3}}, [("R5", "relevance.infer_query", True, False)]),
        ({"ms_p95": 101.0}, [("R6", "compression", "auto", "truncate")]),
        ({"ms_p95": 199.0, "kilobytes_p95": 100.0}, []),
    ],
)
def test_what_the_evidence_speaks_for(change: dict[str, Any], expected: list[Any]) -> None:
    assert ruled(replace(SEEN, **change)) == expected


def test_never_more_than_may_be_delivered_and_never_next_to_nothing() -> None:
    much = replace(SEEN, again=20, tokens_in=(90_000, 90_000))
    assert ruled(much, pipeline={"max_result_tokens": 20_000}) == [("R1", "max_result_tokens", 20_000, 25_000)]
    assert ruled(replace(SEEN, reduced=50), pipeline={"max_result_tokens": 1_100}) == [
        ("R2", "max_result_tokens", 1_100, 1_000)
    ]
    assert ruled(replace(SEEN, reduced=50), pipeline={"max_result_tokens": 900}) == []


def test_few_calls_and_unknown_servers_say_nothing() -> None:
    assert ruled(replace(SEEN, reduced=4, again=4)) == []
    assert ruled(replace(SEEN, reduced=4, again=4), tuner={"min_calls": 4}) != []
    assert ruled(replace(SEEN, again=20, server="gone")) == []


def test_what_was_taken_back_rests() -> None:
    seen = replace(SEEN, again=10)
    assert recommend(config(), [seen], [("git", "log", "R1")]) == []
    assert len(recommend(config(), [seen], [("git", "log", "R2"), ("git", "diff", "R1")])) == 1


def test_confidence_grows_with_calls() -> None:
    assert [confidence(n) for n in (5, 9, 10, 19, 20)] == ["low", "low", "medium", "medium", "high"]


def test_the_same_recommendation_has_the_same_name() -> None:
    first, second = (recommend(config(), [replace(SEEN, again=n)])[0] for n in (10, 12))
    assert first.id == second.id
    other = recommend(config(pipeline={"max_result_tokens": 5_000}), [replace(SEEN, again=10)])[0]
    assert other.id != first.id


def test_the_nearest_setting_is_the_current_one() -> None:
    given = {"git": {"command": "x", "max_result_chars": 3_000, "tools": {"log": {"compression": "log"}, "diff": {
        "max_result_tokens": 2_000, "relevance": {"infer_query": False}}}}}  # fmt: skip
    made = config(servers=given, consumer_model="claude-sonnet-4")
    log, diff = current(made, "git", "log"), current(made, "git", "diff")
    assert log is not None
    assert diff is not None
    assert (log.budget, log.compression, log.infer_query) == (1_000, "log", True)
    assert (diff.budget, diff.compression, diff.infer_query) == (2_000, "auto", False)
