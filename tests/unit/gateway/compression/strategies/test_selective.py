from __future__ import annotations

import json

from remora import compress
from remora.gateway.compression.sections import pick, split


def test_every_section_of_a_long_text_can_be_ordered() -> None:
    source = "\n\n".join(f"paragraph number {i} with some words" for i in range(10_000))
    made = compress(source, budget_chars=4_000, strategy="selective")
    assert len(made.text) <= 4_000
    toc = json.loads(made.text)
    sections = split(source, made.cleaned_kind, 1)
    found, unknown = pick(sections, [e["key"] for e in toc["entries"]])
    assert not unknown
    assert "".join(s.text for s in found) == source


def test_json_is_listed_by_key_and_by_relevance() -> None:
    source = json.dumps({"users": [{"id": i} for i in range(40)], "errors": {"disk": "full"}, "n": 1}, indent=1)
    toc = json.loads(compress(source, budget_chars=800, strategy="selective", query="disk errors").text)
    assert toc["entries"][0]["key"] == "errors"
    assert {e["key"] for e in toc["entries"]} == {"users", "errors", "n"}
    assert toc["ttl_seconds_remaining"] == 604_800
    assert next(e for e in toc["entries"] if e["key"] == "n")["inline"] == "1"


def test_one_section_is_no_table_of_contents() -> None:
    assert compress("word " * 2_000, budget_chars=500, strategy="selective").strategy.startswith("truncate")
