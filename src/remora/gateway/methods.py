"""What a client may ask of the gateway, per era. One table each; everything else is unknown."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from remora import __version__
from remora.errors import RpcError, UpstreamError
from remora.gateway import calls, eras
from remora.gateway.connect import INSTANCE_KEY
from remora.gateway.listeners import KINDS, honoured
from remora.gateway.session import LOG_LEVELS, Front, Params
from remora.gateway.wire import jsonrpc
from remora.telemetry.tracing import new_trace_id

if TYPE_CHECKING:
    from remora.gateway.catalog import Source
    from remora.gateway.engine import Gateway
    from remora.gateway.listeners import Listener

Handler = Callable[["Gateway", Front, Params], Awaitable[Params]]
SERVER_INFO = {"name": "remora", "title": "Remora", "version": __version__}


async def handle(gateway: Gateway, front: Front, method: str, params: Params) -> Params:
    """The result of one request; RpcError otherwise."""
    handler = (MODERN if front.caller.modern else HANDSHAKE).get(method)
    if handler is None:
        raise RpcError(jsonrpc.METHOD_NOT_FOUND, f"Method not found: {method}")
    front.session.last_seen = gateway.now()
    return await handler(gateway, front, params)


def _capabilities(gateway: Gateway, front: Front) -> Params:
    made: Params = {
        "tools": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "prompts": {"listChanged": True},
        "completions": {},
        "logging": {},
    }
    for source in gateway.catalog.sources:  # extensions are passed on, so they are announced too
        for key in ("tasks", "extensions", "experimental"):
            if isinstance(found := source.manifest.capabilities.get(key), dict):
                made[key] = {**made.get(key, {}), **found}
    return made


async def _initialize(gateway: Gateway, front: Front, params: Params) -> Params:
    # The session's caller was read from these params by the door.
    return {
        "protocolVersion": front.caller.version,
        "capabilities": _capabilities(gateway, front),
        "serverInfo": SERVER_INFO,
        "instructions": gateway.instructions(front.session),
        "_meta": {INSTANCE_KEY: gateway.instance},
    }


async def _discover(gateway: Gateway, front: Front, params: Params) -> Params:
    body = {
        "supportedVersions": list(eras.MODERN),
        "capabilities": _capabilities(gateway, front),
        "instructions": gateway.instructions(front.session),
    }
    made = _list_stamp(gateway, front, body)
    made["_meta"] = {**made["_meta"], INSTANCE_KEY: gateway.instance}
    return made


async def _ping(gateway: Gateway, front: Front, params: Params) -> Params:
    return {}


# -- lists ---------------------------------------------------------------------------------------------------------


def _lister(key: str, attribute: str) -> Handler:
    async def list_them(gateway: Gateway, front: Front, params: Params) -> Params:
        await gateway.first_lists(front.session)
        view = gateway.view(front.session)
        page, following = _page(getattr(view, attribute), params.get("cursor"), gateway.config.catalog.page_size)
        front.session.listed = True
        if attribute == "tools":
            gateway.note_definitions(front.session, view)
        return _list_stamp(gateway, front, {key: page, **({"nextCursor": following} if following else {})})

    return list_them


def _page(entries: list[Params], cursor: Any, size: int) -> tuple[list[Params], str | None]:
    start = 0
    if cursor is not None:
        starts = {_cursor(at): at for at in range(size, len(entries), size)} if size else {}
        if not isinstance(cursor, str) or cursor not in starts:
            raise RpcError(jsonrpc.INVALID_PARAMS, "cursor is not one of ours")
        start = starts[cursor]
    end = start + size if size else len(entries)
    return entries[start:end], _cursor(end) if end < len(entries) else None


def _cursor(at: int) -> str:
    return base64.urlsafe_b64encode(f"at:{at}".encode()).decode()


def _list_stamp(gateway: Gateway, front: Front, result: Params) -> Params:
    if not front.caller.modern:
        return result
    return {**result, "resultType": "complete", "ttlMs": gateway.config.catalog.ttl_ms, "cacheScope": "private",
            "_meta": {eras.SERVER_KEY: SERVER_INFO}}  # fmt: skip


# -- resources, prompts, completion ----------------------------------------------------------------------------------


def _string(params: Params, key: str, method: str) -> str:
    value = params.get(key)
    if not isinstance(value, str):
        raise RpcError(jsonrpc.INVALID_PARAMS, f"{method}: {key} must be a string")
    return value


async def _read_resource(gateway: Gateway, front: Front, params: Params) -> Params:
    uri = _string(params, "uri", "resources/read")
    entry = gateway.view(front.session).find_resource(uri)
    if entry is None:
        raise _no_resource(uri)
    original = entry.original if uri == entry.served else uri
    result = await _forward(gateway, front, entry.source, "resources/read", {**params, "uri": original})
    return gateway.catalog.rewrite(entry.source.name, result)  # type: ignore[no-any-return]


def _no_resource(uri: str) -> RpcError:
    return RpcError(jsonrpc.INVALID_PARAMS, f"No server, or more than one, serves the resource {uri}", {"uri": uri})


async def _get_prompt(gateway: Gateway, front: Front, params: Params) -> Params:
    name = _string(params, "name", "prompts/get")
    entry = gateway.view(front.session).prompt_entries.get(name)
    if entry is None:
        raise RpcError(jsonrpc.INVALID_PARAMS, f"Unknown prompt: {name}")
    result = await _forward(gateway, front, entry.source, "prompts/get", {**params, "name": entry.original})
    return gateway.catalog.rewrite(entry.source.name, result)  # type: ignore[no-any-return]


async def _complete(gateway: Gateway, front: Front, params: Params) -> Params:
    ref = params.get("ref")
    if not isinstance(ref, dict):
        raise RpcError(jsonrpc.INVALID_PARAMS, "completion/complete: ref must be an object")
    view, found = gateway.view(front.session), None
    if ref.get("type") == "ref/prompt":
        found = view.prompt_entries.get(ref.get("name", ""))
        key = "name"
    else:
        uri = ref.get("uri", "")
        found = next((entry for entry in view.template_entries if entry.served == uri), view.resource_entries.get(uri))
        key = "uri"
    if found is None:
        raise RpcError(jsonrpc.INVALID_PARAMS, f"completion/complete: nothing is known of {ref.get(key)!r}")
    return await _forward(
        gateway, front, found.source, "completion/complete", {**params, "ref": {**ref, key: found.original}}
    )


async def _forward(gateway: Gateway, front: Front, source: Source, method: str, params: Params) -> Params:
    """Like a tool call, but a failure of the gateway is a JSON-RPC error: there is no `isError` to carry it."""
    try:
        return await calls.forward(gateway, front, source, method, params, safe=True)
    except UpstreamError as problem:
        data = calls.failure_data(source.name, method, problem, new_trace_id())
        raise RpcError(jsonrpc.INTERNAL_ERROR, calls.failure_text(source.name, problem), data) from problem


def _task_method(method: str) -> Handler:
    async def pass_on(gateway: Gateway, front: Front, params: Params) -> Params:
        task = params.get("taskId")
        source = gateway.task_source(task, front.session)
        if source is None:
            raise RpcError(jsonrpc.INVALID_PARAMS, f"Unknown task: {task}")
        return await _forward(gateway, front, source, method, params)

    return pass_on


# -- subscriptions and levels ----------------------------------------------------------------------------------------


async def _subscribe(gateway: Gateway, front: Front, params: Params) -> Params:
    uri = _string(params, "uri", "resources/subscribe")
    if not await _watch(gateway, front, gateway.listener_of(front.session), uri):
        raise _no_resource(uri)
    return {}


async def _watch(gateway: Gateway, front: Front, listener: Listener, uri: str) -> bool:
    entry = gateway.view(front.session).find_resource(uri)
    if entry is None:
        return False
    upstream = gateway.servers[entry.source.name].upstream(front.session)
    try:
        await listener.watch(uri, upstream, entry.original if uri == entry.served else uri)
    except UpstreamError as problem:
        raise RpcError(jsonrpc.INTERNAL_ERROR, calls.failure_text(entry.source.name, problem)) from problem
    return True


async def _unsubscribe(gateway: Gateway, front: Front, params: Params) -> Params:
    await gateway.listener_of(front.session).unwatch(_string(params, "uri", "resources/unsubscribe"))
    return {}


async def _listen(gateway: Gateway, front: Front, params: Params) -> Params:
    wanted = honoured(params.get("notifications"))
    meta = {eras.SUBSCRIPTION_KEY: front.request_id}

    def send(method: str, sent: Params) -> None:
        front.notify(method, {**sent, "_meta": {**(sent.get("_meta") or {}), **meta}})

    kinds = frozenset(kind for kind, key in KINDS.items() if wanted.get(key))
    listener = gateway.listeners.add(front.session, send, kinds)
    try:
        send("notifications/subscriptions/acknowledged", {"notifications": wanted})
        for uri in wanted.get("resourceSubscriptions", ()):
            await _watch(gateway, front, listener, uri)
        await listener.ended.wait()
    finally:
        await asyncio.shield(gateway.listeners.remove(listener))
    return {"resultType": "complete", "_meta": meta}


async def _set_level(gateway: Gateway, front: Front, params: Params) -> Params:
    level = params.get("level")
    if level not in LOG_LEVELS:
        raise RpcError(jsonrpc.INVALID_PARAMS, f"logging/setLevel: level must be one of {', '.join(LOG_LEVELS)}")
    front.session.log_level = level
    await gateway.set_level(front.session, level)
    return {}


_BOTH: Mapping[str, Handler] = {
    "tools/list": _lister("tools", "tools"),
    "tools/call": calls.call_tool,
    "resources/list": _lister("resources", "resources"),
    "resources/templates/list": _lister("resourceTemplates", "templates"),
    "resources/read": _read_resource,
    "prompts/list": _lister("prompts", "prompts"),
    "prompts/get": _get_prompt,
    "completion/complete": _complete,
    **{f"tasks/{verb}": _task_method(f"tasks/{verb}") for verb in ("get", "result", "cancel", "update")},
}
HANDSHAKE: Mapping[str, Handler] = {
    **_BOTH,
    "initialize": _initialize,
    "ping": _ping,
    "resources/subscribe": _subscribe,
    "resources/unsubscribe": _unsubscribe,
    "logging/setLevel": _set_level,
}
MODERN: Mapping[str, Handler] = {**_BOTH, "server/discover": _discover, "subscriptions/listen": _listen}
