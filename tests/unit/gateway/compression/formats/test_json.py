from __future__ import annotations

import json

from remora.gateway.compression.formats.json import Document, select, with_remark
from remora.gateway.compression.formats.values import parse

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
