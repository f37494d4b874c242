"""Two protocol eras, translated per request: the handshake era (to 2025-11-25) and the modern one (2026-07-28)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remora import __version__
from remora.errors import RpcError
from remora.gateway.session import LOG_LEVELS, Caller
from remora.gateway.wire import jsonrpc

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = ("2026-07-28",)
LATEST_HANDSHAKE, LATEST_MODERN = HANDSHAKE[-1], MODERN[-1]

_NS = "io.modelcontextprotocol/"
VERSION_KEY, CLIENT_KEY, CAPABILITIES_KEY = f"{_NS}protocolVersion", f"{_NS}clientInfo", f"{_NS}clientCapabilities"
LOG_KEY, SERVER_KEY, SUBSCRIPTION_KEY = f"{_NS}logLevel", f"{_NS}serverInfo", f"{_NS}subscriptionId"
_ENVELOPE = frozenset({VERSION_KEY, CLIENT_KEY, CAPABILITIES_KEY, LOG_KEY})
_CACHEABLE = frozenset({"resources/read"})

CLIENT_INFO = {"name": "remora", "version": __version__}
# What a shared connection may ask for: whoever is behind the call at hand answers, or refuses.
CLIENT_CAPABILITIES: dict[str, Any] = {
    "roots": {"listChanged": True},
    "sampling": {"tools": {}, "context": {}},
    "elicitation": {"form": {}, "url": {}},
}
QUESTIONS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}

Params = dict[str, Any]


def has_envelope(params: Mapping[str, Any] | None) -> bool:
    meta = (params or {}).get("_meta")
    return isinstance(meta, dict) and VERSION_KEY in meta


def read_envelope(params: Mapping[str, Any] | None) -> Caller:
    """The caller of a modern request; RpcError when the envelope is incomplete."""
    meta = (params or {}).get("_meta")
    if not isinstance(meta, dict):
        raise RpcError(
            jsonrpc.INVALID_PARAMS, f"params._meta must be an object with {VERSION_KEY} and {CAPABILITIES_KEY}"
        )
    if missing := [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in meta]:
        raise RpcError(jsonrpc.INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}")
    client, capabilities, level = meta.get(CLIENT_KEY), meta[CAPABILITIES_KEY], meta.get(LOG_KEY)
    for key, value, kind in ((CAPABILITIES_KEY, capabilities, dict), (VERSION_KEY, meta[VERSION_KEY], str)):
        if not isinstance(value, kind):
            raise RpcError(
                jsonrpc.INVALID_PARAMS, f"params._meta[{key!r}] must be {'an object' if kind is dict else 'a string'}"
            )
    return Caller(
        modern=True,
        version=meta[VERSION_KEY],
        client=client if isinstance(client, dict) else {},
        capabilities=capabilities,
        log_level=level if level in LOG_LEVELS else None,
    )


def check_version(caller: Caller) -> None:
    if caller.version not in MODERN:
        data = {"supported": list(MODERN), "requested": caller.version}
        raise RpcError(jsonrpc.UNSUPPORTED_VERSION, f"Unsupported protocol version {caller.version!r}", data)


def read_initialize(params: Params) -> Caller:
    requested = params.get("protocolVersion")
    if not isinstance(requested, str):
        raise RpcError(jsonrpc.INVALID_PARAMS, "initialize: protocolVersion must be a string")
    client, capabilities = params.get("clientInfo", {}), params.get("capabilities", {})
    if not isinstance(client, dict) or not isinstance(capabilities, dict):
        raise RpcError(jsonrpc.INVALID_PARAMS, "initialize: clientInfo and capabilities must be objects")
    return Caller(False, requested if requested in HANDSHAKE else LATEST_HANDSHAKE, client, capabilities)


def envelope(caller: Caller | None = None, log_level: str | None = None) -> Params:
    """The three keys (four with a log level) that a modern upstream wants in `_meta`."""
    made: Params = {
        VERSION_KEY: LATEST_MODERN,
        CLIENT_KEY: CLIENT_INFO if caller is None or not caller.client else caller.client,
        CAPABILITIES_KEY: CLIENT_CAPABILITIES if caller is None else caller.capabilities,
    }
    if log_level:
        made[LOG_KEY] = log_level
    return made


def to_upstream(params: Params, modern: bool, caller: Caller, log_level: str | None) -> tuple[Params, Any]:
    """The params as this upstream expects them, and the progress token of the front (our hop has its own)."""
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        return ({**params, "_meta": envelope(caller, log_level)} if modern else params), None
    token = meta.get("progressToken")
    kept = {k: v for k, v in meta.items() if k not in _ENVELOPE and k != "progressToken"}
    if modern:
        kept |= envelope(caller, log_level)
    elif len(kept) == len(meta):
        return params, None
    bare = {k: v for k, v in params.items() if k != "_meta"} if not kept else {**params, "_meta": kept}
    return bare, token if isinstance(token, str | int) and not isinstance(token, bool) else None


def to_front(result: Params, method: str, upstream_modern: bool, caller: Caller) -> Params:
    """The same object where both sides speak the same era."""
    if upstream_modern == caller.modern:
        return result
    if caller.modern:
        extra = {"ttlMs": 0, "cacheScope": "private"} if method in _CACHEABLE else {}
        return jsonrpc.with_members(result, {"resultType": "complete", **extra})
    made = {k: v for k, v in result.items() if k not in ("resultType", "ttlMs", "cacheScope")}
    meta = made.get("_meta")
    if isinstance(meta, dict) and SERVER_KEY in meta:
        made["_meta"] = {k: v for k, v in meta.items() if k != SERVER_KEY}
        if not made["_meta"]:
            del made["_meta"]
    return made


def error_to_front(problem: RpcError, upstream_modern: bool, caller: Caller) -> RpcError:
    if upstream_modern == caller.modern:
        return problem
    if caller.modern and problem.code == jsonrpc.RESOURCE_NOT_FOUND:
        return RpcError(jsonrpc.INVALID_PARAMS, problem.message, problem.data)
    if not caller.modern and jsonrpc.UNSUPPORTED_VERSION <= problem.code <= jsonrpc.HEADER_MISMATCH:
        return RpcError(jsonrpc.INVALID_REQUEST, problem.message, problem.to_wire())
    return problem


def missing_capability(method: str, caller: Caller) -> str | None:
    """The capability a question needs and the client lacks."""
    needed = QUESTIONS.get(method)
    return needed if needed is not None and needed not in caller.capabilities else None
