from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.errors import Invalid
from remora.memory import normalise


@given(st.text())
def test_content_is_stable_once_normal(text: str) -> None:
    try:
        once = normalise.content(text, [])
    except Invalid:
        return
    assert normalise.content(once, []) == once
    once.encode()


@given(st.lists(st.text(max_size=200), max_size=150))
def test_tags_are_stable_once_normal(tags: list[str]) -> None:
    once = normalise.tags(tags, [])
    assert normalise.tags(list(once), []) == once
    assert len(once) <= normalise.MOST_TAGS
    assert all(tag == tag.strip() and len(tag) <= normalise.LONGEST_TAG and "," not in tag for tag in once)


@pytest.mark.parametrize("given_tags", [["A", "b  c"], "a, b c", '["A", "b c"]'])
def test_tags_in_every_form(given_tags: object) -> None:
    assert normalise.tags(given_tags, []) == ("a", "b c")


def test_lists_become_json_text() -> None:
    warnings: list[str] = []
    assert normalise.content({"a": 1}, warnings) == '{"a": 1}'
    assert warnings == ["content was not text, stored as JSON"]


def test_names() -> None:
    assert normalise.namespace(" Team:Ops ") == "team:ops"
    assert normalise.subject_key("User.Theme") == "user.theme"
    assert normalise.subject_key(" ") is None
    assert normalise.scope("./src/**") == "src/**"
    for bad in ("/abs", "~/x", "a/../b", "a[", "a\\b"):
        with pytest.raises(Invalid):
            normalise.scope(bad)


@pytest.mark.parametrize(("text", "seconds"), [("30d", 2_592_000), ("12h", 43_200), (90, 90), ("1.5 min", 90)])
def test_lengths_of_time(text: str | float, seconds: float) -> None:
    assert normalise.seconds(text) == seconds


def test_known_metadata_must_make_sense() -> None:
    warnings: list[str] = []
    kept = normalise.metadata(
        {"credibility": 2, "emotional_valence": -0.5, "source_type": "dream", "x": None}, warnings
    )
    assert kept == {"emotional_valence": -0.5, "x": None}
    assert len(warnings) == 2
    nested: dict[str, object] = {}
    for _ in range(9):
        nested = {"a": nested}
    with pytest.raises(Invalid):
        normalise.metadata(nested, [])


def test_the_home_folder_is_a_tilde() -> None:
    assert normalise.without_home("/home/ann/x.py", Path("/home/ann")) == "~/x.py"
