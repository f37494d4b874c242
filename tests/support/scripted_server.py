"""The protocol half of the scripted MCP server: catalog, connections, both eras. Its tools are in scripted_tools.py."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
Message = dict[str, Any]
Send = Callable[[Message], None]


class Refusal(Exception):
    def __init__(self, code: int, message: str, data: Any = None) -> None:
        self.error = {"code": code, "message": message, **({} if data is None else {"data": data})}


class InputRequired(Exception):
    def __init__(self, requests: Message) -> None:
        self.requests = requests


class Server:
    """The catalog and what is shared by all connections."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.name = given, given.name
        self.sessions: set[Session] = set()
        self.states: set[str] = set()
        self.released = asyncio.Event()
        self.listeners: list[Callable[[Message], None]] = []
        self.tools = [definition for definition, _ in TOOLS.values()]
        if not given.broken_header:
            self.tools = [tool for tool in self.tools if tool["name"] != "broken_header"]
        self.tools += [plain(f"extra_{n}") for n in range(given.extra)]
        self.prompts = [
            {"name": "greet", "title": "Greet", "arguments": [{"name": "who", "required": True}], "x-vendor": {"p": 1}},
            {"name": "ask_first", "arguments": []},
        ]
        uris = [f"test://{self.name}/a", f"test://{self.name}/blob", *given.resource]
        self.resources = [{"uri": uri, "name": uri.rsplit("/", 1)[-1], "x-vendor": {"r": [1]}} for uri in uris]
        self.templates = [{"uriTemplate": f"test://{self.name}/item/{{id}}", "name": "item", "x-vendor": {"t": None}}]

    def report(self, event: str, **fields: Any) -> None:
        for listener in self.listeners:
            listener({"event": event, "name": self.name, "pid": os.getpid(), **fields})

    def obey(self, order: Message) -> None:
        match order["do"]:
            case "add_tool":
                self.tools = [*self.tools, plain(order["tool"])]
                self.changed("tools")
            case "remove_tool":
                self.tools = [tool for tool in self.tools if tool["name"] != order["tool"]]
                self.changed("tools")
            case "add_prompt":
                self.prompts = [*self.prompts, {"name": order["prompt"], "arguments": []}]
                self.changed("prompts")
            case "add_resource":
                self.resources = [*self.resources, {"uri": order["uri"], "name": "late"}]
                self.changed("resources")
            case "touch":
                self.touched(order["uri"])
            case "say":  # on the standing channel of every handshake session
                for session in self.sessions:
                    session.notify(order["method"], order["params"])
            case "release":
                self.released.set()
                self.released = asyncio.Event()
            case "go":
                pass
            case other:
                raise ValueError(other)

    def changed(self, kind: str) -> None:
        for session in self.sessions:
            session.announce(f"notifications/{kind}/list_changed", {}, lambda wanted: wanted.get(f"{kind}ListChanged"))

    def touched(self, uri: str) -> None:
        for session in self.sessions:
            session.announce(
                "notifications/resources/updated",
                {"uri": uri, "x-vendor": "kept"},
                lambda wanted: uri in wanted.get("resourceSubscriptions", ()),
                uri in session.subscribed,
            )

    def page(self, entries: list[Message], params: Message) -> tuple[list[Message], Message]:
        start, size = int(params.get("cursor") or 0), self.given.page or len(entries) or 1
        more = start + size < len(entries) or self.given.endless
        return entries[start : start + size], {"nextCursor": str(start + size)} if more else {}


class Session:
    """One connection: what was negotiated on it and what runs on it. `send` is its standing channel."""

    def __init__(self, server: Server, send: Send) -> None:
        self.server, self.send = server, send
        self.ready, self.level, self.capabilities = False, "", {}
        self.subscribed: set[str] = set()
        self.running: dict[Any, asyncio.Task[None]] = {}
        self.asked: dict[Any, asyncio.Future[Message]] = {}
        self.listening: dict[Any, tuple[Message, Send]] = {}
        self.late_probe: Message | None = None
        self.deaf = False
        server.sessions.add(self)

    def take(self, message: Message, send: Send | None = None) -> asyncio.Task[None] | None:
        """Handle one message; answers of a request go to `send`."""
        if self.deaf:
            return None
        if "method" not in message:
            self.server.report("answer", message=message)
            self.asked.pop(message["id"]).set_result(message)
            return None
        self.server.report("message", message=message)
        if "id" not in message:
            self.note(message["method"], message.get("params") or {})
            return None
        task = asyncio.create_task(self.answer(message, send or self.send))
        self.running[message["id"]] = task
        task.add_done_callback(lambda _: self.running.pop(message["id"], None))
        return task

    def note(self, method: str, params: Message) -> None:
        if method == "notifications/initialized":
            self.ready = True
        elif method == "notifications/cancelled" and (task := self.running.get(params.get("requestId"))):
            task.cancel()

    def notify(self, method: str, params: Message, send: Send | None = None) -> None:
        (send or self.send)({"jsonrpc": "2.0", "method": method, "params": params})

    def announce(self, method: str, params: Message, wanted: Callable[[Message], Any], subscribed: bool = True) -> None:
        if self.ready and subscribed:
            self.notify(method, params)
        for identity, (filters, send) in self.listening.items():
            if wanted(filters):
                self.notify(method, {**params, "_meta": {META + "subscriptionId": identity}}, send)

    async def answer(self, message: Message, send: Send) -> None:
        identity, method, params = message["id"], message["method"], message.get("params") or {}
        call = Call(self, identity, method, params, send)
        reply: Message = {"jsonrpc": "2.0", "id": identity}
        try:
            result = await self.result(call)
            if result is None:
                return
            reply["result"] = result if not isinstance(result, dict) else call.dress(result)
        except Refusal as refusal:
            reply["error"] = refusal.error
        except InputRequired as asking:
            state = f"{self.server.name}:{len(self.server.states)}"
            self.server.states.add(state)
            reply["result"] = {
                "resultType": "input_required", "inputRequests": asking.requests, "requestState": state, "x-vendor": 1
            }  # fmt: skip
        except asyncio.CancelledError:
            self.listening.pop(identity, None)
            self.server.report("cancelled", id=identity, method=method)
            return
        send(reply)

    async def result(self, call: Call) -> Any:
        server, method, params, given = self.server, call.method, call.params, self.server.given
        self.check_era(call)
        match method:
            case "initialize":
                self.capabilities = params.get("capabilities", {})
                version = min(params["protocolVersion"], given.version)
                return {"protocolVersion": version, **server_card(server)}
            case "server/discover":
                versions = [MODERN, *(["2025-11-25"] if given.era == "dual" else [])]
                return {"supportedVersions": versions, **server_card(server), "ttlMs": 0, "cacheScope": "private"}
            case "ping":
                return {}
            case "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list":
                key = "resourceTemplates" if "templates" in method else method.split("/")[0]
                entries, more = server.page(getattr(server, "templates" if "templates" in method else key), params)
                return {key: entries, **more, **call.caching()}
            case "tools/call":
                return await self.call_tool(call)
            case "resources/read":
                return read(server, call)
            case "resources/subscribe" | "resources/unsubscribe":
                change = self.subscribed.add if method.endswith("/subscribe") else self.subscribed.discard
                change(params["uri"])
                return {}
            case "prompts/get":
                return await get_prompt(call)
            case "completion/complete":
                value = params["argument"]["value"]
                values = [word for word in ("red", "green", "grey") if word.startswith(value)]
                return {"completion": {"values": values, "total": len(values), "x-vendor": 1}, "x-top": True}
            case "logging/setLevel":
                self.level = params["level"]
                return {}
            case "subscriptions/listen":
                self.listening[call.identity] = (params["notifications"], call.send)
                tag = {META + "subscriptionId": call.identity}
                acknowledged = {"notifications": params["notifications"], "_meta": tag}
                self.notify("notifications/subscriptions/acknowledged", acknowledged, call.send)
                await asyncio.Event().wait()
        raise Refusal(-32601, "Method not found", {"method": method})

    def check_era(self, call: Call) -> None:
        era, method = self.server.given.era, call.method
        if method == "server/discover" and self.server.given.probe != "normal" and self.late_probe is None:
            self.late_probe = {"jsonrpc": "2.0", "id": call.identity}
            raise asyncio.CancelledError  # no answer
        if method == "initialize" and self.server.given.probe == "late" and self.late_probe:
            card = {"supportedVersions": [MODERN], **server_card(self.server)}
            call.send({**self.late_probe, "result": {"resultType": "complete", **card}})
        if era == "handshake" and method == "server/discover":
            raise Refusal(-32601, "Method not found")
        if era == "modern" and method == "initialize":
            asked = call.params.get("protocolVersion")
            raise Refusal(-32022, "Unsupported protocol version", {"supported": [MODERN], "requested": asked})
        if era == "modern" and call.meta.get(META + "protocolVersion") != MODERN:
            raise Refusal(-32602, "the envelope is missing")

    async def call_tool(self, call: Call) -> Any:
        name, arguments = call.params["name"], call.params.get("arguments") or {}
        self.server.report("call", tool=name, arguments=arguments, meta=call.meta, id=call.identity)
        if name not in [tool["name"] for tool in self.server.tools]:
            raise Refusal(-32602, f"Unknown tool: {name}", {"vendor": 1})
        return await TOOLS[name][1](call, arguments) if name in TOOLS else said(f"this is {name}")


class Call:
    """One request being answered: how its tool talks back while it runs."""

    def __init__(self, session: Session, identity: Any, method: str, params: Message, send: Send) -> None:
        self.session, self.server, self.identity = session, session.server, identity
        self.method, self.params, self.send = method, params, send
        self.meta: Message = params.get("_meta") or {}
        self.modern = META + "protocolVersion" in self.meta

    def caching(self) -> Message:
        return {"ttlMs": 5000, "cacheScope": "public"} if self.modern else {}

    def dress(self, result: Message) -> Message:
        """A modern result names its type and its server."""
        if not self.modern:
            return result
        stamp = {META + "serverInfo": {"name": self.server.name, "version": "1"}}
        return {**result, "resultType": "complete", "_meta": {**result.get("_meta", {}), **stamp}}

    def progress(self, **fields: Any) -> None:
        if (token := self.meta.get("progressToken")) is not None:
            self.session.notify("notifications/progress", {"progressToken": token, **fields}, self.send)

    def log(self, level: str, data: Any) -> None:
        wanted = self.meta.get(META + "logLevel") if self.modern else self.session.level or "debug"
        if wanted and LEVELS.index(level) >= LEVELS.index(wanted):
            params = {"level": level, "logger": self.server.name, "data": data, "x-vendor": 1}
            self.session.notify("notifications/message", params, self.send)

    async def ask(self, key: str, method: str, params: Message) -> Message:
        """What the client answers to a request of ours; modern clients get it as required input."""
        if not self.modern:
            identity = f"{self.server.name}-{key}-{self.identity}"
            future = self.session.asked[identity] = asyncio.get_running_loop().create_future()
            self.send({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})
            reply = await future
            if "error" in reply:
                raise Refusal(**{key: reply["error"].get(key) for key in ("code", "message", "data")})
            return reply["result"]
        answers = self.params.get("inputResponses") or {}
        if key not in answers:
            raise InputRequired({key: {"method": method, "params": params}})
        if self.params.get("requestState") not in self.server.states:
            raise Refusal(-32602, "foreign requestState", {"got": self.params.get("requestState")})
        return answers[key]


Tool = Callable[[Call, Message], Awaitable[Any]]
TOOLS: dict[str, tuple[Message, Tool]] = {}


def plain(name: str) -> Message:
    return {"name": name, "description": f"The tool {name}.", "inputSchema": {"type": "object"}}


def said(words: str) -> Message:
    return {"content": [{"type": "text", "text": words}]}


def server_card(server: Server) -> Message:
    listed = {"listChanged": True}
    card: Message = {
        "capabilities": {
            "tools": listed, "prompts": listed, "resources": {"subscribe": True, **listed}, "logging": {},
            "completions": {}, "experimental": {"x-vendor": {"kept": True}},
        },
        "serverInfo": {"name": server.name, "version": "1", "title": "Scripted"},
    }  # fmt: skip
    return {**card, **({"instructions": server.given.instructions} if server.given.instructions else {})}


def read(server: Server, call: Call) -> Message:
    uri = call.params["uri"]
    known = uri in [resource["uri"] for resource in server.resources] or uri.startswith(f"test://{server.name}/item/")
    if not known:
        code = -32602 if call.modern else -32002
        raise Refusal(code, "Resource not found", {"uri": uri})
    body = {"blob": "AAEC"} if uri.endswith("/blob") else {"text": f"{uri} of {server.name}", "mimeType": "text/plain"}
    return {"contents": [{"uri": uri, **body, "x-vendor": {"c": 1}, "_meta": {"v/k": 1}}], "x-top": 1, **call.caching()}


async def get_prompt(call: Call) -> Message:
    name, arguments = call.params["name"], call.params.get("arguments") or {}
    if name not in [prompt["name"] for prompt in call.server.prompts]:
        raise Refusal(-32602, f"Unknown prompt: {name}")
    if name == "ask_first":
        arguments = (await call.ask("who", "elicitation/create", question("Who?")))["content"]
    words = f"Hello {arguments.get('answer', arguments.get('who'))} from {call.server.name}"
    message = {"role": "user", "content": {"type": "text", "text": words, "x-vendor": 1}, "x-vendor": 2}
    return {"description": "greeting", "messages": [message], "x-top": [1, None, 0.5]}


def question(words: str) -> Message:
    properties = {"answer": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["answer"]}
    return {"mode": "form", "message": words, "requestedSchema": schema, "x-vendor": {"q": 1}}
