from __future__ import annotations

import pytest

from remora.gateway.stash.pattern import LONGEST, OVERLAP, WINDOW, compiled, windows


def test_case_counts_only_when_it_is_used() -> None:
    assert compiled("error").search("ERROR")
    assert not compiled("Error").search("ERROR")
    assert compiled(r"\Serror").search("xERROR")


@pytest.mark.parametrize(
    "source",
    ["(a+)+", "(a|b)*", "((a)*b)*", "((a+))*", "(a{2,})+", r"(a)\1", "(?P<n>a)(?P=n)", "x" * (LONGEST + 1), "("],
)
def test_what_could_run_away_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match=r"at \d+|longer than"):
        compiled(source)


@pytest.mark.parametrize("source", ["(ab)+", "a+b*", "(a|b)", "[(+]+", r"\(a+\)", "(a+)?", "(a+){2}"])
def test_what_cannot_is_fine(source: str) -> None:
    assert compiled(source)


def test_long_lines_are_searched_in_overlapping_parts() -> None:
    assert list(windows("short")) == ["short"]
    line = "".join(chr(97 + i % 26) for i in range(2 * WINDOW))
    parts = list(windows(line))
    assert all(len(part) <= WINDOW for part in parts)
    assert parts[0][-OVERLAP:] == parts[1][:OVERLAP]
    assert parts[0] + "".join(part[OVERLAP:] for part in parts[1:]) == line
