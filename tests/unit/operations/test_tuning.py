from __future__ import annotations

from remora.operations.tuning import applied_text, feedback_text, history_text, rollback_text, tuning_text

CHANGE = {"id": 1, "ts": 0.0, "server": "git", "tool": "log", "field": "relevance.infer_query", "old": None,
          "new": False, "status": "applied", "by": "user", "reason": "because"}  # fmt: skip


def test_feedback_says_which_call_it_belongs_to() -> None:
    assert feedback_text({"kind": "other", "trace_id": "t1"}) == "Compression feedback recorded (other, trace_id=t1)"
    assert feedback_text({"kind": "truncated", "trace_id": None}).endswith("(truncated, trace_id unresolved)")


def test_nothing_to_say() -> None:
    empty = {"calls": 0, "tools": 0, "since": "24h", "recommendations": []}
    assert tuning_text(empty).startswith("No recommendations")
    assert applied_text({"applied": []}) == "Nothing to apply."
    assert history_text({"changes": []}) == "Nothing was ever applied."


def test_changes_in_words() -> None:
    assert applied_text({"applied": [CHANGE]}) == "1  git/log  relevance.infer_query: not set -> false"
    assert rollback_text(CHANGE) == "git/log  relevance.infer_query: back to not set"
    assert "not set -> false" in history_text({"changes": [CHANGE]})
