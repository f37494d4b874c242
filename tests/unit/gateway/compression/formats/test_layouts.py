from __future__ import annotations

import pytest

from remora.gateway.compression.detect import Hints
from remora.gateway.compression.formats.layouts import laid_out, layout_of, rows
from remora.gateway.compression.thin import LARGE

READ = Hints("", "read_file", {"path": "/x.log"})


@pytest.mark.parametrize(
    ("kind", "unit"),
    [("grep", "hits"), ("listing", "entries"), ("csv", "rows"), ("table", "rows"), ("snapshot", "nodes"),
     ("log", "lines"), ("python", "lines"), ("unknown", "lines")],
)  # fmt: skip
def test_each_kind_counts_its_own_units(kind: str, unit: str) -> None:
    assert layout_of(kind, ["a,b", "1,2"], Hints()).unit == unit


def test_files_that_were_read_stay_as_they_are() -> None:
    lines = ["a      b", "c      d"]
    assert READ.file_read
    exact = layout_of("listing", lines, READ)
    assert (list(exact.lines), exact.numbered) == (lines, True)
    assert list(layout_of("listing", lines, Hints()).lines) == ["a  b", "c  d"]


def test_rows_carry_their_index() -> None:
    made = rows(["name,n", "a,1", "7,2", ""], None)
    assert list(made.lines) == ["#,name,n", "0,a,1", '"1",7,2', ""]
    assert made.header == "# rem-table total=2\n"
    assert not rows(["name,n", '"a', 'b",1'], None).indexed


def test_very_long_texts_are_looked_at_in_part_and_counted_whole() -> None:
    lines = ["a,b"] + [f"{i},some words here" for i in range(LARGE // 16)]
    made = laid_out("\n".join(lines), "csv", Hints(), None)
    assert made.total == len(lines) > len(made.lines)
    assert made.header == f"# rem-table total={len(lines) - 1}\n"
