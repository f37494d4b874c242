from __future__ import annotations

from remora.gateway.compression.job import Draft, Job, analysed, handle_of, narrowed, ranked, remark, reserve


def test_the_handle_follows_from_the_text() -> None:
    assert handle_of("a") == handle_of("a") != handle_of("b")
    assert len(handle_of("\ud800")) == 16


def test_a_remark_counts_and_tells_the_way() -> None:
    job = Job("text", "log", 100, handle="h")
    draft = Draft("", "x", 1_000, 2_000)
    assert remark(job, draft) == 'kept 1,000 of 2,000 lines | more: read_more("h")'
    assert remark(Job("text", "log", 100, pointer=None), draft) == "kept 1,000 of 2,000 lines"
    assert reserve(job) > len(remark(job, draft))


def test_a_draft_is_complete_when_nothing_is_missing() -> None:
    assert Draft("", "x", 2, 2).complete
    assert not Draft("", "x", 1, 2).complete


def test_part_of_a_job_and_less_room_for_it() -> None:
    job = Job("text", "log", 100, "why", handle="h")
    assert (job.of("a", "json", 5).query, job.of("a", "json", 5).handle) == ("why", "h")
    assert narrowed(job, 7) == Job("text", "log", 7, "why", handle="h")


def test_the_best_come_first_and_equals_stay_in_order() -> None:
    import numpy as np

    assert ranked(np.array([1.0, 3.0, 1.0])) == [1, 0, 2]
    assert analysed(("a", "b"), None, False) is analysed(("a", "b"), None, False)
