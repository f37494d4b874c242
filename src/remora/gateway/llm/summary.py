"""Summaries by a language model: every gate between a text and the model, and between its answer and the agent."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from remora.config.expand import expand
from remora.errors import ConfigError, RemoraError
from remora.gateway.breaker import Breaker
from remora.gateway.compression.strategies import llm_summary
from remora.gateway.llm.providers import KEY_VARIABLES, ProviderError, Question, Reply, ask, is_loopback
from remora.privacy import pii, secrets
from remora.privacy.findings import SCAN_LIMIT

if TYPE_CHECKING:
    import httpx2

    from remora.config.learning import LlmConfig
    from remora.config.model import Config

log = logging.getLogger(__name__)
FAILURES, RESET_SECONDS = 3, 60.0
SCAN_INLINE = 32_000  # characters; longer texts are looked at in a thread


class Store(Protocol):
    """Where answers are kept, so that the same text has the same summary."""

    async def get(self, key: str) -> str | None: ...

    async def put(self, key: str, text: str) -> None: ...


def settings_of(config: Config, server: str, tool: str) -> LlmConfig:
    """What holds for a tool: its own keys over its server's over [pipeline.llm]."""
    merged, of_server = config.pipeline.llm, config.servers.get(server)
    of_tool = of_server.tools.get(tool) if of_server else None
    for layer in (of_server, of_tool):
        if layer is not None:
            merged = merged.model_copy(update={key: getattr(layer.llm, key) for key in layer.llm.model_fields_set})
    return merged


class Refused(Exception):
    """No summary; the word says why, as it stands in the fallback's label."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Summariser:
    """One connection pool, and a breaker for each place that is asked."""

    def __init__(self, environ: Mapping[str, str], store: Store | None = None) -> None:
        self._environ = environ
        self._store = store
        self._client: httpx2.AsyncClient | None = None
        self._breakers: dict[tuple[str, str], Breaker] = {}
        self._warned: set[str] = set()
        self._closed = False

    async def summarise(self, text: str, limit: int, more: str, config: LlmConfig) -> tuple[str | None, str]:
        """The summary within `limit` characters and its label; None and the label of the fallback."""
        try:
            head = f"[summary by {config.model}" + (f"; original: {more}]\n" if more else "]\n")
            return head + await self._summary(text, limit - len(head), config), "llm_summary"
        except Refused as refused:
            return None, f"llm_summary→{refused.why}_fallback"

    async def close(self) -> None:
        self._closed = True
        if self._client is not None:
            await self._client.aclose()

    async def _summary(self, text: str, limit: int, config: LlmConfig) -> str:
        question = self._question(text, limit, config)
        key = _key(text, question)
        sent = await self._permitted(text, limit, config, question)
        if kept := await self._kept(key):
            return kept
        reply = await self._asked(sent, config.llm_timeout_seconds)
        made = None if reply.refused else llm_summary.accepted(_whole_sentences(reply), text, limit)
        if made is None:
            raise Refused("unfaithful")
        if self._store is not None and not secrets.scan(made):
            try:
                await self._store.put(key, made)
            except RemoraError as problem:
                log.warning("a summary could not be kept: %s", problem)
        return made

    def _question(self, text: str, limit: int, config: LlmConfig) -> Question:
        """Everything but the text; `no_config` when it is not known whom to ask, or with which key."""
        if self._closed:
            raise Refused("closed")
        if not config.provider or not config.model or limit < 1:
            raise Refused("no_config")
        try:
            variable = KEY_VARIABLES.get(config.provider, "")
            api_key = expand(config.api_key, self._environ) if config.api_key else self._environ.get(variable, "")
            base_url = expand(config.base_url, self._environ)
        except ConfigError as problem:
            self._warn_once(f"pipeline.llm: {problem}")
            raise Refused("no_config") from problem
        if variable and not api_key:
            self._warn_once(f"llm_summary needs a key: set pipeline.llm.api_key or {variable}; texts are cut instead")
            raise Refused("no_config")
        system = config.system_prompt.replace("{max_chars}", str(limit))
        return Question(config.provider, config.model, system, text, config.max_tokens, api_key, base_url)

    async def _permitted(self, text: str, limit: int, config: LlmConfig, question: Question) -> Question:
        """The question as it is sent: with the text as data, made smaller if it is very long. `privacy` if not."""
        if config.privacy_scan_enabled:
            loopback = config.provider == "ollama" and is_loopback(question.root)
            kinds = await asyncio.to_thread(_kinds, text) if len(text) > SCAN_INLINE else _kinds(text)
            if len(text) > SCAN_LIMIT or not llm_summary.may_send(kinds, loopback):
                raise Refused("privacy")
        if len(text) > llm_summary.MOST:
            text = await asyncio.to_thread(_smaller, text)
        body = llm_summary.prompt(text, limit, "Summarise the following text.")
        return Question(question.provider, question.model, question.system, body, question.max_tokens,
                        question.api_key, question.base_url)  # fmt: skip

    async def _kept(self, key: str) -> str | None:
        try:
            return await self._store.get(key) if self._store is not None else None
        except RemoraError as problem:
            log.warning("kept summaries cannot be read: %s", problem)
            return None

    async def _asked(self, question: Question, seconds: float) -> Reply:
        place = (question.provider, question.root)
        breaker = self._breakers.setdefault(place, Breaker(FAILURES, RESET_SECONDS))
        if breaker.wait(time.monotonic()) > 0:
            raise Refused("circuit_breaker")
        try:
            async with asyncio.timeout(seconds):
                reply = await ask(self._pool(), question)
        except TimeoutError as problem:
            breaker.fail(time.monotonic())
            log.warning("llm_summary: no answer of %s within %g s", question.provider, seconds)
            raise Refused("timeout") from problem
        except ProviderError as problem:
            breaker.fail(time.monotonic())
            log.warning("llm_summary: %s: %s", question.provider, problem)
            raise Refused("closed" if self._closed else "llm_error") from problem
        except BaseException:
            breaker.release()
            raise
        breaker.succeed()
        return reply

    def _pool(self) -> httpx2.AsyncClient:
        if self._client is None:
            import httpx2

            logging.getLogger("httpx2").setLevel(logging.WARNING)
            limits = httpx2.Limits(max_connections=8, max_keepalive_connections=4)
            self._client = httpx2.AsyncClient(timeout=None, limits=limits, follow_redirects=False)
        return self._client

    def _warn_once(self, message: str) -> None:
        if message not in self._warned:
            self._warned.add(message)
            log.warning("%s", message)


def _key(text: str, question: Question) -> str:
    parts = (text, question.system, question.provider, question.root, question.model, str(question.max_tokens))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _kinds(text: str) -> list[str]:
    found = [f"secret:{each.kind}" for each in secrets.scan(text)]
    return found or [f"pii:{each.kind}" for each in pii.scan(text)]


def _smaller(text: str) -> str:
    from remora.gateway.compression.auto import compress

    return compress(text, budget_chars=llm_summary.MOST, pointer=None).text


def _whole_sentences(reply: Reply) -> str:
    """Without the half sentence of a model that was stopped at its limit."""
    if reply.complete:
        return reply.text
    end = max(reply.text.rfind(mark) for mark in (". ", ".\n", "! ", "? "))
    return reply.text[: end + 1]
