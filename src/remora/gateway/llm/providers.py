"""The wire forms of the providers: one request that gives text in, one answer that has text in it."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx2

LARGEST_ANSWER = 4_000_000  # bytes
KEY_VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
DEFAULT_URLS = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "ollama": "http://127.0.0.1:11434",
}
ANTHROPIC_VERSION = "2023-06-01"


class ProviderError(Exception):
    """No usable answer came back."""


@dataclass(frozen=True, slots=True)
class Question:
    provider: str
    model: str
    system: str
    text: str
    max_tokens: int
    api_key: str = ""
    base_url: str = ""

    @property
    def root(self) -> str:
        return (self.base_url or DEFAULT_URLS[self.provider]).rstrip("/")


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    complete: bool  # False: the model was stopped at its limit, so the last sentence may be half
    refused: bool = False


def is_loopback(url: str) -> bool:
    """Whether what is sent there stays on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def ask(client: httpx2.AsyncClient, question: Question) -> Reply:
    """One answer; ProviderError when there is none."""
    import httpx2

    path, headers, body = request(question)
    try:
        async with client.stream("POST", f"{question.root}{path}", headers=headers, json=body) as response:
            data = b""
            async for piece in response.aiter_bytes():
                data += piece
                if len(data) > LARGEST_ANSWER:
                    raise ProviderError(f"the answer is larger than {LARGEST_ANSWER:,} bytes")
    except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
        raise ProviderError(str(problem) or type(problem).__name__) from problem
    if response.status_code != 200:
        raise ProviderError(f"HTTP {response.status_code}")  # its body may repeat what was sent
    try:
        return reply(question.provider, json.loads(data))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as problem:
        raise ProviderError(f"not an answer of {question.provider}: {type(problem).__name__}") from problem


def request(question: Question) -> tuple[str, dict[str, str], dict[str, Any]]:
    """Path, headers and body."""
    user = {"role": "user", "content": question.text}
    system = {"role": "system", "content": question.system}
    match question.provider:
        case "openai":
            # OpenAI's newer models know only the newer name of the limit, most compatible servers only the older.
            limit = "max_tokens" if question.base_url else "max_completion_tokens"
            body = {"model": question.model, "messages": [system, user], limit: question.max_tokens}
            return "/chat/completions", {"authorization": f"Bearer {question.api_key}"}, body
        case "anthropic":
            headers = {"x-api-key": question.api_key, "anthropic-version": ANTHROPIC_VERSION}
            body = {"model": question.model, "max_tokens": question.max_tokens, "system": question.system,
                    "messages": [user]}  # fmt: skip
            return ("" if question.root.endswith("/v1") else "/v1") + "/messages", headers, body
        case _:
            body = {"model": question.model, "messages": [system, user], "stream": False,
                    "options": {"num_predict": question.max_tokens}}  # fmt: skip
            return "/api/chat", {}, body


def reply(provider: str, answer: Mapping[str, Any]) -> Reply:
    """What was said, and whether it was said to the end."""
    match provider:
        case "openai":
            choice = answer["choices"][0]
            message = choice["message"]
            refused = bool(message.get("refusal")) or choice.get("finish_reason") == "content_filter"
            return Reply(_text(message.get("content") or ""), choice.get("finish_reason") != "length", refused)
        case "anthropic":
            parts = [_text(part["text"]) for part in answer["content"] if part["type"] == "text"]
            reason = answer.get("stop_reason")
            return Reply("".join(parts), reason != "max_tokens", reason == "refusal")
        case _:
            return Reply(_text(answer["message"]["content"]), answer.get("done_reason") != "length")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("text expected")
    return value
