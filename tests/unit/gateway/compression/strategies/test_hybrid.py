from __future__ import annotations

import json

from remora import compress
from remora.gateway.compression.job import Options


def test_the_beginning_then_a_table_of_contents() -> None:
    source = "\n".join(f"# Title {i}\n\n" + "words " * 60 for i in range(40))
    made = compress(source, budget_chars=4_000, strategy="hybrid", options=Options(head_chars=1_500))
    head, _, rest = made.text.partition("\n---\nRemaining content (")
    assert source.startswith(head)
    toc = json.loads(rest.split("\n\n", 1)[1])
    assert toc["type"] == "toc"
    assert len(made.text) <= 4_000


def test_json_stays_one_document() -> None:
    source = json.dumps({f"key{i}": {"v": "x" * 80, "n": i} for i in range(60)}, indent=1)
    shown = json.loads(compress(source, budget_chars=2_500, strategy="hybrid").text)
    assert list(shown) == ["head", "toc", "_rem"]
    assert shown["head"]["key0"]["n"] == 0


def test_without_room_it_truncates() -> None:
    source = "\n".join(f"line {i}" for i in range(500))
    assert compress(source, budget_chars=250, strategy="hybrid").strategy == "hybrid→truncate"
