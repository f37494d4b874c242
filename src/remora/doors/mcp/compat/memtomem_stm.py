"""The tools of memtomem-stm: same names, arguments, defaults and result texts; the figures are Remora's."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from remora.doors.mcp.compat import memtomem_stm_texts as texts
from remora.doors.mcp.tools import ContextOf, text_item
from remora.errors import RemoraError, RpcError
from remora.gateway import compat
from remora.gateway.compression.job import Job
from remora.gateway.compression.sections import pick, split
from remora.gateway.compression.strategies.progressive import page
from remora.gateway.compression.tokens import estimate, factor
from remora.gateway.session import Front, Params, ViewKey
from remora.gateway.stages.settings import Settings, effective
from remora.gateway.stash.store import Kept
from remora.gateway.wire import jsonrpc
from remora.operations.registry import Context, run

MOST_TOKENS = 25_000
READ_MORE = 'stm_proxy_read_more(key="{handle}")'


class Arguments(BaseModel):
    """Other arguments are ignored; a wrong type is an error."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class SelectChunks(Arguments):
    key: str = Field(description="The selection key of a table of contents.")
    sections: list[str] = Field(description="Keys of its entries, in the order wanted.")


class ReadMore(Arguments):
    key: str = Field(description="The key in the last line of a chunk.")
    offset: int = Field(0, description="Characters already read.")
    limit: int | None = Field(None, description="Characters to return; null = a chunk.")


class CompressionFeedback(Arguments):
    server: str = Field(description="The server's name or prefix.")
    tool: str = Field(description="The tool.")
    missing: str = Field(description="What was missing.")
    kind: str = Field("other", description="truncated, missing_example, missing_metadata, wrong_topic or other.")
    trace_id: str | None = Field(None, description="The call it is about; null = the newest of that tool.")


class Nothing(Arguments):
    pass


class CacheClear(Arguments):
    server: str | None = Field(None, description="One server alone.")
    tool: str | None = Field(None, description="One tool alone.")


class OneTool(Arguments):
    tool: str | None = Field(None, description="One tool alone.")


class TuningRecommendations(Arguments):
    since_hours: float = Field(24, gt=0, description="How far back.")
    tool: str | None = Field(None, description="One tool alone.")


async def select_chunks(context: Context, given: SelectChunks) -> str:
    kept = await context.gateway.stash.get(given.key, context.principal)
    if kept is None:
        return f"Selection key '{given.key[:64]}' not found or expired."
    settings = _settings(context, kept)
    sections = split(kept.cleaned, kept.cleaned_kind, settings.options.json_depth)
    found, unknown = pick(sections, given.sections)
    if not found:
        return f"No matching sections found. Available: {_listed(each.key for each in sections)}"
    text = "\n\n".join(each.text.removesuffix("\n") for each in found)
    most = int(MOST_TOKENS * factor(kept.cleaned_kind, settings.model, settings.chars_per_token))
    if len(text) > most:
        text = f"{text[:most]}\n[rem: cut at {most:,} of {len(text):,} characters | ask for fewer sections at a time]"
    if unknown:
        text += f"\nNot found: {_listed(unknown)}"
    _recovered(context, kept, "section", text)
    return text


def _listed(names: Iterable[str]) -> str:
    return json.dumps(list(names), ensure_ascii=False)


async def read_more(context: Context, given: ReadMore) -> str:
    if given.offset < 0:
        return "Error: offset must not be negative"
    if given.limit is not None and given.limit < 1:
        return "Error: limit must be at least 1"
    kept = await context.gateway.stash.get(given.key, context.principal)
    if kept is None:
        return f"Progressive delivery key '{given.key[:64]}' not found or expired."
    text, settings = kept.cleaned, _settings(context, kept)
    if given.offset >= len(text):
        return "(no more content)"
    most = int(MOST_TOKENS * factor(kept.cleaned_kind, settings.model, settings.chars_per_token))
    size = min(given.limit or settings.options.chunk_size, most)
    options = replace(settings.options, chunk_size=size)
    job = Job(text, kept.cleaned_kind, most + 1_000, None, handle=kept.handle, pointer=READ_MORE, options=options)
    made = page(job, given.offset)
    _recovered(context, kept, "progressive", made)
    return made


def _settings(context: Context, kept: Kept) -> Settings:
    config = context.gateway.config
    server = config.servers.get(kept.server)
    return effective(config, server, server.tools.get(kept.tool) if server else None)


def _recovered(context: Context, kept: Kept, mode: str, text: str) -> None:
    session = (context.session.key or context.session.id) if context.session else None
    tokens = estimate(text, kept.cleaned_kind, context.gateway.config.consumer_model)
    context.gateway.metrics.record_recovery(kept.handle, session, mode, tokens)


async def compression_feedback(context: Context, given: CompressionFeedback) -> str:
    from remora.operations.tuning import feedback_text

    return feedback_text(await run(context, "gateway.feedback", given.model_dump()))


async def cache_clear(context: Context, given: CacheClear) -> str:
    server, tool = given.server or "", given.tool or ""
    count = (await run(context, "cache.clear", {"server": server, "tool": tool}))["cleared"]
    if server and tool:
        return f"Cleared {count} cache entries for {server}/{tool}."
    if server:
        return f"Cleared {count} cache entries for server '{server}'."
    return f"Cleared {count} cache entries for tool '{tool}'." if tool else f"Cleared all {count} cache entries."


async def stats(context: Context, given: Nothing) -> str:
    return await texts.stats(context)


async def health(context: Context, given: Nothing) -> str:
    return texts.health(await run(context, "gateway.health", {"timeout": 10.0}))


async def compression_stats(context: Context, given: OneTool) -> str:
    return await texts.compression_stats(context, given.tool or "")


async def progressive_stats(context: Context, given: OneTool) -> str:
    return await texts.progressive_stats(context, given.tool or "")


async def tuning_recommendations(context: Context, given: TuningRecommendations) -> str:
    return await texts.tuning_recommendations(context, given.since_hours, given.tool or "")


Handler = Callable[[Context, Any], Awaitable[str]]
TOOLS: Mapping[str, tuple[type[Arguments], Handler, bool, str]] = {
    "stm_proxy_select_chunks": (SelectChunks, select_chunks, True,
                                "Read sections of a shortened result, by the keys of its table of contents."),
    "stm_proxy_read_more": (ReadMore, read_more, True, "Read the next piece of a shortened result."),
    "stm_compression_feedback": (CompressionFeedback, compression_feedback, False,
                                 "Tell what was missing in a shortened result; settings are tuned by it."),
    "stm_proxy_stats": (Nothing, stats, True, "Calls, sizes, savings and latencies since the gateway started."),
    "stm_proxy_health": (Nothing, health, True, "Which servers are connected."),
    "stm_proxy_cache_clear": (CacheClear, cache_clear, False, "Forget kept results."),
    "stm_compression_stats": (OneTool, compression_stats, True, "What agents missed in shortened results."),
    "stm_progressive_stats": (OneTool, progressive_stats, True, "How often results in pieces were read on."),
    "stm_tuning_recommendations": (TuningRecommendations, tuning_recommendations, True,
                                   "Better settings by what agents had to ask for again."),
}  # fmt: skip
OBSERVABILITY = frozenset(
    {"stm_proxy_stats", "stm_proxy_health", "stm_proxy_cache_clear", "stm_compression_stats", "stm_progressive_stats",
     "stm_tuning_recommendations"}
)  # fmt: skip
HIDES_VARIABLE = "MEMTOMEM_STM_ADVERTISE_OBSERVABILITY_TOOLS"


class MemtomemStm:
    """Served to sessions that asked for the profile; failures are texts, as its clients expect."""

    names = list(TOOLS)

    def __init__(self, context_of: ContextOf, serving: Callable[[], Context]) -> None:
        self._context_of = context_of
        self._serving = serving  # the gateway as it is now: its configuration may be edited

    def serves(self, key: ViewKey) -> bool:
        return "memtomem-stm" in compat.active(self._serving().gateway.config, key)

    def definitions(self) -> list[Params]:
        shown = self._shows_observability()
        return [_definition(name) for name in TOOLS if shown or name not in OBSERVABILITY]

    def _shows_observability(self) -> bool:
        gateway = self._serving().gateway
        hidden = gateway.parts.environ.get(HIDES_VARIABLE, "").strip().lower() in ("false", "0", "no", "off")
        return gateway.config.compat_options.memtomem_stm.observability_tools and not hidden

    async def call(self, name: str, arguments: Params, front: Front) -> Params:
        model, handler, _, _ = TOOLS[name]
        try:
            given = model.model_validate(arguments)
        except ValidationError as failure:
            first = failure.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise RpcError(jsonrpc.INVALID_PARAMS, f"{name}: {where}: {first['msg']}") from failure
        try:
            text = await handler(self._context_of(front), given)
        except RemoraError as problem:
            text = f"Error: {problem}"
        return {"content": [text_item(text)]}


def _definition(name: str) -> Params:
    model, _, reads, description = TOOLS[name]
    schema = model.model_json_schema()
    properties = {
        field: {key: value for key, value in said.items() if key != "title"}
        for field, said in schema.get("properties", {}).items()
    }
    made: Params = {"type": "object", "properties": properties}
    if "required" in schema:
        made["required"] = schema["required"]
    notes = {"readOnlyHint": reads, "openWorldHint": False, **({} if reads else {"destructiveHint": False})}
    return {"name": name, "description": description, "inputSchema": made, "annotations": notes}
