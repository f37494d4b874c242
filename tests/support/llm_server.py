"""A local server that speaks the wire forms of three providers of language models, strictly, with a scripted answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Self

Body = dict[str, Any]
Said = Callable[[str], str]


class LlmServer:
    """`say` makes the answer of the prompt; `status`, `cut` and `hang` are the ways it can fail."""

    def __init__(self, say: Said = lambda _: "ok.") -> None:
        self.say = say
        self.status = 200
        self.cut = False
        self.refuse = False
        self.raw: bytes | None = None
        self.hang: asyncio.Event | None = None
        self.requests: list[tuple[str, dict[str, str], Body]] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.hang is not None:
            self.hang.set()
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                line, *rest = head.decode().split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in rest)}
                body = json.loads(await reader.readexactly(int(headers["content-length"])))
                path = line.split()[1]
                self.requests.append((path, headers, body))
                if self.hang is not None:
                    await self.hang.wait()
                status, answer = self._answer(path, headers, body)
                data = self.raw if self.raw is not None else json.dumps(answer).encode()
                head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
                writer.write(head.encode() + data)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, path: str, headers: dict[str, str], body: Body) -> tuple[int, Body]:
        if self.status != 200:
            return self.status, {"error": {"type": "server_error", "message": "scripted"}}
        match path:
            case "/v1/chat/completions":
                return self._openai(headers, body)
            case "/v1/messages":
                return self._anthropic(headers, body)
            case "/api/chat":
                return self._ollama(body)
        return 404, {"error": {"type": "not_found"}}

    def _openai(self, headers: dict[str, str], body: Body) -> tuple[int, Body]:
        if not headers.get("authorization", "").removeprefix("Bearer "):
            return 401, {"error": {"type": "invalid_request_error", "code": "invalid_api_key"}}
        roles = [message["role"] for message in body["messages"]]
        if roles != ["system", "user"] or not isinstance(body.get("max_tokens"), int) or body.get("stream"):
            return 400, {"error": {"type": "invalid_request_error"}}
        said = self.say(body["messages"][-1]["content"])
        message = {"role": "assistant", "content": None if self.refuse else said,
                   "refusal": "No." if self.refuse else None, "annotations": []}  # fmt: skip
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "length" if self.cut else "stop"}
        return 200, {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body["model"],
                     "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 9}}  # fmt: skip

    def _anthropic(self, headers: dict[str, str], body: Body) -> tuple[int, Body]:
        if not headers.get("x-api-key"):
            return 401, {"type": "error", "error": {"type": "authentication_error", "message": "x-api-key required"}}
        wrong = headers.get("anthropic-version") != "2023-06-01" or not isinstance(body.get("max_tokens"), int)
        if wrong or [message["role"] for message in body["messages"]] != ["user"]:
            return 400, {"type": "error", "error": {"type": "invalid_request_error", "message": "scripted"}}
        stop = "refusal" if self.refuse else "max_tokens" if self.cut else "end_turn"
        said = [] if self.refuse else [{"type": "text", "text": self.say(body["messages"][0]["content"])}]
        return 200, {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": said,
                     "stop_reason": stop, "stop_sequence": None,
                     "usage": {"input_tokens": 10, "output_tokens": 5}}  # fmt: skip

    def _ollama(self, body: Body) -> tuple[int, Body]:
        if body.get("stream") is not False:
            return 400, {"error": "this server does not stream"}
        said = {"role": "assistant", "content": self.say(body["messages"][-1]["content"])}
        return 200, {"model": body["model"], "created_at": "2026-01-01T00:00:00Z", "message": said, "done": True,
                     "done_reason": "length" if self.cut else "stop", "eval_count": 5}  # fmt: skip
