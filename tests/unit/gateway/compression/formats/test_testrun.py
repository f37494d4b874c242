from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remora.gateway.compression.formats.testrun import HEAD, decode, encode


def results(names: list[str]) -> str:
    lines = [
        f"tests/test_a.py::{name} PASSED ".ljust(60) + f"[{i * 100 // len(names):>3}%]"
        for i, name in enumerate(names, 1)
    ]
    return "\n".join([f"collected {len(names)} items", "+ a line that looks like ours", *lines, "done"])


def test_cases_of_one_test_share_its_name_and_come_back() -> None:
    source = results([f"test_it[{i}]" for i in range(10)] + ["test_other", "test_words[a b]"])
    shown = encode(source)
    assert shown.startswith(HEAD)
    assert shown.count("test_it") == 1
    assert "\\+ a line that looks like ours" in shown
    assert decode(shown) == source


def test_a_few_results_are_not_worth_it() -> None:
    source = results(["test_a", "test_b"])
    assert encode(source) == source


names = st.sampled_from(["test_one", "test_two[a]", "test_two[b-1]", "test_two[with space]", "test_three", "[odd]"])


@given(st.lists(names, min_size=8, max_size=40))
def test_every_run_comes_back(found: list[str]) -> None:
    source = results(found)
    assert encode(source).startswith(HEAD)
    assert decode(encode(source)) == source
