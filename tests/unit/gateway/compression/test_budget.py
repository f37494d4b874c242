from __future__ import annotations

from remora.gateway.compression.budget import Budget, by_model, tier, window


def test_the_longest_known_prefix_gives_the_window() -> None:
    assert window("claude-sonnet-4-5") == 200_000
    assert window("o1-mini-2024") == 128_000
    assert window("openai/gpt-4o") == 128_000
    assert window("something else") is None
    assert window("mine-7b", {"mine": 32_000}) == 32_000


def test_tiers_follow_the_window() -> None:
    assert [tier(n) for n in (8_000, 32_768, 200_000, 400_000, None)] == [1_600, 1_600, 4_500, 10_000, 4_500]
    assert by_model("gpt-5", 0.5).tokens == 25_000
    assert by_model("claude-opus-4", 0.001).tokens == 800


def test_slack_only_where_nobody_set_a_budget() -> None:
    text = "a" * 105
    assert not Budget(chars=100).fits(text, "unknown", slack=True)
    assert Budget(chars=100, slack=True).fits(text, "unknown", slack=True)
    assert not Budget(chars=100, slack=True).fits(text, "unknown")


def test_tokens_and_characters_both_bind() -> None:
    assert Budget(chars=500, tokens=1_000).in_chars("prose") == 500
    assert Budget(tokens=100).in_chars("csv", "claude-x") == 150
