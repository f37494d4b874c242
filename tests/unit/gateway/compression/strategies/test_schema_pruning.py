from __future__ import annotations

import json

from remora.gateway.compression.formats.json import Document
from remora.gateway.compression.job import Job
from remora.gateway.compression.strategies import schema_pruning

SOURCE = {"a": [{"x": 1, "deep": {"y": [i, i]}} for i in range(3)], "b": {"c": "text"}, "list": list(range(300))}


def test_every_path_once_with_a_real_value() -> None:
    draft = schema_pruning.run(Job(json.dumps(SOURCE), "json", 700))
    shown = json.loads(draft.body)
    assert draft.label == "schema_pruning"
    assert (shown["b"], shown["a"][0]["x"]) == ({"c": "text"}, 1)
    assert len(draft.body) <= 700


def test_one_unit_for_each_path_shallow_ones_first() -> None:
    document = Document(SOURCE)
    found = schema_pruning.firsts(document)
    depths = [document.nodes[document.units[i].node].depth for i in found]
    assert depths == sorted(depths)
    texts = [document.texts[i].strip() for i in found]
    assert "0" in texts
    assert "299" not in texts
    assert len(found) < len(document.units) / 10


def test_other_texts_go_by_lines() -> None:
    assert schema_pruning.run(Job("a\n" * 100, "log", 150)).label == "truncate:log"
