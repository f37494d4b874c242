from __future__ import annotations

import pytest

from remora.errors import Busy, CallTimeout, NotSent, OutcomeUnknown, ResultTooLarge
from remora.gateway.calls import Denied
from remora.gateway.connect import SelfReference
from remora.gateway.failures import failure_data, failure_result, failure_text


@pytest.mark.parametrize(
    ("problem", "code", "words"),
    [
        (NotSent("refused", retry_after=4.4), "unavailable", "is unavailable (refused); next attempt in 4 s"),
        (CallTimeout("90 s"), "timeout", "did not answer in time (90 s)"),
        (OutcomeUnknown("reset"), "outcome_unknown", "broke off (reset)"),
        (Busy("256 wait"), "busy", "is busy (256 wait)"),
        (ResultTooLarge("40 MB"), "result_too_large", "answered too much (40 MB)"),
        (Denied("reading only"), "denied", "was not called (reading only)"),
        (SelfReference("in a circle"), "unavailable", "is unavailable (in a circle)"),
        (NotSent("no ghp_abcdefghijklmnopqrstuvwxyz0123456789"), "unavailable", "is unavailable (no "),
    ],
)
def test_failures_have_words_and_a_code(problem, code, words):
    text = failure_text("up", problem)
    assert text.startswith(f'remora: server "up" {words}')
    assert "ghp_abcdef" not in text
    data = failure_data("up", "t", problem, "trace")
    assert (data["code"], data["retryable"], data["trace_id"]) == (code, problem.retryable, "trace")
    assert data["retry_after_ms"] == (4400 if problem.retry_after else None)


def test_a_failure_is_an_error_an_agent_can_read_and_a_program_too():
    problem = Busy("256 wait")
    assert failure_result("up", "t", problem, "trace") == {
        "content": [{"type": "text", "text": failure_text("up", problem)}],
        "isError": True,
        "_meta": {"remora/error": failure_data("up", "t", problem, "trace")},
    }
