"""The long-term memory's part of the configuration: [memory], [embedding] and [time]."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from remora.config.section import Section, Words

MemoryMode = Literal["off", "recall", "confirm", "auto"]


class DedupConfig(Section):
    """When two statements are one."""

    enabled: bool = Field(default=True, description="Merge statements that say the same; false keeps all but twins.")
    cosine: float = Field(default=0.92, ge=0, le=1, description="Likeness of meaning from which texts are the same.")
    jaccard: float = Field(default=0.85, ge=0, le=1, description="Likeness of letters from which texts are the same.")
    auto_supersede: bool = Field(
        default=True, description="A correction takes the old statement's place; false opens a conflict."
    )


class RecallConfig(Section):
    """What a recall shows."""

    max_tokens: int = Field(default=1500, ge=100, description="Most that an agent gets in one answer.")


class MemoryConfig(Section):
    """The long-term memory."""

    mode: MemoryMode = Field(
        default="auto",
        description="What agents may do: auto = all; confirm = a person approves what they store; recall = read; off.",
    )
    incognito: bool = Field(default=False, description="Agents' sessions leave no trace in the memory.")
    default_namespace: str = Field(
        default="auto", min_length=1, description="Where memories are kept; auto = a namespace per project."
    )
    read_namespaces: Words = Field(
        default=(), description="Namespaces that are read besides the project's own and `global`."
    )
    max_content_chars: int = Field(default=1000000, gt=0, description="Longest text of one memory.")
    secrets: Literal["redact", "block"] = Field(
        default="redact", description="A secret in a text is blacked out, or the text refused."
    )
    dedup: DedupConfig = Field(default=DedupConfig.model_construct(), description="When two statements are one.")
    purge_after_days: int = Field(
        default=30, ge=-1, description="Days after which deleted texts are erased for good; -1 = never."
    )
    pending_days: int = Field(default=30, gt=0, description="Days after which what nobody approved is rejected.")
    custom_types: dict[str, Words] = Field(default={}, description="More kinds: a base and the kinds below it.")
    recall: RecallConfig = Field(default=RecallConfig.model_construct(), description="What a recall shows.")


class EmbeddingConfig(Section):
    """What finds memories by meaning."""

    provider: Literal["auto", "bundled", "none", "static", "onnx", "openai", "ollama"] = Field(
        default="auto", description="The encoder; auto = the bundled one, none = words alone."
    )
    model: str = Field(default="", description="Model of openai or ollama.")
    url: str = Field(default="", description="Address of an OpenAI-compatible or Ollama server; empty = the usual one.")
    path: str = Field(default="", description="File of static, folder of onnx.")
    api_key: str = Field(default="", repr=False, description="Key for openai, best as a reference: ${OPENAI_API_KEY}.")


class TimeConfig(Section):
    """How times such as `last Monday` and `3/4` are meant."""

    zone: str = Field(default="", description="Time zone, such as Europe/Berlin; empty = the system's.")
    locales: Words = Field(default=("en", "de"), description="Languages in which times are understood, first wins.")
    date_order: Literal["mdy", "dmy"] = Field(default="mdy", description="What 3/4 means.")
    week_start: Literal["mon", "sun"] = Field(default="mon", description="First day of a week.")
    hemisphere: Literal["north", "south"] = Field(default="north", description="When summer is.")
