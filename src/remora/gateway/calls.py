"""A request of a front on its way to a server and back: routing, authorisation, retries, records, errors."""

from __future__ import annotations

import asyncio
import difflib
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from remora.errors import NotSent, RpcError, UpstreamError
from remora.gateway import eras
from remora.gateway.asking import Way, check_askable, collect_input
from remora.gateway.attempts import Stopped
from remora.gateway.catalog import Entry, Source
from remora.gateway.parked import Parked
from remora.gateway.pipeline import Call
from remora.gateway.session import Caller, Front, Params
from remora.gateway.view import LAZY_NAMES, View, takes_context_query
from remora.gateway.wire import jsonrpc
from remora.gateway.wire.link import Exchange
from remora.model.call import CallRecord, Era, ErrorCategory, Outcome
from remora.privacy.output import redact_text
from remora.telemetry.tracing import Span, trace_id_of

if TYPE_CHECKING:
    from remora.gateway.engine import Gateway

log = logging.getLogger(__name__)
QUERY_CHARS = 1000
CONNECTIONS_TRIED = 3
_OUTCOMES: dict[str, Outcome] = {
    "timeout": "timeout",
    "cancelled": "cancelled",
    "denied": "denied",
    "internal": "internal",
}


@dataclass(slots=True)
class Trail:
    """What becomes known of a call while it runs; the record is made of it."""

    server: str
    tool: str
    trace_id: str = ""
    started: float = field(default_factory=time.perf_counter)
    outcome: Outcome = "ok"
    category: ErrorCategory | None = None
    code: str | int | None = None
    message: str | None = None
    ms_upstream: float | None = None
    modern: bool | None = None
    in_bytes: int | None = None
    out_bytes: int | None = None


async def call_tool(gateway: Gateway, front: Front, params: Params) -> Params:
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        raise RpcError(jsonrpc.INVALID_PARAMS, "tools/call: name must be a string")
    if arguments is not None and not isinstance(arguments, dict):
        raise RpcError(jsonrpc.INVALID_PARAMS, "tools/call: arguments must be an object")
    view = gateway.view(front.session)
    if name in LAZY_NAMES and view.lazy:
        return await _lazy(gateway, front, view, name, params)
    if gateway.own.has(name):
        return _finished(await gateway.own.call(name, arguments or {}, front), front.caller)
    entry = await gateway.found(front.session, lambda view: view.callable.get(name))
    if entry is None:
        raise unknown_tool(gateway.view(front.session), gateway.own.names, name)
    return await _call_entry(gateway, front, entry, params)


async def _call_entry(gateway: Gateway, front: Front, entry: Entry, params: Params) -> Params:
    arguments = params.get("arguments")
    query = ""
    if arguments and "_context_query" in arguments and takes_context_query(entry):
        asked = arguments["_context_query"]
        query = asked[:QUERY_CHARS] if isinstance(asked, str) else ""
        arguments = {key: value for key, value in arguments.items() if key != "_context_query"}
        params = {**params, "name": entry.original, "arguments": arguments}
    elif entry.original != entry.served:
        params = {**params, "name": entry.original}
    meta = params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    call = Call(entry, arguments or {}, query, front)
    trail = Trail(entry.source.name, entry.original)
    session, tracer = front.session, gateway.tracer
    with tracer.span(
        "proxy_call", meta, method="tools/call", session=session.key, server=trail.server, tool=trail.tool
    ) as span:
        trail.trace_id = span.trace_id or trace_id_of(meta)
        span.content(arguments=call.arguments)
        try:
            result = await _run(gateway, call, params, trail, span)
            span.content(result=result)
            return result
        finally:
            span.set(
                outcome=trail.outcome, client=str(front.caller.client.get("name", "")), era=_era(front.caller.modern)
            )
            record(gateway, front, trail)


async def _run(gateway: Gateway, call: Call, params: Params, trail: Trail, span: Span) -> Params:
    """The call itself; however it ends, the trail says so."""
    front, entry = call.front, call.entry
    try:
        if front.session.principal.scope == "read" and not entry.reads_only():
            raise Denied(f'"{entry.served}" may change something, and this login may only read')
        with gateway.tracer.span("proxy_call_upstream", span, tool=entry.original) as upstream_span:
            if gateway.tracer.on:
                params = {**params, "_meta": gateway.tracer.inject(params.get("_meta"), upstream_span)}
            result = await forward(gateway, front, entry.source, "tools/call", params, entry.is_safe(), trail, entry)
        return await _finish(gateway, call, result, trail)
    except asyncio.CancelledError:
        trail.outcome = "cancelled"
        raise
    except RpcError as problem:
        trail.outcome, trail.category, trail.code = "rpc_error", "upstream_error", problem.code
        trail.message = problem.message
        raise
    except UpstreamError as problem:
        _note_failure(trail, problem)
        return _finished(failure_result(entry.source.name, entry.served, problem, trail.trace_id), front.caller)
    except Exception as problem:  # transport root: one broken call must not take the session with it
        trail.outcome, trail.category, trail.message = "internal", "internal_error", repr(problem)
        log.exception("call of %s failed inside the gateway", entry.served)
        data = {"trace_id": trail.trace_id}
        raise RpcError(jsonrpc.INTERNAL_ERROR, "internal error; see the log", data) from problem


def _era(modern: bool) -> Era:
    return "modern" if modern else "handshake"


async def _finish(gateway: Gateway, call: Call, result: Params, trail: Trail) -> Params:
    """Through the pipeline, unless the result is not a final one."""
    entry = call.entry
    if result.get("isError") is True:
        trail.outcome, trail.category = "is_error", "upstream_error"
    if result.get("resultType", "complete") != "complete" or "task" in result:
        gateway.tasks.remember(result, entry.source.name, call.front.session.principal.name)
        return result
    if "structuredContent" in result and gateway.view(call.front.session).drops_structured(entry):
        result = {key: value for key, value in result.items() if key != "structuredContent"}
    trail.in_bytes = text_bytes(result)
    if gateway.pipeline.stages and gateway.config.pipeline.enabled:
        result = await gateway.pipeline.run(call, result)
    trail.out_bytes = text_bytes(result)
    return gateway.catalog.rewrite(entry.source.name, result)  # type: ignore[no-any-return]


class Denied(UpstreamError):
    code = "denied"
    retryable = False


async def forward(
    gateway: Gateway,
    front: Front,
    source: Source,
    method: str,
    params: Params,
    safe: bool,
    trail: Trail | None = None,
    entry: Entry | None = None,
) -> Params:
    """One request of a front to the server it is meant for; the result in the front's era."""
    caller = front.caller
    way = Way(front)
    began = time.perf_counter()
    try:
        result, modern = await _reach(gateway, front, source, method, params, safe, way, entry)
        if way.refusal is not None:
            raise way.refusal
        if caller.modern and result.get("resultType") == "input_required":
            check_askable(result, caller)
    except RpcError as problem:
        if way.refusal is not None:
            raise way.refusal from problem
        raise eras.error_to_front(problem, source.manifest.modern, caller) from problem
    finally:
        if trail is not None:
            trail.ms_upstream = (time.perf_counter() - began) * 1000
            trail.modern = source.manifest.modern
    return eras.to_front(result, method, modern, caller)


async def _reach(
    gateway: Gateway,
    front: Front,
    source: Source,
    method: str,
    params: Params,
    safe: bool,
    way: Way,
    entry: Entry | None,
) -> tuple[Params, bool]:
    """The server's result and the era it came in, through whichever connection serves this session now."""
    caller = front.caller
    target = params.get("name") or params.get("uri")
    asks = caller.modern and not source.manifest.modern
    if asks and "requestState" in params:
        return _pair(await gateway.parking.resume(front, source.name, method, target, params))
    level = caller.log_level if caller.modern else front.session.log_level
    exchange = Exchange(way.notify, way.ask, front.close_stream)
    exchange.schema = (
        entry.definition.get("inputSchema") if entry is not None and source.settings.kind == "http" else None
    )
    safe = safe and "inputResponses" not in params  # an answer is given once
    for _ in range(CONNECTIONS_TRIED):
        server = gateway.servers.get(source.name)
        if server is None:
            raise NotSent("the server was removed")
        upstream = await server.upstream_for(front.session, caller)
        work = upstream.call(method, params, caller, level, exchange, safe=safe)
        try:
            if asks and caller.capabilities:
                way.parked = Parked(source.name, method, target, front.session.principal.name, front)
                return _pair(await gateway.parking.run(way.parked, work))
            result, modern = await work
        except Stopped:
            continue  # its configuration changed meanwhile: there is another connection now
        if modern and not caller.modern and result.get("resultType") == "input_required":
            result = await collect_input(front, upstream, method, params, level, exchange, result)
        return result, modern
    raise NotSent("its configuration keeps changing")


def _pair(outcome: Any) -> tuple[Params, bool]:
    """A parked question is ours and speaks the front's era; a result says which era it came in."""
    return outcome if isinstance(outcome, tuple) else (outcome, True)


# -- lazy catalogs -------------------------------------------------------------------------------------------------


async def _lazy(gateway: Gateway, front: Front, view: View, name: str, params: Params) -> Params:
    from remora.gateway import lazy

    arguments = params.get("arguments") or {}
    if name == "find_tools":
        return _finished(lazy.find(view, arguments), front.caller)
    entry = lazy.chosen(view, name, arguments)
    inner = arguments.get("arguments", {})
    if fault := lazy.fault(entry, inner):
        return _finished(lazy.refusal(entry, fault), front.caller)
    return await _call_entry(gateway, front, entry, {**params, "name": entry.served, "arguments": inner})


# -- results and records -------------------------------------------------------------------------------------------


def unknown_tool(view: View, own: list[str], name: str) -> RpcError:
    """The same words for a tool that does not exist and for one that is hidden."""
    similar = difflib.get_close_matches(name, [*own, *view.callable], 3, 0.5)
    return RpcError(jsonrpc.INVALID_PARAMS, f"Unknown tool: {name}", {"similar": similar})


def _finished(result: Params, caller: Caller) -> Params:
    return {**result, "resultType": "complete"} if caller.modern and "resultType" not in result else result


def failure_result(server: str, tool: str, problem: UpstreamError, trace_id: str) -> Params:
    return {
        "content": [{"type": "text", "text": failure_text(server, problem)}],
        "isError": True,
        "_meta": {"remora/error": failure_data(server, tool, problem, trace_id)},
    }


def failure_text(server: str, problem: UpstreamError) -> str:
    what = {"timeout": "did not answer in time", "busy": "is busy", "outcome_unknown": "broke off",
            "result_too_large": "answered too much", "denied": "was not called"}  # fmt: skip
    text = f'remora: server "{server}" {what.get(problem.code, "is unavailable")} ({redact_text(str(problem))})'
    return f"{text}; next attempt in {max(1, round(problem.retry_after))} s" if problem.retry_after else text


def failure_data(server: str, tool: str, problem: UpstreamError, trace_id: str) -> Params:
    code = problem.code if problem.code != "self_reference" else "unavailable"
    after = None if problem.retry_after is None else round(problem.retry_after * 1000)
    return {"code": code, "server": server, "tool": tool, "retryable": problem.retryable, "retry_after_ms": after,
            "trace_id": trace_id}  # fmt: skip


def _note_failure(trail: Trail, problem: UpstreamError) -> None:
    trail.outcome = _OUTCOMES.get(problem.code, "unavailable")
    trail.category = None if problem.code == "denied" else ("timeout" if problem.code == "timeout" else "transport")
    trail.code, trail.message = problem.code, str(problem)


def text_bytes(result: Params) -> int:
    """Bytes of the text an agent reads."""
    content = result.get("content")
    total = 0
    for item in content if isinstance(content, list) else ():
        text = item.get("text") if isinstance(item, dict) else None
        if isinstance(text, str):
            total += len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return total


def record(gateway: Gateway, front: Front, trail: Trail) -> None:
    session = front.session
    gateway.metrics.record_call(
        CallRecord(
            ts=time.time(),
            trace_id=trail.trace_id,
            server=trail.server,
            tool=trail.tool,
            outcome=trail.outcome,
            ms_total=(time.perf_counter() - trail.started) * 1000,
            session=session.key or session.id,
            principal=session.principal.name,
            client=str(front.caller.client.get("name", "")),
            project=str(session.view.project) if session.view.project else None,
            door=session.door,
            era_front=_era(front.caller.modern),
            era_up=None if trail.modern is None else _era(trail.modern),
            error_category=trail.category,
            error_code=trail.code,
            error_message=trail.message,
            in_bytes=trail.in_bytes,
            out_bytes=trail.out_bytes,
            ms_upstream=trail.ms_upstream,
        )
    )
