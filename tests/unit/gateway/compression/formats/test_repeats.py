from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.gateway.compression.formats.repeats import HEAD, decode, encode

TRACE = ["Traceback of a thing that went wrong", '  File "a.py", line 1', "ValueError: no such value at all"]


def test_a_block_that_returns_is_named() -> None:
    source = "\n".join([*TRACE, "between", *TRACE, "after", *TRACE])
    shown = encode(source)
    assert shown.count("ValueError") == 1
    assert shown.startswith(HEAD)
    assert decode(shown) == source


@pytest.mark.parametrize(
    "source",
    [
        "\n".join([*TRACE, *TRACE, *TRACE[1:], "x", *TRACE[:2], *TRACE[:2]]),
        "=" * 40 + "\n" + "-" * 12 + "\n",
        "\n".join(["#{1", "#=1", "#}", *TRACE, *TRACE]),
        "",
    ],
)
def test_everything_comes_back(source: str) -> None:
    assert decode(encode(source)) == source


def test_a_text_with_all_our_marks_stays() -> None:
    source = "\n".join([*(f"{mark}=1" for mark in "#@%~^§"), *TRACE, *TRACE])
    assert encode(source) == source


lines = st.sampled_from([*TRACE, "", "short", "=" * 14, "~" * 11 + "-", "#{1", "#}", "@=1", "%-3x", "x ×2"])


@given(st.lists(lines, max_size=40).map("\n".join))
def test_every_mix_of_lines_comes_back(source: str) -> None:
    assert decode(encode(source)) == source
