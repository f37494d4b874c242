"""From a server's settings to a live link: expand, open, find out the era, read the lists."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remora.config.expand import expand, safe_environment
from remora.config.model import ServerConfig
from remora.errors import NotSent, RpcError, UpstreamError
from remora.gateway import eras
from remora.gateway.children import Children
from remora.gateway.manifest import Manifest, fingerprint
from remora.gateway.wire import headers, jsonrpc, process
from remora.gateway.wire.link import Exchange, Link, LinkEvents, LinkLost, NotFoundHere

log = logging.getLogger(__name__)
PROBE_SECONDS = 3.0
MAX_PAGES = 100
INSTANCE_KEY = "remora/instance"
Params = dict[str, Any]


class SelfReference(UpstreamError):
    """The server is this very gateway."""

    code = "self_reference"
    retryable = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a server's start depends on besides its settings."""

    environ: Mapping[str, str]
    project: Path | None
    instance: str
    own_urls: tuple[str, ...]
    on_stderr: Callable[[bytes], None]
    children: Children


async def open_link(settings: ServerConfig, around: Surroundings, events: LinkEvents, *, sse: bool = False) -> Link:
    if settings.kind == "stdio":
        children = around.children
        return await process.start(_command(settings, around), events, around.on_stderr, children.add, children.remove)
    from remora.gateway.wire.http_client import HttpLink  # httpx2 is loaded where it is needed only
    from remora.gateway.wire.sse_client import SseLink

    endpoint = _endpoint(settings, around)
    if settings.kind == "sse" or sse:
        link = SseLink(endpoint, events)
        try:
            await link.open()
        except BaseException:
            await link.close()
            raise
        return link
    return HttpLink(endpoint, events)


def _command(settings: ServerConfig, around: Surroundings) -> process.Command:
    env = around.environ

    def fill(value: str) -> str:
        return expand(value, env, around.project)

    argv = [fill(settings.command), *map(fill, settings.args)]
    if Path(argv[0]).name in ("rem", "remora") or argv[1:3] == ["-m", "remora"]:
        raise SelfReference("self_reference: the command is remora itself")
    child = safe_environment(settings.env_inherit, env) | {key: fill(value) for key, value in settings.env.items()}
    cwd = fill(settings.cwd) if settings.cwd else (str(around.project) if around.project else None)
    return process.Command(argv, child, cwd, settings.max_message_bytes)


def _endpoint(settings: ServerConfig, around: Surroundings) -> Any:
    import ssl

    from remora.gateway.wire.http_client import Endpoint

    def fill(value: str) -> str:
        return expand(value, around.environ, around.project)

    url = fill(settings.url)
    if url.split("?")[0].rstrip("/") in around.own_urls:
        raise SelfReference("self_reference: the URL is our own")
    sent = {key: fill(value) for key, value in settings.headers.items()}
    if settings.auth.type == "bearer":
        sent["Authorization"] = f"Bearer {fill(settings.auth.token)}"
    verify: Any = settings.tls_verify
    if settings.ca_file and verify:
        verify = ssl.create_default_context(cafile=fill(settings.ca_file))
    return Endpoint(url, sent, verify, settings.connect_timeout_seconds, settings.max_message_bytes)


async def connect(
    settings: ServerConfig, around: Surroundings, events: LinkEvents, known: Manifest | None
) -> tuple[Link, Params]:
    """A link whose era is settled, and what the server said of itself. Everything is closed again on failure."""
    modern_first = known.modern if known is not None else True
    attempts = {"auto": [modern_first, not modern_first], "modern": [True], "legacy": [False]}[settings.era]
    link = await open_link(settings, around, events)
    problem: Exception = NotSent("no answer")
    try:
        for modern in attempts:
            if link.lost is not None:  # some servers die of a method they do not know
                await link.close()
                link = await open_link(settings, around, events)
            try:
                return link, await (_discover(link) if modern else _initialize(link))
            except (RpcError, LinkLost, NotFoundHere, TimeoutError) as failure:
                problem = failure
                if not modern and isinstance(failure, RpcError) and failure.code == jsonrpc.UNSUPPORTED_VERSION:
                    return link, await _discover(link)  # it answered our probe late and is modern now
        if isinstance(problem, NotFoundHere) and settings.transport == "":
            await link.close()
            link = await open_link(settings, around, events, sse=True)
            return link, await _initialize(link)
    except BaseException:
        await link.close()
        raise
    await link.close()
    raise problem


async def _discover(link: Link) -> Params:
    async with asyncio.timeout(PROBE_SECONDS):
        said = await link.request("server/discover", {"_meta": eras.envelope()}, Exchange())
    versions = said.get("supportedVersions")
    if not isinstance(versions, list) or eras.LATEST_MODERN not in versions:
        raise RpcError(jsonrpc.UNSUPPORTED_VERSION, "server/discover names no version we speak")
    link.modern, link.version = True, eras.LATEST_MODERN
    return said


async def _initialize(link: Link) -> Params:
    link.modern = False
    hello = {
        "protocolVersion": eras.LATEST_HANDSHAKE,
        "capabilities": eras.CLIENT_CAPABILITIES,
        "clientInfo": eras.CLIENT_INFO,
    }
    said = await link.request("initialize", hello, Exchange())
    version = said.get("protocolVersion")
    if version not in eras.HANDSHAKE:
        raise NotSent(f"the server wants protocol version {version!r}, which nobody here speaks")
    link.version = version
    await link.notify("notifications/initialized")
    if hasattr(link, "listen"):
        link.listen()
    return said


def check_not_self(said: Params, instance: str) -> None:
    meta = said.get("_meta")
    if isinstance(meta, dict) and meta.get(INSTANCE_KEY) == instance:
        raise SelfReference("self_reference: the server is this gateway itself")


async def ask(link: Link, method: str, params: Params | None = None, exchange: Exchange | None = None) -> Params:
    """A request of our own (not of a front), in the link's era."""
    if link.modern:
        params = {**(params or {}), "_meta": eras.envelope()}
    return await link.request(method, params, exchange or Exchange())


async def read_manifest(link: Link, said: Params, settings: ServerConfig) -> Manifest:
    can = said.get("capabilities")
    can = can if isinstance(can, dict) else {}
    wanted = {
        "tools": ("tools/list", "tools" in can),
        "resources": ("resources/list", "resources" in can and settings.resources),
        "templates": ("resources/templates/list", "resources" in can and settings.resources),
        "prompts": ("prompts/list", "prompts" in can and settings.prompts),
    }
    pages = await asyncio.gather(*(_pages(link, method) for method, on in wanted.values() if on))
    found = dict(zip([key for key, (_, on) in wanted.items() if on], pages, strict=True))
    tools = [tool for tool in found.get("tools", ([], False))[0] if _usable(tool, settings)]
    meta = said.get("_meta")
    info = said.get("serverInfo") or (meta.get(eras.SERVER_KEY) if isinstance(meta, dict) else None)
    text = said.get("instructions")
    return Manifest(
        fingerprint=fingerprint(settings),
        modern=link.modern,
        version=link.version,
        server_info=info if isinstance(info, dict) else {},
        capabilities=can,
        instructions=text if isinstance(text, str) else "",
        tools=tuple(tools),
        resources=tuple(found.get("resources", ([], False))[0]),
        templates=tuple(found.get("templates", ([], False))[0]),
        prompts=tuple(found.get("prompts", ([], False))[0]),
        incomplete=any(cut for _, cut in found.values()),
    )


def _usable(tool: Params, settings: ServerConfig) -> bool:
    if not isinstance(tool.get("name"), str):
        return False
    fault = headers.annotation_fault(tool.get("inputSchema")) if settings.kind == "http" else None
    if fault:
        log.warning("tool %r is left out: %s", tool["name"], fault)
    return fault is None


async def _pages(link: Link, method: str) -> tuple[list[Params], bool]:
    """All entries of a list, and whether there were more pages than we read."""
    key = "resourceTemplates" if method == "resources/templates/list" else method.split("/")[0]
    entries: list[Params] = []
    cursor: Any = None
    for _ in range(MAX_PAGES):
        try:
            page = await ask(link, method, {} if cursor is None else {"cursor": cursor})
        except RpcError as problem:
            if problem.code == jsonrpc.METHOD_NOT_FOUND and not entries:
                return [], False
            raise
        found = page.get(key)
        entries += [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str):
            return entries, False
    log.warning("%s has more than %d pages; the rest is not listed", method, MAX_PAGES)
    return entries, True
