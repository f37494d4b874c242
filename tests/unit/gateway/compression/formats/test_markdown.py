from __future__ import annotations

from remora.gateway.compression.formats.markdown import headings, layout

TEXT = ["# One", "words", "## Two", "- item", "  goes on", "```", "# no heading", "```", "Title", "-----", "end"]


def test_headings_have_levels_and_code_has_none() -> None:
    assert headings(TEXT) == {0: 1, 2: 2, 8: 1}


def test_sections_and_list_items_give_context() -> None:
    made = layout(TEXT, False)
    assert made.up is not None
    assert [made.up[i] for i in (0, 1, 2, 3, 4)] == [-1, 0, 0, 2, 3]
    assert made.prior[0] > made.prior[2] > made.prior[6] > made.prior[5]
    assert list(made.code) == [6]


def test_who_asks_for_a_command_looks_for_code() -> None:
    made = layout(TEXT, False)
    assert made.priors("which command?")[6] > made.priors("which end?")[6]
