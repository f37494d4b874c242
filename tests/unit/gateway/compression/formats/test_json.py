from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from remora.gateway.compression.formats.json import GAP, Document, select, with_remark
from remora.gateway.compression.formats.values import dump, parse

SOURCE = {"name": "thing", "deep": {"list": list(range(30)), "text": "word " * 200}, "rows": [
    {"id": i, "state": "ok"} for i in range(30)]}  # fmt: skip


def test_a_document_has_a_unit_for_every_value() -> None:
    document = Document(parse(json.dumps(SOURCE)))
    kinds = {node.kind for node in document.nodes}
    assert kinds == {"object", "array", "scalar", "text", "table", "row"}
    assert len(document.units) == len(document.texts) == len(document.up)
    assert all(up < i for i, up in enumerate(document.up))


def test_everything_chosen_is_the_document() -> None:
    document = Document(parse(json.dumps({"a": [1, {"b": None}], "c": 1.50})))
    choice = select(document, range(len(document.units)), 10_000)
    kept, total = choice.counts()
    assert kept == total
    assert json.loads(choice.render()) == {"a": [1, {"b": None}], "c": 1.5}


def test_a_choice_is_a_valid_document_of_true_values_within_its_budget() -> None:
    document = Document(parse(json.dumps(SOURCE)))
    for budget in (120, 300, 800):
        order = range(len(document.units))
        choice = select(document, order, budget)
        while len(body := choice.render()) > budget:  # prices are estimates; whoever chooses gives the last ones back
            assert choice.drop(order)
        assert json.loads(body).get("name", "thing") == "thing"


def test_the_remark_takes_a_name_that_is_free() -> None:
    assert json.loads(with_remark('{"_rem":1}', {"_rem": 1}, "more")) == {"_rem": 1, "__rem": "more"}
    assert json.loads(with_remark("[1]", [1, 2], "more")) == {"items": [1], "_rem": "more"}
    assert json.loads(with_remark("{}", {}, "more")) == {"_rem": "more"}


def test_gaps_count_what_is_missing() -> None:
    document = Document(parse(json.dumps({"a": [1, 2, 3, 4, 5, 6], "b": {"c": 1, "d": 2}, "e": "x" * 400})))
    named = {"a": ["… 6 items"], "b": {GAP: "2 keys"}, "e": "…[+400 chars]"}
    assert json.loads(select(document, [], 1_000).render()) == named
    third = document.values(range(len(document.units)))[2]
    assert json.loads(select(document, [third], 1_000).render()) == named | {"a": [3, "… 5 of 6 items"]}


documents = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.sampled_from(["", "word", GAP, "_rem", "서울", "many words " * 40])
    ),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=6), st.dictionaries(st.text(max_size=4), inner, min_size=1, max_size=6)
    ),
    max_leaves=25,
).filter(lambda value: isinstance(value, (dict, list)))
STANDS_FOR_MORE = re.compile(r'"… [\d,]+ (of [\d,]+ )?items?"|"[\d,]+ (keys?|of [\d,]+ items)"|.*…\[\+\d+ chars\].*')


def scalars_of(value: Any) -> set[str]:
    if isinstance(value, (dict, list)):
        return set().union(*map(scalars_of, value.values() if isinstance(value, dict) else value))
    return {dump(value)}


@given(documents, st.integers(0, 600))
def test_no_value_is_invented(value: Any, budget: int) -> None:
    source = parse(json.dumps(value))
    document = Document(source)
    shown = parse(select(document, document.values(range(len(document.units))), budget).render())
    invented = scalars_of(shown) - scalars_of(source)
    assert [v for v in invented if "table/1" not in str(shown) and not STANDS_FOR_MORE.fullmatch(v)] == []
