"""What an agent or a user asks of the gateway itself."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from pydantic import Field

from remora import __version__
from remora.errors import RpcError, UpstreamError, UsageError
from remora.gateway import calls
from remora.gateway.connect import ask
from remora.gateway.server import Server
from remora.operations.registry import Context, Input, operation
from remora.operations.text import health_text, stats_text, status_text, tool_text
from remora.telemetry import accounting

Result = dict[str, Any]


class Health(Input):
    names: list[str] = Field(default_factory=list, description="Servers to ask; none = all.")
    timeout: float = Field(10.0, gt=0, le=300, description="Seconds to wait for each.")
    refresh: bool = Field(False, description="Read their lists again.")
    show_names: bool = Field(False, description="Show every tool's own name and the one it is served by.")


@operation("gateway.health", "Ask every server whether it is there.", "read", Health, health_text)
async def health(context: Context, given: Health) -> Result:
    servers = context.gateway.servers
    known = [*context.gateway.config.servers, *context.gateway.loaded.broken_servers]
    if unknown := [name for name in given.names if name not in known]:
        raise UsageError(
            f"no server is called {', '.join(map(repr, unknown))}; there are: {', '.join(known) or 'none'}"
        )
    chosen = given.names or known
    rows = await asyncio.gather(*(_probe(context, servers.get(name), name, given) for name in chosen))
    loaded = context.gateway.loaded
    return {"config": {"mode": loaded.mode, "reason": loaded.reason or None},
            "servers": dict(zip(chosen, rows, strict=True))}  # fmt: skip


async def _probe(context: Context, server: Server | None, name: str, given: Health) -> Result:
    row: Result = {
        "connected": False,
        "state": "failed",
        "tools": 0,
        "era": None,
        "latency_ms": None,
        "overflowing": [],
        "error": None,
    }
    if server is None:
        broken = context.gateway.loaded.broken_servers.get(name)
        return row | {"state": "failed" if broken else "disabled", "error": broken}
    began = time.perf_counter()
    upstream = server.upstream(context.session)
    try:
        async with asyncio.timeout(given.timeout):
            upstream.want()  # also ends the long pause after a lasting failure
            link = await upstream.ready_link()
            if given.refresh:
                await upstream.refresh()
            began = time.perf_counter()
            try:
                await ask(link, "server/discover" if link.modern else "ping")
            except RpcError:
                pass  # an error is an answer
        row |= {"connected": True, "era": link.version, "latency_ms": round((time.perf_counter() - began) * 1000, 1)}
    except TimeoutError:
        row["error"] = f"no answer within {given.timeout:g} s"
    except (UpstreamError, RpcError) as problem:
        row["error"] = str(problem)
    row["state"] = upstream.shown_state
    manifest = server.manifest
    if manifest is not None:
        row["tools"] = len(manifest.tools)
        names = {tool["name"]: context.gateway.catalog.names.get((name, tool["name"])) for tool in manifest.tools}
        bare = f"{server.prefix}__"
        row["overflowing"] = [own for own, served in names.items() if served not in (own, bare + own)]
        row |= {"incomplete": True} if manifest.incomplete else {}
        row |= {"names": names} if given.show_names else {}
    return row


class Status(Input):
    pass


@operation("gateway.status", "Show servers, sessions and what is in flight.", "read", Status, status_text)
async def status(context: Context, given: Status) -> Result:
    gateway = context.gateway
    disabled = {name: {"state": "disabled"} for name, found in gateway.config.servers.items() if not found.enabled}
    broken = {name: {"state": "failed", "last_error": why} for name, why in gateway.loaded.broken_servers.items()}
    running = {name: _server_row(server) for name, server in gateway.servers.items()}
    order = [*gateway.config.servers, *broken]
    rows = {**disabled, **running, **broken}
    return {
        "version": __version__,
        "config_path": str(gateway.loaded.path),
        "mode": gateway.loaded.mode,
        "reason": gateway.loaded.reason or None,
        "uptime_seconds": round(time.time() - gateway.started_at, 1),
        "servers": {name: rows[name] for name in order if name in rows},
        "sessions": [
            {
                "id": session.id,
                "door": session.door,
                "era": None if session.caller is None else ("modern" if session.caller.modern else "handshake"),
                "client": session.client_name or None,
                "principal": session.principal.name,
                "profile": session.view.profile or None,
                "project": str(session.view.project) if session.view.project else None,
                "catalog": session.view.catalog or gateway.config.catalog.mode,
                "created": round(session.created, 3),
                "last_seen": round(session.last_seen, 3),
            }
            for session in gateway.sessions.values()
        ],
        "stage_failures": dict(gateway.pipeline.failures),
    }


def _server_row(server: Server) -> Result:
    instances = list(server.instances.values())
    best = next((one for one in instances if one.state == "ready"), instances[0] if instances else None)
    manifest = server.manifest
    return {
        "state": best.shown_state if best else "idle",
        "transport": server.settings.kind,
        "era": manifest.version if manifest else None,
        "tools": len(manifest.tools) if manifest else 0,
        "scope": server.scope,
        "connections": sum(1 for one in instances if one.link is not None),
        "in_flight": sum(len(one.in_flight) for one in instances),
        "breaker": "open" if best and best.breaker.is_open else "closed",
        "failures": best.breaker.failures if best else 0,
        "last_error": (best.last_error or None) if best else None,
        "next_attempt_s": round(after, 1) if best and (after := best.retry_after) is not None else None,
    }


class Stats(Input):
    since: str = Field("7d", description="How far back: a number and s, m, h, d or w.")
    by: accounting.GroupBy | None = Field(None, description="Group by server, tool, client, project, strategy or day.")
    session_id: str = Field("", description="One session alone.")
    tool_defs: bool = Field(False, description="What each session's tool definitions cost.")


@operation("gateway.stats", "Count calls, errors, sizes and latencies.", "read", Stats, stats_text)
async def stats(context: Context, given: Stats) -> Result:
    await context.gateway.metrics.flush()
    return await accounting.stats(
        context.state,
        since_seconds(given.since),
        given.by,
        given.session_id or None,
        tool_defs=given.tool_defs,
        latency_window=context.gateway.config.observability.latency_window,
    )


def since_seconds(text: str) -> float:
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
    number, unit = text[:-1], text[-1:]
    if unit not in units or not number.replace(".", "", 1).isdecimal():
        raise UsageError(f"{text!r} is no duration: write a number and s, m, h, d or w, such as 24h")
    return float(number) * units[unit]


class DescribeTool(Input):
    name: str = Field(description="A tool's served name.")


@operation("gateway.describe_tool", "Show a tool's full original definition.", "read", DescribeTool, tool_text)
async def describe_tool(context: Context, given: DescribeTool) -> Result:
    gateway = context.gateway
    own = {definition["name"]: definition for definition in gateway.own.definitions()}
    if given.name in own:
        return {"name": given.name, "server": None, "original_name": given.name, "definition": own[given.name]}
    if context.session is not None:
        view = gateway.view(context.session)
        entry = view.callable.get(given.name)
        if entry is None:
            problem = calls.unknown_tool(view, gateway.own.names, given.name)
            similar = ", ".join((problem.data or {}).get("similar", []))
            raise UsageError(str(problem) + (f" (similar: {similar})" if similar else ""))
    else:
        entry = gateway.catalog.tools.get(given.name)
        if entry is None:
            raise UsageError(f"Unknown tool: {given.name}")
    return {"name": given.name, "server": entry.source.name, "original_name": entry.original,
            "definition": entry.definition}  # fmt: skip
