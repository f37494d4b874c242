"""A raw MCP client for tests: JSON-RPC in plain dicts, both protocol eras, every message kept in the order it came."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tests.support.inbox import Inbox

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
INFO_KEY = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
EVERYTHING = {"elicitation": {}, "sampling": {}, "roots": {"listChanged": True}}

Message = dict[str, Any]
Handler = Callable[[Message], Any]


class Failure(Exception):
    """A JSON-RPC error answer."""

    def __init__(self, error: Message) -> None:
        super().__init__(json.dumps(error)[:500])
        self.code, self.message, self.data = error.get("code"), error.get("message", ""), error.get("data")


def text(result: Message) -> str:
    return "".join(item.get("text", "") for item in result.get("content", []))


def failure_code(result: Message) -> str:
    """The code of a failure the gateway itself made, "" where it made none."""
    return result.get("_meta", {}).get("remora/error", {}).get("code", "")


class Client:
    """What both transports share. `era` is "handshake" or "modern"; `handlers` answer what the server asks."""

    def __init__(
        self,
        era: str = "handshake",
        *,
        version: str | None = None,
        capabilities: Message | None = None,
        handlers: Mapping[str, Handler] | None = None,
        name: str = "tests",
    ) -> None:
        self.era, self.version = era, version or (MODERN if era == "modern" else HANDSHAKE)
        self.capabilities = capabilities or {}
        self.handlers = dict(handlers or {})
        self.info = {"name": name, "version": "1"}
        self.inbox = Inbox()  # notifications, requests of the server, and answers that belong to no request
        self.greeting: Message = {}
        self._last_id = 0
        self._answers: dict[Any, asyncio.Future[Message]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    # transports implement these

    async def deliver(self, message: Message) -> None:
        raise NotImplementedError

    async def connect(self) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError

    # requests

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self) -> Message:
        """The era's greeting: `initialize` and `notifications/initialized`, or `server/discover`."""
        if self.era == "modern":
            self.greeting = await self.result("server/discover")
        else:
            self.greeting = await self.result(
                "initialize",
                {"protocolVersion": self.version, "capabilities": self.capabilities, "clientInfo": self.info},
            )
            await self.note("notifications/initialized")
        return self.greeting

    def envelope(self) -> Message:
        return {VERSION_KEY: self.version, INFO_KEY: self.info, CAPABILITIES_KEY: self.capabilities}

    async def send(self, method: str, params: Message | None = None, meta: Message | None = None) -> int:
        """Send a request and return its id; `answer` waits for what comes back."""
        self._last_id += 1
        identity, params = self._last_id, dict(params or {})
        meta = {**params.pop("_meta", {}), **(meta or {})}
        if self.era == "modern":
            meta = {**self.envelope(), **meta}
        if meta:
            params["_meta"] = meta
        self._answers[identity] = asyncio.get_running_loop().create_future()
        message: Message = {"jsonrpc": "2.0", "id": identity, "method": method}
        await self.deliver({**message, "params": params} if params else message)
        return identity

    async def answer(self, identity: int, timeout: float = 30) -> Message:
        """The whole message that answers request `identity`."""
        try:
            return await asyncio.wait_for(asyncio.shield(self._answers[identity]), timeout)
        except TimeoutError:
            raise AssertionError(f"no answer to request {identity} within {timeout} s") from None

    def answered(self, identity: int) -> bool:
        return self._answers[identity].done()

    async def ask(
        self, method: str, params: Message | None = None, meta: Message | None = None, timeout: float = 30
    ) -> Message:
        return await self.answer(await self.send(method, params, meta), timeout)

    async def result(
        self, method: str, params: Message | None = None, meta: Message | None = None, timeout: float = 30
    ) -> Message:
        message = await self.ask(method, params, meta, timeout)
        if "error" in message:
            raise Failure(message["error"])
        return message["result"]

    async def finish(self, method: str, params: Message, meta: Message | None = None, timeout: float = 30) -> Message:
        """As `result`; when input is required the handlers give it and the request is sent again until complete."""
        result = await self.result(method, params, meta, timeout)
        while result.get("resultType") == "input_required":
            answers = {
                key: await self._handle(asked["method"], asked.get("params", {}))
                for key, asked in result.get("inputRequests", {}).items()
            }
            retry = {**params, "inputResponses": answers}
            if "requestState" in result:
                retry["requestState"] = result["requestState"]
            result = await self.result(method, retry, meta, timeout)
        return result

    async def call(
        self, tool: str, arguments: Message | None = None, meta: Message | None = None, timeout: float = 30
    ) -> Message:
        return await self.finish("tools/call", {"name": tool, "arguments": arguments or {}}, meta, timeout)

    async def note(self, method: str, params: Message | None = None) -> None:
        message: Message = {"jsonrpc": "2.0", "method": method}
        await self.deliver({**message, "params": params} if params else message)

    async def cancel(self, identity: int, reason: str = "enough") -> None:
        await self.note("notifications/cancelled", {"requestId": identity, "reason": reason})

    async def listing(self, kind: str, key: str | None = None) -> list[Message]:
        """Every page of a list: `listing("tools")`, `listing("resources/templates", "resourceTemplates")`."""
        entries, cursor = [], None
        while True:
            page = await self.result(f"{kind}/list", {"cursor": cursor} if cursor else {})
            entries += page[key or kind]
            if not (cursor := page.get("nextCursor")):
                return entries

    async def tools(self) -> dict[str, Message]:
        return {tool["name"]: tool for tool in await self.listing("tools")}

    async def tools_with(self, *names: str, timeout: float = 15) -> dict[str, Message]:
        """The tool list as soon as it holds `names`, fetched anew after each `list_changed` (never on a timer)."""
        seen = -1
        async with asyncio.timeout(timeout):
            while True:
                changes = len(self.notes("notifications/tools/list_changed"))
                if changes > seen:
                    seen, listed = changes, await self.tools()
                    if listed.keys() >= set(names):
                        return listed
                else:
                    await self.noted("notifications/tools/list_changed", count=seen + 1, timeout=timeout)

    async def watch(self, *kinds: str, resources: Sequence[str] = ()) -> int | None:
        """Hear of list changes: a modern client has to ask for them, a handshake client hears anyway."""
        if self.era != "modern":
            return None
        wanted: Message = {f"{kind}ListChanged": True for kind in kinds or ("tools", "prompts", "resources")}
        if resources:
            wanted["resourceSubscriptions"] = list(resources)
        before = len(self.notes("notifications/subscriptions/acknowledged"))
        identity = await self.send("subscriptions/listen", {"notifications": wanted})
        await self.noted("notifications/subscriptions/acknowledged", count=before + 1)
        return identity

    # what comes in

    def notes(self, method: str) -> list[Message]:
        return self.inbox.find(lambda message: message.get("method") == method)

    async def noted(self, method: str, count: int = 1, timeout: float = 15) -> Message:
        return await self.inbox.until(lambda message: message.get("method") == method, count, timeout)

    def receive(self, message: Message) -> None:
        if "method" not in message:
            future = self._answers.get(message.get("id"))
            if future is None:
                self.inbox.add(message)
            elif future.done():
                self.inbox.add({"answered twice": message})
            else:
                future.set_result(message)
                self.inbox.wake()
            return
        self.inbox.add(message)
        if "id" in message:
            self.spawn(self._reply(message))

    def fail_pending(self, why: str) -> None:
        for identity, future in self._answers.items():
            if not future.done():
                future.set_result({"id": identity, "error": {"code": 0, "message": why}})
        self.inbox.wake()

    def spawn(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _reply(self, request: Message) -> None:
        reply: Message = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            reply["result"] = await self._handle(request["method"], request.get("params", {}))
        except Failure as failure:
            reply["error"] = {"code": failure.code, "message": failure.message, "data": failure.data}
        await self.deliver(reply)

    async def _handle(self, method: str, params: Message) -> Any:
        if method == "ping":
            return {}
        if method not in self.handlers:
            raise Failure({"code": -32601, "message": f"no handler for {method}"})
        given = self.handlers[method](params)
        return await given if inspect.isawaitable(given) else given


class StdioClient(Client):
    """The server is a child process; `raw` keeps the bytes of each answer, `garbage` what was not JSON."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        errors: str | Path = "/dev/null",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.command, self.env, self.cwd, self.errors = list(command), env, cwd, errors
        self.raw: dict[Any, bytes] = {}
        self.garbage: list[bytes] = []
        self.ended = asyncio.Event()
        self.process: asyncio.subprocess.Process

    async def connect(self) -> None:
        with open(self.errors, "ab") as errors:  # noqa: ASYNC230
            self.process = await asyncio.create_subprocess_exec(
                *self.command, stdin=-1, stdout=-1, stderr=errors, env=self.env, cwd=self.cwd, limit=2**28
            )
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout
        while line := await self.process.stdout.readline():
            try:
                message = json.loads(line)
            except ValueError:
                self.garbage.append(line)
                continue
            if "method" not in message:
                self.raw[message.get("id")] = line
            self.receive(message)
        self.ended.set()
        self.fail_pending("end of stream")

    async def deliver(self, message: Message) -> None:
        await self.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    async def write(self, data: bytes) -> None:
        """Bytes as they are: for input that is not well formed."""
        assert self.process.stdin
        try:
            self.process.stdin.write(data)
            await self.process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            self.fail_pending("broken pipe")

    async def end(self, timeout: float = 15) -> int:
        """Close stdin, let the server leave by itself, return its exit code."""
        if self.process.stdin:
            self.process.stdin.close()
        return await asyncio.wait_for(self.process.wait(), timeout)

    async def close(self) -> None:
        try:
            await self.end()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        for task in [*self._tasks, self._reader]:
            task.cancel()
        await asyncio.gather(*self._tasks, self._reader, return_exceptions=True)
