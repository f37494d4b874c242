from __future__ import annotations

from remora.gateway.compression.lines import LONG, Layout, Piece, choose, cut_points, partial, pieces, render


def test_long_lines_are_cut_at_sentences_and_lose_nothing() -> None:
    line = "A sentence of some words. " * 40
    found = pieces(["short", line])
    assert found[0] == Piece(0, 0, 5)
    assert "".join(line[p.start : p.end] for p in found[1:]) == line
    assert all(line[p.start : p.end].endswith(". ") for p in found[1:])
    assert cut_points("x" * 1_000)[1] == 200


def test_gaps_are_named_with_what_they_count_once() -> None:
    lines = [f"{i:02d} some words of a line" for i in range(40)]
    layout = Layout(lines)
    shown = render(layout, pieces(lines), {5, 20}).split("\n")
    assert shown == ["… 5 lines", lines[5], "… 14", lines[20], "… 19"]
    numbered = render(Layout(lines, numbered=True), pieces(lines), {0, 39}).split("\n")
    assert numbered == [lines[0], "⋯ lines 2-39 omitted ⋯", lines[39]]


def test_a_gap_shorter_than_its_name_is_shown() -> None:
    lines = ["a", "b", "c"]
    assert render(Layout(lines), pieces(lines), {0, 2}) == "a\nb\nc"


def test_what_must_stay_comes_first_and_the_budget_holds() -> None:
    lines = [f"line {i}" for i in range(50)]
    units = pieces(lines)
    kept = choose(Layout(lines), units, range(50), 60, forced=[49])
    assert 49 in kept
    assert 0 in kept
    assert len(render(Layout(lines), units, kept)) <= 60


def test_holes_of_a_line_are_counted() -> None:
    line = "a" * LONG
    assert partial(line, [Piece(0, 10, 20)]) == f"…[+10 chars]{'a' * 10}…[+{LONG - 20} chars]"


def test_a_record_is_shown_with_its_name() -> None:
    layout = Layout(["- a", "  name: x", "  b: 1"], up=[-1, 0, 0], siblings=True, title={0: 1})
    assert layout.company(2) == [0, 1]
    assert Layout(["a"]).company(0) == []


def test_lines_of_a_thinned_text_know_where_they_stood() -> None:
    layout = Layout(["a", "b"], numbers=[3, 7], total=10)
    assert [layout.number(i) for i in range(3)] == [3, 7, 10]
    assert not layout.follows(1)
