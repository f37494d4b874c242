"""What every strategy must hold for every text, budget and question."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remora import compress
from remora.gateway.compression.clean import clean
from remora.gateway.compression.formats import factor, forms, repeats, shared, table
from remora.gateway.compression.formats.values import Unfaithful, dump, parse
from remora.gateway.compression.strategies import BY_NAME
from remora.gateway.compression.strategies.progressive import TOKEN
from remora.gateway.stash.read import Request, by_range

STRATEGIES = [
    "auto",
    "truncate",
    "extract_fields",
    "schema_pruning",
    "skeleton",
    "table",
    "log",
    "hybrid",
    "selective",
    "lossless",
]
profile = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

words = st.sampled_from(
    [
        "order",
        "failed",
        "warning",
        "error",
        "node",
        "total",
        "price",
        "alpha",
        "beta",
        "gamma",
        "delta",
        "queue",
        "timeout",
        "user",
        "name",
        "path",
        "config",
        "Seoul",
        "서울",
        "東京",
        "café",
        "1.0",
        "1e5",
        "12345678901234567890",
        "-0",
        "007",
        "2026-01-02",
        "10:22:31",
        "a_b",
        "camelCase",
        "f(x)",
        "{x}",
        '"q"',
        "it's",
        "#",
    ]
)
line = st.lists(words, max_size=14).map(" ".join)
text = st.lists(st.one_of(line, st.just(""), st.text(max_size=300)), min_size=1, max_size=120).map("\n".join)
scalar = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=40), words, st.lists(words, min_size=60, max_size=120).map(" ".join),
)  # fmt: skip
keys = st.one_of(st.sampled_from(["id", "name", "a.b", "…", "_rem", "", "items", "rem", "user"]), st.text(max_size=8))
document = st.recursive(
    scalar,
    lambda inner: st.one_of(st.lists(inner, max_size=12), st.dictionaries(keys, inner, max_size=8)),
    max_leaves=60,
)
rows = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(0, 999), "name": words},
        optional={"tag": st.one_of(st.none(), words, st.just({})), "at": st.fixed_dictionaries({"x.y": scalar})},
    ),
    min_size=4,
    max_size=40,
)
query = st.one_of(st.none(), line, st.just("which node failed?"))


def literals(value: Any) -> list[str]:
    """Every scalar of a parsed document as it is written."""
    if isinstance(value, dict):
        return [x for k, v in value.items() for x in (dump(k), *literals(v))]
    if isinstance(value, list):
        return [x for v in value for x in literals(v)]
    return [dump(value)]


def own(shown: str) -> bool:
    """Remarks of the compressor itself."""
    return "…" in shown or "rem" in shown or shown in ('"items"', '"head"', '"toc"')


@given(text, st.integers(60, 3000), query, st.sampled_from(STRATEGIES))
@profile
def test_no_text_ever_exceeds_its_budget_and_twice_gives_the_same(
    source: str, budget: int, asked: str | None, name: str
) -> None:
    made = compress(source, budget_chars=budget, query=asked, strategy=name)
    assert len(made.text) <= max(budget, 80)
    assert compress(source, budget_chars=budget, query=asked, strategy=name).text == made.text


@given(text, st.integers(200, 2000), query)
@profile
def test_every_shown_line_stands_in_the_source(source: str, budget: int, asked: str | None) -> None:
    made = compress(source, budget_chars=budget, query=asked, kind="unknown")
    if not made.omitted:
        return
    flat = " ".join(source.split())
    for shown in made.text.split("\n"):
        for part in re.split(r"…\[\+\d+ chars\]", shown):
            if not part.startswith(("… ", "[rem: ", "⋯")):
                assert " ".join(part.split()) in flat


@given(
    st.one_of(document, rows),
    st.integers(100, 4000),
    query,
    st.sampled_from([s for s in STRATEGIES if s != "lossless"]),
)
@profile
def test_json_stays_json_with_the_values_it_had(value: Any, budget: int, asked: str | None, name: str) -> None:
    source = json.dumps(value, indent=1, ensure_ascii=False)
    made = compress(source, budget_chars=budget, query=asked, strategy=name, mime="application/json")
    shown = json.loads(made.text)
    assert len(made.text) <= max(budget, 80)
    assert isinstance(shown, dict | list) or not isinstance(value, dict | list)
    if name in ("selective", "hybrid"):
        return
    before = set(literals(parse(source)))
    counts = {"total", "index", "omitted", "rows", "missing"}
    if "table/1" in made.text:
        shown = table.decode_tree(_without_remarks(parse(made.text)))
    for literal in literals(_without_remarks(parse(made.text)) if "table/1" not in made.text else shown):
        if not own(literal) and literal.strip('"') not in counts:
            assert literal in before or _part(literal, before)


def _without_remarks(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_remarks(v) for k, v in value.items() if not k.startswith(("…", "_rem", "__rem"))}
    if isinstance(value, list):
        return [_without_remarks(v) for v in value]
    return value


def _part(literal: str, before: set[str]) -> bool:
    """Pieces of a long string, and names joined to a path."""
    return any(part in b for b in before for part in [literal.strip('"')] if part)


@given(st.one_of(document, rows))
@profile
def test_a_lossless_form_of_json_gives_the_document_back(value: Any) -> None:
    source = json.dumps(value)
    try:
        before = parse(source)
    except Unfaithful:
        return
    shown = forms.encode(source, "json")
    if shown is not None and isinstance(before, dict | list):
        assert table.decode_tree(parse(shown)) == before


@given(text, st.sampled_from(["log", "grep", "test"]))
@profile
def test_a_lossless_form_of_lines_gives_the_text_back(source: str, kind: str) -> None:
    shown = forms.encode(source, kind)
    assert shown is None or forms.decode(shown) == source


@given(text, st.integers(1, 400), st.sampled_from(["unknown", "json", "markdown"]))
@profile
def test_ranges_join_to_the_text(source: str, limit: int, kind: str) -> None:
    joined, offset = "", 0
    while offset < len(source):
        body, _, note = by_range(source, kind, Request("h", offset=offset, limit=limit)).rpartition("\n[rem: chars ")
        joined += body
        offset = int(note.split("-")[1].split(" ")[0])
    assert joined == source


@given(text)
@profile
def test_cleaning_twice_changes_nothing_more(source: str) -> None:
    for kind in ("markdown", "log", "unknown"):
        once = clean(source, kind)
        assert clean(once.text, once.kind).text == once.text


@given(document, st.integers(150, 1500))
@profile
def test_extract_fields_only_grows_with_its_budget(value: Any, budget: int) -> None:
    source = json.dumps(value, indent=1)
    small = compress(source, budget_chars=budget, strategy="extract_fields", kind="json")
    large = compress(source, budget_chars=budget * 2, strategy="extract_fields", kind="json")
    assert large.omitted.kept / max(1, large.omitted.total) >= small.omitted.kept / max(1, small.omitted.total)


@pytest.mark.parametrize("name", sorted(BY_NAME))
@pytest.mark.parametrize(
    "source", ["", "\n", "x", "{}", "[]", '"a"', "1", '{"a":1,"a":2}', "[NaN, 1]", '{"a": "\\ud800"}']
)
def test_odd_texts_are_no_trouble(name: str, source: str) -> None:
    assert isinstance(compress(source, budget_chars=100, strategy=name).text, str)


def test_progressive_pages_carry_their_token() -> None:
    source = "\n".join(f"line {i} of many" for i in range(2000))
    assert TOKEN in compress(source, budget_chars=3000, strategy="progressive").text


frames = st.lists(st.sampled_from([
    "  File a.py, line 3, in run", "    return call(value)", "E   assert 1 == 2", "=" * 40, "", "@) odd", "#=1 odd",
    "tests/a.py::test_one[x] PASSED   [ 10%]", "test a::b ... ok", "test a::c ... ok", "2026-01-02 error x",
]), min_size=1, max_size=60).map("\n".join)  # fmt: skip


@given(st.one_of(frames, text), st.sampled_from(["log", "test", "unknown", "gitlog", "grep"]))
@profile
def test_lines_in_a_shorter_form_come_back(source: str, kind: str) -> None:
    made = forms.encode(source, kind)
    assert made is None or forms.decode(made) == source


@given(frames)
@profile
def test_repeats_and_shared_ends_alone_come_back(source: str) -> None:
    for form in (repeats, shared):
        made = form.encode(source)
        assert made == source or form.decode(made) == source


@given(rows)
@profile
def test_factored_columns_come_back(value: list[dict[str, Any]]) -> None:
    found = table.as_table(parse(json.dumps(value)))
    if found is not None:
        assert table.decode(json.loads(factor.encode(found))) == value
