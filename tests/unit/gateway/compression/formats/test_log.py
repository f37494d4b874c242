from __future__ import annotations

from remora.gateway.compression.formats.log import layout, squeeze, table


def test_indented_lines_belong_to_the_line_above() -> None:
    assert layout(["start", "  more", "", "next"]).up == [-1, 0, 0, -1]
    commits = ["commit 0123456789", "Author: me", "    words", "commit 9876543210"]
    made = layout(commits)
    assert (made.up, made.siblings) == ([-1, 0, 0, -1], True)


def test_failures_matter_and_the_last_summaries_always_stay() -> None:
    made = layout(["fine", "E   AssertionError: no", "==========", "=== 1 failed, 2 passed ==="])
    assert made.prior[1] > 0 > made.prior[2]
    assert made.first == [3]


def test_padding_and_rulers_are_shortened_and_indentation_is_not() -> None:
    assert squeeze("    a        b") == "    a  b"
    assert squeeze("==============") == "==="
    assert squeeze("a b") == "a b"


def test_the_head_of_a_table_stays_and_its_borders_fall() -> None:
    made = table(["+----+----+", "| id | n  |", "+----+----+", "| 1  | x  |"])
    assert made.first == [1]
    assert made.prior == {0: -3.0, 2: -3.0}


def test_the_last_three_of_many_summaries_stay() -> None:
    assert list(layout([f"{i} failed" for i in range(9)]).first) == [8, 7, 6]


def test_the_head_of_a_table_stands_above_its_rule() -> None:
    assert list(table(["All of them", "id  name", "--  ----", "1   a"]).first) == [1]
