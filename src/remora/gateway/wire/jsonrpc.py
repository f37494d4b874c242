"""JSON-RPC messages as plain dicts: encode, decode, error codes.

Nothing is validated beyond the envelope, so members nobody knows survive. Big results remember their own bytes:
a result that nobody changed is sent on behind a new id without being encoded again.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from remora.errors import RpcError

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
CANCELLED = -32800

type_id = str | int
Message = dict[str, Any]

RAW_RESULT_BYTES = 65536
_PREFIX = re.compile(
    rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")\s*,\s*"result"\s*:\s*(?=\{)'
)
_NOT_JSON = re.compile(r'("(?:[^"\\]|\\.)*")|(-?)Infinity|NaN')


class RawResult(dict[str, Any]):
    """A result that knows the bytes it was read from. Stages build new dicts; they never change one in place."""

    __slots__ = ("raw",)
    raw: bytes


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decoder = json.JSONDecoder(parse_constant=_refuse_constant)
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encode(message: Any) -> bytes:
    try:
        return _encoder.encode(message).encode()
    except UnicodeEncodeError:  # a lone surrogate: legal as an escape, not as UTF-8
        return json.dumps(message, separators=(",", ":")).encode()
    except ValueError:  # a number beyond double range (1e400) was read as infinity
        text = json.dumps(message, separators=(",", ":"))
        return _NOT_JSON.sub(lambda m: m[1] or f"{m[2] or ''}1e999", text).encode()


def decode(line: bytes | str) -> Any:
    """Parse one message; ValueError (also for nesting too deep) when it is not JSON."""
    try:
        if len(line) > RAW_RESULT_BYTES and isinstance(line, bytes) and (message := _big_response(line)) is not None:
            return message
        return _decoder.decode(line.decode() if isinstance(line, bytes) else line)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _big_response(line: bytes) -> Message | None:
    """A response whose result remembers its bytes; None if anything follows the result or its line is broken up.

    What stands behind the result would be sent on with it: a second "id" could answer somebody else's request.
    """
    prefix = _PREFIX.match(line)
    rest = line[prefix.end() :].rstrip(b" \t\r\n") if prefix else b""
    if prefix is None or b"\n" in rest or b"\r" in rest:
        return None
    text = rest.decode()
    result, end = _decoder.raw_decode(text)
    if text[end:].lstrip(" \t") != "}":
        return None
    kept = RawResult(result)
    kept.raw = rest[:-1]
    return {"jsonrpc": "2.0", "id": _decoder.decode(prefix[1].decode()), "result": kept}


def with_members(result: Message, extra: Message) -> Message:
    """The result with more members at its end, and still with its own bytes if it has them."""
    extra = {key: value for key, value in extra.items() if key not in result}
    if type(result) is not RawResult or not extra:
        return {**result, **extra} if extra else result
    made = RawResult(result | extra)
    made.raw = b"%b%b%b" % (result.raw.rstrip()[:-1], b"," if result else b"", encode(extra)[1:])
    return made


def response(request_id: Any, result: Any) -> bytes:
    if type(result) is RawResult:
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encode(request_id), result.raw)
    return encode({"jsonrpc": "2.0", "id": request_id, "result": result})


def error(request_id: Any, problem: RpcError) -> bytes:
    return encode({"jsonrpc": "2.0", "id": request_id, "error": problem.to_wire()})


def request(request_id: Any, method: str, params: Any = None) -> bytes:
    return encode(
        {"jsonrpc": "2.0", "id": request_id, "method": method, **({} if params is None else {"params": params})}
    )


def notification(method: str, params: Any = None) -> bytes:
    return encode({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})


def is_id(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def check_request(message: Any) -> Message:
    """The message if it is one request or notification; else RpcError with the code JSON-RPC gives it."""
    if isinstance(message, list):
        raise RpcError(INVALID_REQUEST, "JSON-RPC batches are not part of MCP: send one message a line")
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, 'Not a JSON-RPC 2.0 message: "jsonrpc" must be "2.0"')
    if not isinstance(message.get("method"), str):
        raise RpcError(INVALID_REQUEST, 'Not a request: "method" must be a string')
    if "id" in message and not is_id(message["id"]):
        raise RpcError(INVALID_REQUEST, 'Not a request: "id" must be a string or an integer')
    if not isinstance(message.get("params", {}), dict):
        raise RpcError(INVALID_PARAMS, '"params" must be an object')
    return message


def outcome(message: Message) -> Any:
    """The result of a response; raises its error. What is no proper response ends the call at once."""
    problem = message.get("error")
    if problem is None and isinstance(message.get("result"), dict):
        return message["result"]
    if isinstance(problem, dict) and isinstance(problem.get("code"), int) and not isinstance(problem["code"], bool):
        text = problem.get("message")
        raise RpcError(problem["code"], text if isinstance(text, str) else str(text), problem.get("data"))
    broken = {k: v for k, v in message.items() if k in ("result", "error")}
    raise RpcError(INTERNAL_ERROR, "The server's answer is neither a result object nor an error", broken)
