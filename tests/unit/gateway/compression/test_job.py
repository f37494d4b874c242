from __future__ import annotations

import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from remora.gateway.compression import job as jobs
from remora.gateway.compression.job import Draft, Job


def test_a_remark_counts_and_says_the_way_to_the_rest() -> None:
    job = Job("text", "log", 100, handle="abc")
    assert jobs.remark(job, Draft("", "log", 12, 3_400)) == 'kept 12 of 3,400 lines | more: read_more("abc")'


def test_who_has_no_way_is_told_of_none() -> None:
    job = Job("text", "log", 100, handle="abc", pointer=None)
    assert jobs.remark(job, Draft("", "log", 1, 2, "rows")) == "kept 1 of 2 rows"


@given(st.integers(0, 99_999), st.integers(0, 99_999), st.sampled_from(["lines", "values", "nodes"]))
def test_enough_room_is_reserved_for_the_remark_in_its_frame(kept: int, total: int, unit: str) -> None:
    job = Job("text", "log", 100, handle="a" * 16)
    framed = f"\n[rem: {jobs.remark(job, Draft('', '', kept, total, unit))}]"
    assert len(framed) <= jobs.reserve(job, unit)


def test_the_handle_is_the_beginning_of_the_hash_whatever_the_text_holds() -> None:
    assert jobs.handle_of("é") == hashlib.sha256("é".encode()).hexdigest()[:16]
    assert len(jobs.handle_of("\ud800")) == 16


def test_a_part_is_the_same_job_on_less() -> None:
    whole = Job("text", "json", 100, query="q", handle="h", pointer=None)
    part = whole.of("t", "log", 10)
    assert (part.text, part.kind, part.chars) == ("t", "log", 10)
    assert (part.query, part.handle, part.pointer) == ("q", "h", None)
    assert jobs.narrowed(whole, 5) == whole.of("text", "json", 5)


def test_equal_scores_stay_in_source_order() -> None:
    assert jobs.ranked(np.array([1.0, 3.0, 1.0, 3.0, 2.0])) == [1, 3, 4, 0, 2]


def test_complete_is_what_lacks_nothing() -> None:
    assert Draft("x", "l", 3, 3).complete
    assert not Draft("x", "l", 2, 3).complete


def test_a_text_is_analysed_once() -> None:
    assert jobs.analysed(("a", "b"), None, False) is jobs.analysed(("a", "b"), None, False)
