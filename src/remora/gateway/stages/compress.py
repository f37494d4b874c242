"""The stage that makes a result small: noise goes, then what matters least; all of it can be read on."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from remora.gateway.pipeline import Call, Result
from remora.gateway.stages.content import Texts
from remora.gateway.stages.reduce import Order, Reduced, reduce, shortened
from remora.gateway.stages.settings import Settings
from remora.gateway.stages.workers import Workers
from remora.gateway.stash.store import NotKept, Stash

log = logging.getLogger(__name__)

Summarise = Callable[[Call, str, int], Awaitable[tuple[str | None, str]]]
_MARKED = re.compile(r'(?:read_more\("|stm_proxy_(?:read_more|select_chunks)\(key=")([0-9a-f]{16,24})"[^\n]{0,80}\Z')
DENSEST = 1.5  # tokens a character never exceeds


class CompressStage:
    name = "compress"
    keeps_time = True

    def __init__(self, stash: Stash, workers: Workers, summarise: Summarise | None = None) -> None:
        self._stash = stash
        self._workers = workers
        self._summarise = summarise

    async def __call__(self, call: Call, result: Result) -> Result:
        settings = call.view.results(call.entry)
        found = Texts.of(result, keep_structured=call.view.structured(call.entry) != "auto")
        if found.size * DENSEST < settings.min_tokens:
            return result
        texts = await self._texts(call, settings, found)
        if not texts:
            return result
        made = found.with_texts(texts)
        meta = made.get("_meta")
        made["_meta"] = {**(meta if isinstance(meta, dict) else {}), "remora/pipeline": call.report.told()}
        return made

    async def _texts(self, call: Call, settings: Settings, found: Texts) -> dict[str, str]:
        """New texts by the part they stand for; only parts that changed."""
        changed: dict[str, str] = {}
        for part, text, mime in found.parts(settings.budget, settings.model):
            if await self._already_ours(call, text):
                continue
            made = await self._made(call, settings, text, mime)
            _report(call, made)
            if made.text is not None:
                changed[part] = made.text
        return changed

    async def _made(self, call: Call, settings: Settings, text: str, mime: str) -> Reduced:
        pointer = call.view.way(settings.strategy)
        order = Order(settings, call.entry.original, call.arguments, mime, call.context_query, pointer)
        if pointer is not None and settings.strategy == "llm_summary" and self._summarise is not None:
            made = await self._summary(call, order, text, self._summarise)
        else:
            made = await self._reduced(order, text)
        if made.text is None or not made.lossy:
            return made
        try:
            handle = await self._stash.put(
                text, principal=call.front.session.principal.name, server=call.entry.source.name,
                tool=call.entry.original, trace_id=call.trace_id, kind=made.kind, cleaned=made.cleaned,
                cleaned_kind=made.cleaned_kind, secret=made.secret,
            )  # fmt: skip
        except NotKept as problem:
            log.warning(
                "%s: nothing is left out of its result, the original cannot be kept: %s", call.entry.served, problem
            )
            call.report.fallback = "stash"
            return await self._reduced(replace(order, pointer=None), text)
        call.report.handle = handle
        return made

    async def _reduced(self, order: Order, text: str) -> Reduced:
        limit = order.settings.time_limit
        try:
            return await self._workers.run(len(text), limit, reduce, text, order)
        except TimeoutError:
            log.warning("a result of %d characters of %s took longer than %.1f s", len(text), order.tool, limit)
        if order.pointer is None or len(text) <= order.settings.pass_through_max_tokens * 2:
            return Reduced(None, strategy="auto→timeout_fallback")
        return await self._workers.run(len(text), limit, shortened, text, order, "auto→timeout_fallback")

    async def _summary(self, call: Call, order: Order, text: str, summarise: Summarise) -> Reduced:
        settings = order.settings
        plain = await self._reduced(replace(order, settings=replace(settings, strategy="truncate")), text)
        if plain.text is None or not plain.lossy:
            return plain
        room = settings.budget.in_chars(plain.kind, settings.model, settings.chars_per_token)
        short, label = await summarise(call, text, room)
        if short is None:
            return replace(plain, strategy=label)
        return replace(plain, text=short, strategy=label, units_kept=0, units_total=1)

    async def _already_ours(self, call: Call, text: str) -> bool:
        """Whether this is an answer of ours that came back through another tool."""
        marked = _MARKED.search(text.rstrip(" \n]}\"'")[-300:])
        return marked is not None and await self._stash.get(marked[1], call.front.session.principal) is not None


def _report(call: Call, made: Reduced) -> None:
    report = call.report
    report.kind = report.kind or made.kind or None
    report.tokens_in = (report.tokens_in or 0) + made.tokens_in
    report.tokens_out = (report.tokens_out or 0) + made.tokens_out
    report.ms_compress = (report.ms_compress or 0.0) + made.ms
    if made.strategy.endswith("_fallback"):
        report.fallback = made.strategy.rpartition("→")[2]
    if made.text is None:
        return
    report.strategy = made.strategy
    report.units_total = (report.units_total or 0) + made.units_total
    report.units_kept = (report.units_kept or 0) + made.units_kept
    settings: Any = call.view.results(call.entry)
    asked = Order(settings, call.entry.original, call.arguments, "", call.context_query).asked
    report.query_source = asked[1] or None
