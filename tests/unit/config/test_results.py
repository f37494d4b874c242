from typing import get_args

import pytest
from pydantic import ValidationError

from remora.config.results import PARTS, PipelineConfig, ResultOverrides, Strategy
from remora.gateway.compression import strategies


def test_every_strategy_of_the_engine_can_be_named_and_no_other():
    assert set(get_args(get_args(Strategy)[0])) == set(strategies.NAMES)
    with pytest.raises(ValidationError):
        PipelineConfig.model_validate({"compression": "squeeze"})


@pytest.mark.parametrize(("alias", "name"), strategies.ALIASES.items())
def test_an_alias_means_its_strategy(alias, name):
    assert PipelineConfig.model_validate({"compression": alias}).compression == name


def test_a_budget_is_unset_or_worth_having():
    assert PipelineConfig.model_validate({"max_result_tokens": 0}).max_result_tokens == 0
    assert PipelineConfig.model_validate({"max_result_tokens": 200}).max_result_tokens == 200
    with pytest.raises(ValidationError):
        PipelineConfig.model_validate({"max_result_tokens": 199})


def test_what_a_server_may_set_is_a_key_of_the_pipeline_or_of_the_cache():
    own = set(ResultOverrides.model_fields)
    assert own - {"cache_policy", "cache_ttl_seconds"} < set(PipelineConfig.model_fields)
    assert set(PARTS) < own
