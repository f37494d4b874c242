from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.gateway.compression.fallback import head_tail, marker_alone
from remora.gateway.compression.job import Job

TEXT = "\n".join(f"line number {i}" for i in range(500))


def test_head_and_tail_at_line_ends_with_the_gap_counted() -> None:
    draft = head_tail(Job(TEXT, "log", 1_000, handle="h"))
    shown = draft.body.split("\n")
    at = next(i for i, line in enumerate(shown) if line.startswith("… "))
    lines = TEXT.split("\n")
    assert shown[:at] == lines[:at]
    assert shown[at + 1 :] == lines[-len(shown) + at + 1 :]
    assert shown[at] == f"… {500 - draft.kept:,} lines"
    assert 0.5 < at / draft.kept < 0.7
    assert not draft.complete


@given(st.text(max_size=400), st.integers(200, 500), st.sampled_from(["log", "json", "unknown"]))
def test_the_limit_holds_for_every_text(text: str, limit: int, kind: str) -> None:
    draft = head_tail(Job(text, kind, limit, handle="h" * 16))
    assert len(draft.body) <= limit or draft.body == text
    assert draft == head_tail(Job(text, kind, limit, handle="h" * 16))


def test_one_endless_line_is_cut_and_says_how_much_is_missing() -> None:
    body = head_tail(Job("x" * 10_000, "log", 500)).body
    shown, _, rest = body.partition("…[+")
    assert rest == f"{10_000 - len(shown)} chars]"
    assert set(shown) == {"x"}


@pytest.mark.parametrize("value", [{f"k{i}": [i, 1.0] for i in range(200)}, [{"id": i} for i in range(200)]])
def test_whole_members_of_a_document(value: dict[str, object] | list[object]) -> None:
    shown = json.loads(head_tail(Job(json.dumps(value, indent=2), "json", 600, handle="h")).body)
    remark = shown.pop("_rem")
    if isinstance(value, dict):
        assert shown.items() <= value.items()
        assert ("k0" in shown, "k199" in shown) == (True, True)
    else:
        shown = shown["items"]
        assert shown[0] == value[0]
        assert shown[-1] == value[-1]
    assert f"kept {len(shown)} of 200 members" in remark


@pytest.mark.parametrize("source", ['{"a": 1.0, "a": 1e5, "b": "x"}', '[NaN, 12345678901234567890, "\\ud800", true]'])
def test_a_document_that_must_not_be_rewritten_shows_its_scalars_as_they_stand(source: str) -> None:
    body = head_tail(Job(source, "json", 400)).body
    shown = json.loads(body, parse_int=str, parse_float=str)
    literals = [v if isinstance(v, str) else json.dumps(v) for v in shown["items"]]
    assert literals
    assert all(text in source for text in literals)
    assert "_rem" in shown


def test_the_marker_alone_says_where_to_find_it() -> None:
    assert marker_alone(Job(TEXT, "log", 10, handle="abc")).body == (
        f'[rem: {len(TEXT):,} characters left out | more: read_more("abc")]'
    )
    assert json.loads(marker_alone(Job("[1]", "json", 1, pointer=None)).body) == {"_rem": "3 characters left out"}
