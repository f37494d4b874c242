from __future__ import annotations

import pytest

from remora.config.check import check
from remora.config.model import Config


def test_everything_has_a_default() -> None:
    config = Config()
    assert (config.memory.mode, config.memory.recall.max_tokens, config.embedding.provider) == ("auto", 1500, "auto")


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [("memory", "mode", "on"), ("memory", "purge_after_days", -2), ("embedding", "provider", "magic"),
     ("time", "week_start", "fri")],
)  # fmt: skip
def test_values_outside_of_the_range_are_named(table: str, key: str, value: object) -> None:
    _, issues = check(Config, {table: {key: value}})
    assert [issue.path for issue in issues] == [(table, key)]


def test_kinds_of_ones_own() -> None:
    config, issues = check(Config, {"memory": {"custom_types": {"animal": ["cat", "dog"]}}})
    assert issues == []
    assert config.memory.custom_types == {"animal": ("cat", "dog")}
