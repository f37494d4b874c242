from __future__ import annotations

from remora.operations.compress import compress_text


def test_the_facts_are_aligned_and_a_whole_text_is_called_whole() -> None:
    facts = {"type": "log", "strategy": "none", "tokens_in": 10, "tokens_out": 10, "ratio": 1.0, "scorer": "",
             "omitted": {"kept": 1, "total": 1, "unit": "lines", "chars": 0}, "handle": "ab", "ms": 1.2}  # fmt: skip
    lines = compress_text(facts).splitlines()
    assert "kept      all" in lines
    assert "query     none" in lines
    assert "tokens    10 -> 10 (100.0%), estimated" in lines
