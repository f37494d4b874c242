"""The tables about models that summarise, about the tuner, and about speaking like other gateways."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

from remora.config.section import Section

CompatName = Literal["memtomem-stm", "memento"]
COMPAT_NAMES: tuple[CompatName, ...] = get_args(CompatName)
Compat = Annotated[tuple[CompatName, ...], Field(strict=False)]


class LlmConfig(Section):
    """The language model of the strategy `llm_summary`."""

    provider: Literal["", "openai", "anthropic", "ollama"] = Field(
        default="", description="openai (and what speaks like it), anthropic or ollama; empty = texts are cut instead."
    )
    model: str = Field(default="gpt-4.1-mini", description="The model's name.")
    api_key: str = Field(
        default="",
        repr=False,
        description="Its key, best as a reference; empty = OPENAI_API_KEY or ANTHROPIC_API_KEY.",
    )
    base_url: str = Field(default="", description="Where it is asked; empty = the provider's own address.")
    system_prompt: str = Field(
        default="Summarise for an engineer. Keep names, numbers and errors exact. At most {max_chars} characters.",
        min_length=1,
        description="What the model is told; {max_chars} becomes the budget.",
    )
    max_tokens: int = Field(default=500, gt=0, description="Most tokens of its answer.")
    llm_timeout_seconds: float = Field(default=60.0, gt=0, description="Then the text is cut instead.")
    privacy_scan_enabled: bool = Field(
        default=True, description="Never send a text with secrets, and personal data only to an ollama on this machine."
    )


class TunerConfig(Section):
    """Learning better settings from what agents had to ask for again."""

    enabled: bool = Field(default=True, description="Collect evidence and guard what was applied.")
    auto_apply: bool = Field(default=False, description="Apply what is certain without being asked.")
    min_calls: int = Field(default=5, gt=0, description="Reduced answers of a tool before anything is recommended.")


class MemtomemStmOptions(Section):
    """The profile that speaks like memtomem-stm."""

    observability_tools: bool = Field(default=True, description="Offer its tools about health, statistics and tuning.")


class CompatOptions(Section):
    """Settings of single compatibility profiles."""

    memtomem_stm: MemtomemStmOptions = Field(
        default=MemtomemStmOptions.model_construct(), description="The profile that speaks like memtomem-stm."
    )
