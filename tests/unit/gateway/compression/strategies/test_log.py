from __future__ import annotations

from remora.gateway.compression.job import Job
from remora.gateway.compression.strategies import log

LINES = [f"10:00:{i % 60:02d} INFO request {i} served" for i in range(400)]


def test_errors_and_the_end_are_kept_within_the_budget() -> None:
    lines = [*LINES, "10:09:00 ERROR disk full on /dev/sda1", *LINES, "exited with code 1"]
    draft = log.run(Job("\n".join(lines), "log", 1_200))
    assert draft.label == "log"
    assert "ERROR disk full" in draft.body
    assert draft.body.endswith("exited with code 1")
    assert len(draft.body) <= 1_200
    assert draft.total == len(lines)


def test_any_text_may_be_taken_for_a_log() -> None:
    assert log.run(Job("\n".join(LINES), "unknown", 600)).label == "log"
