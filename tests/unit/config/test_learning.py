from __future__ import annotations

import pytest

from remora.config.check import check
from remora.config.model import Config


def test_defaults_ask_nobody_and_apply_nothing() -> None:
    config = Config()
    assert (config.pipeline.llm.provider, config.tuner.auto_apply, config.compat) == ("", False, ())
    assert config.compat_options.memtomem_stm.observability_tools


def test_a_profile_and_the_whole_may_speak_like_another_gateway() -> None:
    config, issues = check(Config, {"compat": ["memtomem-stm"], "profiles": {"old": {"compat": ["memtomem-stm"]}}})
    assert (issues, config.compat, config.profiles["old"].compat) == ([], ("memtomem-stm",), ("memtomem-stm",))


@pytest.mark.parametrize(
    "data",
    [{"compat": ["memtomem"]}, {"pipeline": {"llm": {"provider": "bard"}}}, {"tuner": {"min_calls": 0}},
     {"pipeline": {"llm": {"llm_timeout_seconds": 0}}}],
)  # fmt: skip
def test_what_does_not_exist_is_an_error(data: dict[str, object]) -> None:
    assert len(check(Config, data)[1]) == 1


def test_the_key_is_not_in_the_representation() -> None:
    config, _ = check(Config, {"pipeline": {"llm": {"api_key": "abc123"}}})
    assert "abc123" not in repr(config)
