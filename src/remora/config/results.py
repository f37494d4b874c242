"""What happens to results: [pipeline], [stash] and [cache], and what of it a server or a tool may set for itself."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from remora.config.learning import LlmConfig
from remora.config.section import Section, Words, fault

Structured = Literal["auto", "preserve", "drop"]
ALIASES = {"strict": "lossless", "passthrough": "none"}
LEAST_BUDGET = 200


def _strategy(value: Any) -> Any:
    return ALIASES.get(value, value) if isinstance(value, str) else value


def _budget(value: int | None) -> int | None:
    if value is not None and 0 < value < LEAST_BUDGET:
        raise fault("budget", f"must be 0 (unset) or at least {LEAST_BUDGET}")
    return value


Strategy = Annotated[
    Literal[
        "auto",
        "none",
        "lossless",
        "table",
        "log",
        "truncate",
        "extract_fields",
        "schema_pruning",
        "skeleton",
        "hybrid",
        "selective",
        "progressive",
        "llm_summary",
    ],
    BeforeValidator(_strategy),
]
Limit = Annotated[int, AfterValidator(_budget)]


class CleanConfig(Section):
    """What is taken away before anything is chosen; data, code and files are never touched."""

    enabled: bool = Field(default=True, description="Take away what carries no information.")
    strip_html: bool = Field(default=True, description="HTML pages become Markdown.")
    deduplicate: bool = Field(default=True, description="A long paragraph that came before becomes a reference.")
    collapse_links: bool = Field(default=True, description="Of ten and more lines of links, the first two.")
    strip_ansi: bool = Field(default=True, description="Without colour codes and redrawn progress lines.")
    blobs: bool = Field(default=True, description="Embedded base64 over 2 KB becomes a note.")


class SelectiveConfig(Section):
    """The strategy `selective`: a table of contents."""

    json_depth: int = Field(default=1, ge=1, le=6, description="Levels of a JSON document that become entries.")
    min_section_chars: int = Field(default=50, ge=0, description="Shorter sections stand in the table in full.")


class HybridConfig(Section):
    """The strategy `hybrid`: the head of a text and a table of contents of the rest."""

    head_chars: int = Field(default=5000, gt=0, description="Longest head.")
    tail_mode: Literal["toc", "truncate"] = Field(default="toc", description="What becomes of the rest.")
    min_toc_budget: int = Field(default=200, ge=0, description="Characters the table needs at least.")
    min_head_chars: int = Field(default=100, ge=0, description="Characters the head needs at least.")
    head_ratio: float = Field(default=0.6, ge=0, le=1, description="Share of the budget the head may take.")


class ProgressiveConfig(Section):
    """The strategy `progressive`: a piece, and how to get the next one."""

    chunk_size: int = Field(default=4000, gt=0, description="Characters of a piece.")
    include_structure_hint: bool = Field(default=True, description="Name the headings that remain.")


class RelevanceConfig(Section):
    """How a question chooses what is kept."""

    scorer: Literal["words", "bm25"] = Field(
        default="words", description="words understands paraphrase by a table of words; bm25 compares exact words."
    )
    infer_query: bool = Field(default=True, description="Without a question, take one from the call's own arguments.")


class PipelineConfig(Section):
    """What happens to results on their way to the agent."""

    enabled: bool = Field(default=True, description="Run the stages; false passes every result through untouched.")
    compression: Strategy = Field(default="auto", description="How results over their budget are made smaller.")
    min_tokens: int = Field(default=1000, ge=0, description="Smaller results stay untouched.")
    max_result_tokens: Limit = Field(default=0, ge=0, description="Budget of a result; 0 = by the model's window.")
    max_result_chars: Limit = Field(
        default=0, ge=0, description="The same in characters, where no tokens are set; 0 = unset."
    )
    context_budget_ratio: float = Field(
        default=0.0, ge=0, le=1, description="Budget as a share of the model's window; 0 = a fixed budget by its size."
    )
    chars_per_token: float = Field(default=0.0, ge=0, description="Counts tokens by this; 0 = by type of text.")
    verbatim_max_tokens: int = Field(default=10000, ge=0, description="Files read up to this stay byte-equal.")
    structured: Structured = Field(
        default="auto", description="Keep structured content: auto, preserve always, or drop."
    )
    max_upstream_chars: int = Field(
        default=10000000, gt=0, description="Of longer results only head and tail are shown."
    )
    time_limit_ms: int = Field(default=2000, gt=0, description="A stage that takes longer is skipped for that result.")
    pass_through_max_tokens: int = Field(
        default=25000, gt=0, description="The most that passes whole where a result could not be made smaller."
    )
    clean: CleanConfig = Field(default=CleanConfig.model_construct(), description="What is taken away first.")
    selective: SelectiveConfig = Field(default=SelectiveConfig.model_construct(), description="Tables of contents.")
    hybrid: HybridConfig = Field(default=HybridConfig.model_construct(), description="Head and table of contents.")
    progressive: ProgressiveConfig = Field(default=ProgressiveConfig.model_construct(), description="Piece by piece.")
    relevance: RelevanceConfig = Field(default=RelevanceConfig.model_construct(), description="Questions.")
    llm: LlmConfig = Field(default=LlmConfig.model_construct(), description="The model of the strategy llm_summary.")


class StashConfig(Section):
    """Originals of what was made smaller, in state.db."""

    ttl_hours: int = Field(default=168, gt=0, description="Kept this long after they were last written or read.")
    max_bytes: int = Field(
        default=536870912, gt=0, description="Space for all of them; the least recently read go first."
    )
    max_entry_bytes: int = Field(default=67108864, gt=0, description="The largest that is kept.")


class CacheConfig(Section):
    """Answers of read-only tools, kept for a short time."""

    enabled: bool = Field(default=True, description="Answer the same question twice without asking the server again.")
    policy: Literal["off", "annotated", "listed"] = Field(
        default="annotated", description='annotated = trusted read-only tools; listed = only tools with cache = "on".'
    )
    default_ttl_seconds: int = Field(default=60, ge=-1, description="Life of an answer; -1 = until a write, 0 = off.")
    validated_ttl_seconds: int = Field(
        default=3600, ge=-1, description="The same for a file Remora can see unchanged on disk."
    )
    max_entries: int = Field(default=10000, gt=0, description="Answers kept.")
    max_bytes: int = Field(
        default=268435456, gt=0, description="Space for all of them; the least recently used go first."
    )
    max_entry_bytes: int = Field(default=4194304, gt=0, description="The largest that is kept.")


class ResultOverrides(Section):
    """What a server or a tool may set for its own results; what is unset comes from the server or [pipeline]."""

    compression: Strategy | None = Field(default=None, description="Overrides `pipeline.compression`.")
    min_tokens: int | None = Field(default=None, ge=0, description="Overrides `pipeline.min_tokens`.")
    max_result_tokens: Limit | None = Field(default=None, ge=0, description="Overrides `pipeline.max_result_tokens`.")
    max_result_chars: Limit | None = Field(default=None, ge=0, description="Overrides `pipeline.max_result_chars`.")
    chars_per_token: float | None = Field(default=None, ge=0, description="Overrides `pipeline.chars_per_token`.")
    verbatim_max_tokens: int | None = Field(default=None, ge=0, description="Overrides `pipeline.verbatim_max_tokens`.")
    cache_policy: Literal["off", "annotated", "listed"] | None = Field(
        default=None, description="Overrides `cache.policy`."
    )
    cache_ttl_seconds: int | None = Field(default=None, ge=-1, description="Overrides `cache.default_ttl_seconds`.")
    clean: CleanConfig = Field(default=CleanConfig.model_construct(), description="Overrides [pipeline.clean].")
    selective: SelectiveConfig = Field(
        default=SelectiveConfig.model_construct(), description="Overrides [pipeline.selective]."
    )
    hybrid: HybridConfig = Field(default=HybridConfig.model_construct(), description="Overrides [pipeline.hybrid].")
    progressive: ProgressiveConfig = Field(
        default=ProgressiveConfig.model_construct(), description="Overrides [pipeline.progressive]."
    )
    relevance: RelevanceConfig = Field(
        default=RelevanceConfig.model_construct(), description="Overrides [pipeline.relevance]."
    )
    llm: LlmConfig = Field(default=LlmConfig.model_construct(), description="Overrides [pipeline.llm].")


# Tables of [pipeline] that may be repeated, key by key, for a server and for a tool.
PARTS = ("clean", "selective", "hybrid", "progressive", "relevance", "llm")

__all__ = ["PARTS", "CacheConfig", "PipelineConfig", "ResultOverrides", "StashConfig", "Structured", "Words"]
