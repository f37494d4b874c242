from __future__ import annotations

import json

from remora.gateway.compression.job import Job
from remora.gateway.compression.strategies import extract_fields

SOURCE = json.dumps({f"key{i}": {"value": i, "text": "word " * 30} for i in range(40)})


def test_every_top_level_key_is_named() -> None:
    shown = json.loads(extract_fields.run(Job(SOURCE, "json", 2_500)).body)
    assert {f"key{i}" for i in range(40)} <= set(shown)
    assert " values" in shown["_rem"]


def test_more_room_shows_all_that_less_room_showed() -> None:
    def numbers(chars: int) -> set[str]:
        shown = json.loads(extract_fields.run(Job(SOURCE, "json", chars)).body)
        return {k for k, v in shown.items() if isinstance(v, dict) and "value" in v}

    assert numbers(1_500) <= numbers(3_000) <= numbers(5_000)
    assert numbers(1_500) < numbers(5_000)


def test_what_was_asked_for_is_kept() -> None:
    source = json.dumps({f"key{i}": f"some words {i}" for i in range(200)} | {"last": "the zebra"})
    assert "the zebra" in extract_fields.filled(Job(source, "json", 800, "zebra")).body


def test_other_texts_go_by_lines() -> None:
    text = "\n".join(f"line {i}" for i in range(100))
    assert extract_fields.run(Job(text, "log", 300)).label == "truncate:log"
    assert extract_fields.readable(Job('{"a":1,"a":2}', "json", 300)) is None
