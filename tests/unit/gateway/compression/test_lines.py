from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from remora.gateway.compression.lines import Layout, Piece, choose, cut_points, partial, pieces, render

texts = st.lists(
    st.one_of(
        st.sampled_from(["", "a", "word " * 12]), st.integers(1, 700).map(lambda n: ("w" * 7 + " ") * (n // 8 + 1))
    ),
    min_size=1,
    max_size=30,
)


@given(st.text(alphabet="ab .,;!\n", max_size=3_000))
def test_pieces_of_a_text_are_the_text_and_none_is_too_long(text: str) -> None:
    cuts = cut_points(text)
    assert (cuts[0], cuts[-1]) == (0, len(text))
    assert "".join(text[a:b] for a, b in itertools.pairwise(cuts)) == text
    assert all(b - a <= 250 for a, b in itertools.pairwise(cuts))


def test_a_long_text_is_cut_at_the_end_of_a_sentence() -> None:
    text = "Some words that fill the line. " * 30
    assert all(text[:cut].endswith(". ") for cut in cut_points(text)[1:])


short = st.lists(st.integers(0, 230).map(lambda n: ("word " * 46)[:n]), min_size=1, max_size=40)


@given(short, st.integers(0, 3_000), st.randoms(use_true_random=False))
def test_the_chosen_stay_within_the_budget_and_in_source_order(lines: list[str], budget: int, random: object) -> None:
    layout, units = Layout(lines), pieces(lines)
    order = list(range(len(units)))
    random.shuffle(order)  # type: ignore[attr-defined]
    kept = choose(layout, units, order, budget)
    shown = render(layout, units, kept)
    if kept:
        assert len(shown) <= budget
    at = 0
    for line in shown.split("\n"):
        if not line.startswith("… "):
            at = lines.index(line, at) + 1


@given(texts)
def test_everything_kept_is_the_text(lines: list[str]) -> None:
    units = pieces(lines)
    assert render(Layout(lines), units, set(range(len(units)))) == "\n".join(lines)


def test_gaps_count_exactly_and_only_the_first_says_what() -> None:
    lines = [f"this is line {i}" for i in range(30)]
    assert render(Layout(lines), pieces(lines), {0, 10, 29}).split("\n") == [
        lines[0], "… 9 lines", lines[10], "… 18", lines[29],
    ]  # fmt: skip
    numbered = Layout(lines, numbered=True)
    assert render(numbered, pieces(lines), {0, 1, 29}).split("\n")[2] == "⋯ lines 3-29 omitted ⋯"
    assert Layout(lines, unit="rows").gap(0, 1, first=True) == "… 1 row"


def test_a_gap_shorter_than_its_name_is_shown() -> None:
    lines = ["first", "x", "last"]
    assert render(Layout(lines), pieces(lines), {0, 2}) == "first\nx\nlast"


def test_a_long_gap_says_what_most_of_its_lines_look_like() -> None:
    lines = ["start", *(f"GET /item/{i} 200" for i in range(150)), "end"]
    layout = Layout(lines, templates=1)
    assert render(layout, pieces(lines), {0, 151}).split("\n")[1] == '… 150 lines: "GET /item/<*> <*>" ×150'


def test_holes_in_a_line_are_counted() -> None:
    assert partial("0123456789", [Piece(0, 2, 4), Piece(0, 4, 6)]) == "…[+2 chars]2345…[+4 chars]"


def test_lines_of_a_record_come_with_those_that_name_it() -> None:
    lines = ["- item", "  name: first", "  size: 3", "- item", "  name: second", "  size: 4"]
    layout = Layout(lines, up=[-1, 0, 0, -1, 3, 3], siblings=True, title={0: 1, 3: 4})
    units = pieces(lines)
    assert choose(layout, units, [5], 80, first_of={i: i for i in range(6)}) == {3, 4, 5}
    assert choose(layout, units, [5], 80) == {5}


def test_what_must_stay_comes_first() -> None:
    lines = [f"line {i}" for i in range(50)]
    kept = choose(Layout(lines), pieces(lines), range(50), 60, forced=[49])
    assert {0, 49} <= kept


def test_lines_of_a_thinned_text_know_where_they_stood() -> None:
    layout = Layout(["a", "b"], numbers=[3, 7], total=10)
    assert [layout.number(i) for i in range(3)] == [3, 7, 10]
    assert not layout.follows(1)
    assert render(layout, pieces(["a", "b"]), {0, 1}) == "… 3 lines\na\n… 3\nb\n… 2"
