"""Failures of the gateway's own making, as a client sees them."""

from __future__ import annotations

from remora.errors import UpstreamError
from remora.gateway.session import Params
from remora.privacy.output import redact_text


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
    return f"{text}; next attempt in {problem.retry_after:.0f} s" if problem.retry_after else text


def failure_data(server: str, tool: str, problem: UpstreamError, trace_id: str) -> Params:
    code = problem.code if problem.code != "self_reference" else "unavailable"
    after = None if problem.retry_after is None else round(problem.retry_after * 1000)
    return {"code": code, "server": server, "tool": tool, "retryable": problem.retryable, "retry_after_ms": after,
            "trace_id": trace_id}  # fmt: skip
