from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remora.gateway.compression.formats.layouts import laid_out
from remora.gateway.compression.job import Job, reserve
from remora.gateway.compression.strategies import truncate

LINES = [f"{i} plain words that say little" for i in range(300)]


def test_what_was_asked_for_and_the_beginning_are_kept() -> None:
    lines = [*LINES[:150], "the zebra crossed the road", *LINES[150:]]
    draft = truncate.run(Job("\n".join(lines), "unknown", 1_500, "where is the zebra"))
    assert draft.label == "truncate:unknown"
    assert "the zebra crossed the road" in draft.body
    assert draft.body.startswith(LINES[0])
    assert len(draft.body) <= 1_500
    assert (0 < draft.kept < draft.total) is (draft.total == 301)


def test_with_room_for_all_nothing_is_left_out() -> None:
    text = "\n".join(LINES[:5])
    draft = truncate.run(Job(text, "unknown", 5_000))
    assert (draft.body, draft.complete) == (text, True)


def test_lines_that_must_stay_come_before_all_others() -> None:
    job = Job("\n".join(LINES), "unknown", 600)
    layout = laid_out(job.text, job.kind, job.hints, None)
    assert LINES[222] in truncate.by_lines(job, layout, "x", [222]).body


def test_the_question_changes_the_order_and_not_the_worth_without_it() -> None:
    layout = laid_out("\n".join(LINES), "unknown", Job("", "", 0).hints, "words")
    units, asked, plain = truncate.scored(layout, "17")
    assert (asked != plain).any()
    assert (truncate.scored(layout, None)[2] == plain).all()
    assert truncate.firsts(units)[17] == 17


@given(st.lists(st.integers(0, 90).map(lambda n: "wwwwwww " * n), min_size=1, max_size=25), st.integers(120, 900))
def test_there_is_always_room_for_the_remark(lines: list[str], chars: int) -> None:
    job = Job("\n".join(lines), "unknown", chars)
    draft = truncate.run(job)
    assert len(draft.body) <= chars - reserve(job)
    assert draft.complete is (draft.body == job.text)
