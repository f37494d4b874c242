"""What holds for the results of one tool: its own keys over its server's over [pipeline]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from remora.config.model import Config, ServerConfig, ToolConfig
from remora.config.results import PARTS, PipelineConfig, ResultOverrides
from remora.gateway.compression.budget import Budget, by_model
from remora.gateway.compression.clean import Switches
from remora.gateway.compression.job import Options

NOTHING = Switches(strip_html=False, strip_ansi=False, deduplicate=False, collapse_links=False, blobs=False)
_SWITCHES = ("strip_html", "strip_ansi", "deduplicate", "collapse_links", "blobs")


@dataclass(frozen=True, slots=True)
class Settings:
    """Plain values only: a worker process gets them too."""

    strategy: str
    min_tokens: int
    budget: Budget
    model: str
    chars_per_token: float
    verbatim_max_tokens: int
    pass_through_max_tokens: int
    max_upstream_chars: int
    time_limit: float
    verbatim: bool | None
    infer_query: bool
    switches: Switches
    options: Options


def effective(config: Config, server: ServerConfig | None = None, tool: ToolConfig | None = None) -> Settings:
    pipeline = config.pipeline
    layers: tuple[ResultOverrides, ...] = tuple(each for each in (tool, server) if each is not None)
    parts = {name: _part(name, pipeline, layers) for name in PARTS}
    clean, hybrid, selective = parts["clean"], parts["hybrid"], parts["selective"]
    return Settings(
        strategy=_first("compression", pipeline, layers),
        min_tokens=_first("min_tokens", pipeline, layers),
        budget=_budget(config, layers),
        model=config.consumer_model,
        chars_per_token=_first("chars_per_token", pipeline, layers),
        verbatim_max_tokens=_first("verbatim_max_tokens", pipeline, layers),
        pass_through_max_tokens=pipeline.pass_through_max_tokens,
        max_upstream_chars=pipeline.max_upstream_chars,
        time_limit=pipeline.time_limit_ms / 1000,
        verbatim=tool.verbatim if tool is not None else None,
        infer_query=parts["relevance"].infer_query,
        switches=Switches(**{name: getattr(clean, name) for name in _SWITCHES}) if clean.enabled else NOTHING,
        options=Options(
            head_chars=hybrid.head_chars,
            head_ratio=hybrid.head_ratio,
            min_head_chars=hybrid.min_head_chars,
            min_toc_budget=hybrid.min_toc_budget,
            tail_mode=hybrid.tail_mode,
            min_section_chars=selective.min_section_chars,
            json_depth=selective.json_depth,
            chunk_size=parts["progressive"].chunk_size,
            ttl_seconds=config.stash.ttl_hours * 3600,
        ),
    )


def _first(name: str, pipeline: PipelineConfig, layers: tuple[ResultOverrides, ...]) -> Any:
    return next((value for each in layers if (value := getattr(each, name)) is not None), getattr(pipeline, name))


def _part(name: str, pipeline: PipelineConfig, layers: tuple[ResultOverrides, ...]) -> Any:
    """A table merged key by key: only what a layer has set counts."""
    merged = getattr(pipeline, name)
    for layer in reversed(layers):
        own = getattr(layer, name)
        merged = merged.model_copy(update={key: getattr(own, key) for key in own.model_fields_set})
    return merged


def _budget(config: Config, layers: tuple[ResultOverrides, ...]) -> Budget:
    """The nearest limit that is set, in tokens before characters; without any, that of the model's window."""
    for tokens, chars in _limits(config.pipeline, layers):
        if tokens:
            return Budget(tokens=tokens)
        if chars:
            return Budget(chars=chars)
    return by_model(config.consumer_model, config.pipeline.context_budget_ratio, config.model_windows)


def _limits(pipeline: PipelineConfig, layers: tuple[ResultOverrides, ...]) -> Iterator[tuple[int | None, int | None]]:
    for each in layers:
        yield each.max_result_tokens, each.max_result_chars
    yield pipeline.max_result_tokens, pipeline.max_result_chars
