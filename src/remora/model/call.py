"""What is kept of one call: who, what, how it ended, how large, how long. Never what was said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["ok", "is_error", "rpc_error", "unavailable", "timeout", "cancelled", "denied", "internal"]
ErrorCategory = Literal[
    "transport", "timeout", "protocol", "upstream_error", "programming", "internal_error", "lock_timeout"
]
CacheUse = Literal["hit", "miss", "bypass", "off"]
Era = Literal["handshake", "modern"]
Door = Literal["stdio", "http", "in_process", "hooks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One row of `calls`; a field that no stage filled stays None.

    Sizes are UTF-8 bytes of the result's text; tokens left None are estimated from them when the row is written,
    so that the call itself does not pay for it. `error_message` is cut and redacted at the same moment.
    """

    ts: float
    trace_id: str
    server: str
    tool: str
    outcome: Outcome
    ms_total: float
    session: str | None = None
    principal: str | None = None
    client: str | None = None
    project: str | None = None
    door: Door | None = None
    era_front: Era | None = None
    era_up: Era | None = None
    error_category: ErrorCategory | None = None
    error_code: str | int | None = None
    error_message: str | None = None
    cache: CacheUse = "off"
    type: str | None = None
    strategy: str | None = None
    query_source: str | None = None
    handle: str | None = None
    units_total: int | None = None
    units_kept: int | None = None
    in_bytes: int | None = None
    in_tokens: int | None = None
    out_bytes: int | None = None
    out_tokens: int | None = None
    surfaced_tokens: int | None = None
    ms_upstream: float | None = None
    ms_clean: float | None = None
    ms_compress: float | None = None
    ms_surface: float | None = None
    fallback: str | None = None
    index_state: str | None = None
