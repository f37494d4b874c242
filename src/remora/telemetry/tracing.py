"""Spans for OpenTelemetry, and next to nothing while nobody asked for them.

Tracing is on when `otlp_endpoint` is set and the extra `otel` installed, or when the program we are embedded in has
installed a tracer provider. Attribute names follow the OpenTelemetry conventions for MCP and generative AI.
"""

from __future__ import annotations

import json
import logging
import random
import sys
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import SpanKind
    from opentelemetry.trace import Tracer as OtelTracer

    from remora.config.model import ObservabilityConfig

log = logging.getLogger(__name__)

CARRIED = ("traceparent", "tracestate", "baggage")
CONTENT_LIMIT = 8_192
CLOSE_SECONDS = 3.0
NAMES = {
    "method": "mcp.method.name",
    "session": "mcp.session.id",
    "protocol_version": "mcp.protocol.version",
    "resource": "mcp.resource.uri",
    "tool": "gen_ai.tool.name",
    "prompt": "gen_ai.prompt.name",
    "arguments": "gen_ai.tool.call.arguments",
    "result": "gen_ai.tool.call.result",
    "request_id": "jsonrpc.request.id",
    "transport": "network.transport",
    "error_type": "error.type",
}


def new_trace_id() -> str:
    return f"{random.getrandbits(128):032x}"


def trace_id_of(meta: Mapping[str, Any] | None) -> str:
    """The trace the request already belongs to, else a new one; needs no OpenTelemetry."""
    given = meta.get("traceparent") if meta else None
    if isinstance(given, str) and len(given) >= 55 and given[2] == given[35] == "-":
        trace_id = given[3:35]
        if trace_id.isascii() and trace_id.isalnum() and trace_id.strip("0"):
            try:
                return f"{int(trace_id, 16):032x}"
            except ValueError:
                pass
    return new_trace_id()


class Span:
    """One step of a request, `with` its work or until `end()`; this one, of a tracer that is off, does nothing."""

    __slots__ = ()
    trace_id = ""

    def set(self, **attributes: Any) -> None:
        """`outcome` other than `ok` also marks the span as failed."""

    def content(self, **texts: Any) -> None:
        """What was said; kept only with `capture_content`, redacted and cut."""

    def fail(self, error: BaseException) -> None: ...

    def end(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


NO_SPAN = Span()


class Tracer:
    def __init__(self, config: ObservabilityConfig) -> None:
        self._config = config
        self._provider: TracerProvider | None = None
        self._tracer: OtelTracer | None = None
        self._open()

    @property
    def on(self) -> bool:
        return self._tracer is not None

    def span(self, name: str, parent: Span | Mapping[str, Any] | None = None, **attributes: Any) -> Span:
        """Begins now. `parent`: a span, or a request's `_meta` (then this is the root here); None = the current one."""
        if self._tracer is None:
            return NO_SPAN
        return _LiveSpan(self._tracer, name, _context(parent), attributes, self._config.capture_content)

    def inject(self, meta: Mapping[str, Any] | None, span: Span | None = None) -> Mapping[str, Any] | None:
        """`meta` as the upstream is to get it: with our trace context while tracing is on, else untouched."""
        if self._tracer is None:
            return meta
        carrier: dict[str, str] = {}
        context = span.context if isinstance(span, _LiveSpan) else None
        for propagator in _propagators():
            propagator.inject(carrier, context)
        return {key: value for key, value in (meta or {}).items() if key not in CARRIED} | carrier

    def configure(self, config: ObservabilityConfig) -> None:
        """Take another configuration; what has begun is still exported as it began."""
        before = (self._config.otlp_endpoint, self._config.otlp_headers, self._config.sampling_rate)
        self._config = config
        if before != (config.otlp_endpoint, config.otlp_headers, config.sampling_rate):
            self._shut_down()
            self._open()

    def close(self) -> None:
        """Export what is left, but do not wait long for an endpoint that does not answer."""
        if thread := self._shut_down():
            thread.join(CLOSE_SECONDS)

    def _shut_down(self) -> threading.Thread | None:
        provider, self._provider, self._tracer = self._provider, None, None
        if provider is None:
            return None
        thread = threading.Thread(target=provider.shutdown, name="trace-close", daemon=True)
        thread.start()
        return thread

    def _open(self) -> None:
        if self._config.otlp_endpoint:
            try:
                self._provider = _otlp_provider(self._config)
            except ImportError:
                log.warning('no traces: otlp_endpoint is set, but needs the extra "otel" (pip install "remora[otel]")')
                return
            self._tracer = self._provider.get_tracer("remora")
        elif "opentelemetry.trace" in sys.modules:
            from opentelemetry import trace

            if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
                self._tracer = trace.get_tracer("remora")


class _LiveSpan(Span):
    __slots__ = ("_capture", "_ended", "_span", "_token", "context", "trace_id")

    def __init__(
        self, tracer: OtelTracer, name: str, parent: Context | None, attributes: dict[str, Any], capture: bool
    ) -> None:
        from opentelemetry import trace

        if "tool" in attributes:
            attributes["gen_ai.operation.name"] = "execute_tool"
        named = _named(attributes)
        self._span = tracer.start_span(name, parent, _kind(name), named)
        self._capture = capture
        self._token: Any = None
        self._ended = False
        self.context = trace.set_span_in_context(self._span, parent)
        self.trace_id = f"{self._span.get_span_context().trace_id:032x}"

    def set(self, **attributes: Any) -> None:
        from opentelemetry.trace import StatusCode

        self._span.set_attributes(_named(attributes))
        if (outcome := attributes.get("outcome", "ok")) != "ok":
            self._span.set_attribute("error.type", str(attributes.get("error_type", outcome)))
            self._span.set_status(StatusCode.ERROR)

    def content(self, **texts: Any) -> None:
        if not self._capture or not self._span.is_recording():
            return
        for name, text in texts.items():
            self._span.set_attribute(NAMES.get(name, f"remora.{name}"), _shown(_words(text)))

    def fail(self, error: BaseException) -> None:
        from opentelemetry.trace import StatusCode

        self._span.set_attribute("error.type", type(error).__name__)
        self._span.set_status(StatusCode.ERROR, _shown(str(error)))

    def end(self) -> None:
        if not self._ended:
            self._ended = True
            self._span.end()

    def __enter__(self) -> Self:
        from opentelemetry import context

        self._token = context.attach(self.context)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from opentelemetry import context

        context.detach(self._token)
        if error is not None:
            self.fail(error)
        self.end()


def _otlp_provider(config: ObservabilityConfig) -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

    from remora import __version__

    scheme, _, rest = config.otlp_endpoint.partition("://")
    host, _, path = rest.rstrip("/").partition("/")
    exporter = OTLPSpanExporter(f"{scheme}://{host}/{path or 'v1/traces'}", headers=dict(config.otlp_headers))
    provider = TracerProvider(
        # The root decides for its whole trace; a trace that began elsewhere was decided there.
        sampler=ParentBased(TraceIdRatioBased(config.sampling_rate)),
        resource=Resource.create({"service.name": "remora", "service.version": __version__}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _context(parent: Span | Mapping[str, Any] | None) -> Context | None:
    if isinstance(parent, _LiveSpan):
        return parent.context
    if parent is None or isinstance(parent, Span):
        return None
    from opentelemetry.context import Context

    context = Context()
    carrier = {key: value for key in CARRIED if isinstance(value := parent.get(key), str)}
    for propagator in _propagators() if carrier else ():
        context = propagator.extract(carrier, context)
    return context


def _propagators() -> tuple[Any, ...]:
    from opentelemetry.baggage.propagation import W3CBaggagePropagator
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator(), W3CBaggagePropagator()


def _kind(name: str) -> SpanKind:
    from opentelemetry.trace import SpanKind

    kinds = {"proxy_call": SpanKind.SERVER, "proxy_call_upstream": SpanKind.CLIENT}
    return kinds.get(name, SpanKind.INTERNAL)


def _named(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        NAMES.get(name, name if "." in name else f"remora.{name}"): value
        if isinstance(value, (bool, int, float))
        else _shown(str(value))
        for name, value in attributes.items()
        if value is not None
    }


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return f"({type(value).__name__} that is no JSON)"


def _shown(text: str) -> str:
    from remora.privacy.output import redact_text

    return redact_text(text[: CONTENT_LIMIT * 2])[:CONTENT_LIMIT]
