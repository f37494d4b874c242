from __future__ import annotations

from remora.gateway.compression.formats.diff import layout

DIFF = [
    "diff --git a/x b/x",
    "--- a/x",
    "+++ b/x",
    "@@ -1,3 +1,3 @@",
    " same",
    "-old",
    "+new",
    "+",
    "@@ -9,1 +9,1 @@",
    " far",
    "--- a/y",
    "+++ b/y",
    "@@ -1 +1 @@",
    "-1",
]


def test_hunks_belong_to_their_file_and_lines_to_their_hunk() -> None:
    up = layout(DIFF).up
    assert up is not None
    assert [up[i] for i in (0, 1, 3, 4, 6, 8, 9)] == [-1, 0, 0, 3, 3, 0, 8]
    assert (up[10], up[12], up[13]) == (-1, 10, 12)


def test_changes_before_context_before_empty_ones() -> None:
    made = layout(DIFF)
    assert made.prior[5] == made.prior[6] > made.prior[3] > made.prior[4] == made.prior[7]
    assert set(made.faint) == {0, 1, 2, 10, 11}
