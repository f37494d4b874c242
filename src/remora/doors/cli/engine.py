"""Where a command's answer comes from: a running `remora serve`, an engine of its own, or just the files."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode, urlsplit

from remora import __version__
from remora.errors import RpcError, UnavailableError, UsageError

if TYPE_CHECKING:
    from remora.app import App
    from remora.config.load import Loaded, Surroundings
    from remora.config.model import Config
    from remora.gateway.engine import Gateway
    from remora.operations.registry import Context
    from remora.telemetry.metrics import Metrics

CLIENT_INFO = {"name": "remora-cli", "version": __version__}
SILENCE_SECONDS = 60.0  # a running engine says something every 15 s, even if it is only a ping
Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Running:
    """A `remora serve` of this home."""

    pid: int
    version: str
    url: str
    token: str
    started_by: str

    def call(self, tool: str, arguments: Mapping[str, Any], query: Mapping[str, str] | None = None) -> Result:
        """One tool call in the modern era: one POST. The tool's result; RpcError if there is none."""
        from remora.gateway import eras
        from remora.gateway.wire.headers import encode_value

        meta = {eras.VERSION_KEY: eras.LATEST_MODERN, eras.CLIENT_KEY: CLIENT_INFO, eras.CAPABILITIES_KEY: {}}
        params = {"name": tool, "arguments": dict(arguments), "_meta": meta}
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "authorization": f"Bearer {self.token}",
            "mcp-protocol-version": eras.LATEST_MODERN,
            "mcp-method": "tools/call",
            "mcp-name": encode_value(tool),
        }
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        chosen = {key: value for key, value in (query or {}).items() if value}
        return self._post("/mcp" + (f"?{urlencode(chosen)}" if chosen else ""), body, headers)

    def _post(self, path: str, body: str, headers: Mapping[str, str]) -> Result:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=SILENCE_SECONDS)
        try:
            connection.request("POST", path, body.encode(), dict(headers))
            response = connection.getresponse()
            if response.headers.get_content_type() == "text/event-stream":
                message = _last_event(response)
            else:
                message = _json(response.read())
        except (OSError, http.client.HTTPException) as problem:
            raise UnavailableError(
                f"`remora serve` (pid {self.pid}) does not answer at {self.url}: {problem}"
            ) from problem
        finally:
            connection.close()
        if "error" in message and isinstance(message["error"], dict):
            raise RpcError(message["error"]["code"], message["error"]["message"], message["error"].get("data"))
        if "result" not in message:
            raise UnavailableError(f"`remora serve` (pid {self.pid}) answered {response.status}: {message}")
        result: Result = message["result"]
        return result

    def ask(self, action: str, arguments: Mapping[str, Any]) -> Result:
        """An operation on the gateway, through the tool `remora`."""
        result = self.call("remora", {"action": action, **arguments})
        if result.get("isError"):
            raise UsageError(" ".join(item.get("text", "") for item in result["content"]).removeprefix("remora: "))
        found: Result = result["structuredContent"]
        return found


def _last_event(lines: Iterable[bytes]) -> Result:
    """The answer in a stream of events: what has an id; the others are notifications."""
    for line in lines:
        if line.startswith(b"data:") and "id" in (message := _json(line[5:])):
            return message
    raise http.client.HTTPException("the stream ended without an answer")


def _json(data: bytes) -> Result:
    try:
        message = json.loads(data)
    except ValueError as problem:
        raise http.client.HTTPException(f"not JSON: {data[:80]!r}") from problem
    return message if isinstance(message, dict) else {}


def running(loaded: Loaded, around: Surroundings) -> Running | None:
    from remora.doors.serve import running_engine

    said = running_engine(loaded.paths.run)
    if said is None:
        return None
    try:
        token = around.token or (loaded.paths.run / "token").read_text().strip()
    except OSError:
        token = ""
    return Running(said["pid"], said["version"], said["http_url"], token, said["started_by"])


@contextlib.asynccontextmanager
async def own_engine(loaded: Loaded, around: Surroundings, only: Iterable[str] = ()) -> AsyncIterator[App]:
    """An engine for one command; with `only` it knows no other servers, so that no others are started."""
    from remora.app import opened

    names = set(only)
    if names:
        servers = {name: server for name, server in loaded.config.servers.items() if name in names}
        broken = {name: why for name, why in loaded.broken_servers.items() if name in names}
        config = loaded.config.model_copy(update={"servers": servers})
        loaded = replace(loaded, config=config, broken_servers=broken)
    async with opened(loaded, around.variables) as app:
        yield app


@dataclass(frozen=True, slots=True)
class _Configured:
    """All of a gateway that operations on configuration and metrics look at."""

    loaded: Loaded
    metrics: Metrics

    @property
    def config(self) -> Config:
        return self.loaded.config


@contextlib.asynccontextmanager
async def files_only(loaded: Loaded) -> AsyncIterator[Context]:
    """For operations that need no server and no engine."""
    from remora.gateway.session import LOCAL_USER
    from remora.operations.registry import Context
    from remora.storage.sqlite.state import StateDb
    from remora.telemetry.metrics import Metrics

    state = StateDb(loaded.paths.state_db)
    metrics = Metrics(state, loaded.config.observability)
    gateway = cast("Gateway", _Configured(loaded, metrics))
    try:
        yield Context(gateway, state, loaded.paths, LOCAL_USER)
    finally:
        await metrics.close()
        await state.close()


async def offline(loaded: Loaded, operation: str, arguments: Mapping[str, Any]) -> Result:
    import remora.operations.gateway
    import remora.operations.servers  # noqa: F401 - both register their operations
    from remora.operations.registry import run

    async with files_only(loaded) as context:
        return await run(context, operation, dict(arguments))


def texts(result: Mapping[str, Any]) -> str:
    """The text of a tool's result; what is not text is named."""
    return "\n".join(_text(item) for item in result.get("content", ()) if isinstance(item, dict))


def _text(item: Mapping[str, Any]) -> str:
    match item.get("type"):
        case "text":
            return str(item.get("text", ""))
        case "image" | "audio" as kind:
            return f"[{kind} {item.get('mimeType', '')}, {len(item.get('data', '')) * 3 // 4:,} bytes]"
        case "resource_link":
            return f"[resource {item.get('uri')}]"
        case "resource":
            resource = item.get("resource") or {}
            return str(resource.get("text", f"[resource {resource.get('uri')}]"))
        case kind:
            return f"[{kind}]"
