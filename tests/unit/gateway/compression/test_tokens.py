from __future__ import annotations

from remora.gateway.compression.tokens import estimate, family


def test_families() -> None:
    assert (family("gpt-5"), family("claude-opus"), family("")) == (0, 1, 1)


def test_types_cost_differently() -> None:
    text = "x" * 300
    assert estimate(text, "csv", "gpt-5") > 2 * estimate(text, "python", "gpt-5")
    assert estimate(text, "csv", chars_per_token=4) == 75
    assert estimate("", "csv") == 0


def test_other_scripts_are_counted_by_character() -> None:
    assert estimate("가" * 100, "prose", "gpt-5") == 75
    assert estimate("漢" * 100, "prose", "claude-x") == 140
    assert estimate("が" * 100, "prose", "gpt-5") == 75
    assert estimate("é" * 100, "prose", "gpt-5") == 45
