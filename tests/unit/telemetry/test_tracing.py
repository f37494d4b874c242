from __future__ import annotations

import asyncio
import http.server
import logging
import re
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import SpanKind, StatusCode

from remora.config.model import ObservabilityConfig
from remora.telemetry.tracing import NO_SPAN, Tracer, new_trace_id, trace_id_of

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Exported:
    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    def __getitem__(self, name: str) -> ReadableSpan:
        (span,) = [span for span in self.all() if span.name == name]
        return span

    def all(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()


@pytest.fixture
def exported(monkeypatch) -> Exported:
    return install(monkeypatch, 1.0)


def install(monkeypatch: pytest.MonkeyPatch, ratio: float) -> Exported:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(sampler=ParentBased(TraceIdRatioBased(ratio)), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(trace, "get_tracer", lambda name: provider.get_tracer(name))
    return Exported(exporter)


def tracer(**settings: object) -> Tracer:
    return Tracer(ObservabilityConfig.model_validate(settings))


def test_off_it_gives_one_span_that_does_nothing_and_touches_no_meta():
    off, meta = tracer(), {"progressToken": 1}
    with off.span("proxy_call", {"traceparent": PARENT}, tool="log") as span:
        span.set(outcome="timeout")
        span.content(arguments={"a": 1})
    assert span is NO_SPAN
    assert not off.on
    assert off.inject(meta, span) is meta
    assert off.inject(None) is None
    off.close()


def test_off_it_does_not_import_opentelemetry():
    code = (
        "import sys; from remora.telemetry.tracing import Tracer; from remora.config.model import ObservabilityConfig;"
        "Tracer(ObservabilityConfig()).span('x'); assert not any(m.startswith('opentelemetry') for m in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_package_an_endpoint_gives_a_warning_and_no_traces(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with caplog.at_level(logging.WARNING):
        assert not tracer(otlp_endpoint="http://127.0.0.1:1").on
    assert "remora[otel]" in caplog.text


def test_children_belong_to_their_call(exported):
    on = tracer()
    with on.span("proxy_call", {}, server="git", tool="log", client="cli", era="modern", method="tools/call") as call:
        with on.span("proxy_call_upstream", server="git"):
            pass
        call.set(outcome="ok")
    root, child = exported["proxy_call"], exported["proxy_call_upstream"]
    assert root.parent is None
    assert child.parent.span_id == root.context.span_id
    assert (root.kind, child.kind) == (SpanKind.SERVER, SpanKind.CLIENT)
    assert call.trace_id == f"{root.context.trace_id:032x}"
    assert dict(root.attributes) == {
        "remora.server": "git",
        "gen_ai.tool.name": "log",
        "gen_ai.operation.name": "execute_tool",
        "remora.client": "cli",
        "remora.era": "modern",
        "mcp.method.name": "tools/call",
        "remora.outcome": "ok",
    }


async def test_a_span_may_be_handed_to_another_task(exported):
    on = tracer()
    root = on.span("proxy_call", {})

    async def upstream() -> None:
        with on.span("proxy_call_upstream", root):
            await asyncio.sleep(0)

    await asyncio.gather(upstream(), asyncio.create_task(upstream()))
    root.end()
    root.end()
    assert [span.name for span in exported.all()].count("proxy_call") == 1
    assert {span.context.trace_id for span in exported.all()} == {exported["proxy_call"].context.trace_id}


def test_the_callers_trace_goes_on_to_the_upstream_with_our_span(exported):
    on = tracer()
    meta = {"traceparent": PARENT, "tracestate": "v=1", "baggage": "user=ann", "progressToken": 7}
    with on.span("proxy_call", meta):
        with on.span("proxy_call_upstream") as up:
            sent = on.inject(meta, up)
        assert on.inject(meta) != sent
    span = exported["proxy_call_upstream"]
    assert exported["proxy_call"].parent.span_id == 0xB7AD6B7169203331
    assert sent == {
        "traceparent": f"00-0af7651916cd43dd8448eb211c80319c-{span.context.span_id:016x}-01",
        "tracestate": "v=1",
        "baggage": "user=ann",
        "progressToken": 7,
    }


@pytest.mark.parametrize("meta", [{}, {"traceparent": 5}, {"traceparent": "rubbish"}, {"baggage": "=;,"}])
def test_what_cannot_be_continued_begins_anew(exported, meta):
    with tracer().span("outer"), tracer().span("proxy_call", meta):
        pass
    assert exported["proxy_call"].parent is None


def test_a_failure_marks_the_span_and_keeps_its_secrets(exported):
    on = tracer()
    with pytest.raises(RuntimeError), on.span("proxy_call", {}):
        raise RuntimeError("login failed, password=tundra!Maple77")
    with on.span("upstream_connect", server="git") as span:
        span.set(outcome="timeout")
    failed, timed_out = exported["proxy_call"], exported["upstream_connect"]
    assert failed.status.status_code is timed_out.status.status_code is StatusCode.ERROR
    assert failed.attributes["error.type"] == "RuntimeError"
    assert timed_out.attributes["error.type"] == "timeout"
    assert "Maple77" not in failed.to_json()


@pytest.mark.parametrize("capture", [False, True])
def test_content_is_kept_only_when_asked_for_and_redacted(exported, capture):
    with tracer(capture_content=capture).span("proxy_call", {}, tool="log") as span:
        span.content(arguments={"path": "/x", "password": "tundra!Maple77"}, result="y" * 100_000)
    attributes = exported["proxy_call"].attributes
    assert ("gen_ai.tool.call.arguments" in attributes) is capture
    if capture:
        assert "/x" in attributes["gen_ai.tool.call.arguments"]
        assert "Maple77" not in attributes["gen_ai.tool.call.arguments"]
        assert len(attributes["gen_ai.tool.call.result"]) <= 8_192


def test_every_exported_trace_has_its_root_and_all_its_children(monkeypatch):
    exported = install(monkeypatch, 0.5)
    on = tracer()
    for _ in range(200):
        with on.span("proxy_call", {}), on.span("proxy_call_upstream"):
            pass
    traces: dict[int, set[str]] = {}
    for span in exported.all():
        traces.setdefault(span.context.trace_id, set()).add(span.name)
    assert all(names == {"proxy_call", "proxy_call_upstream"} for names in traces.values())
    assert 0 < len(traces) < 200


def test_a_trace_not_sampled_at_its_root_stays_so(exported):
    with tracer().span("proxy_call", {"traceparent": PARENT[:-1] + "0"}):
        pass
    assert exported.all() == ()


def test_content_of_any_kind_never_raises(exported):
    endless: list[object] = []
    endless.append(endless)
    with tracer(capture_content=True).span("proxy_call", {}) as span:
        span.content(arguments=endless, result={"when": object(), "text": "\ud800"})
    assert "no JSON" in exported["proxy_call"].attributes["gen_ai.tool.call.arguments"]


class Collector(http.server.BaseHTTPRequestHandler):
    got: list[tuple[str, str | None, bytes]]
    arrived: threading.Event

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append((self.path, self.headers["X-Api-Key"], body))
        self.send_response(200)
        self.end_headers()
        self.arrived.set()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def collector() -> Iterator[tuple[str, type[Collector]]]:
    handler = type("OneCollector", (Collector,), {"got": [], "arrived": threading.Event()})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", handler
        server.shutdown()
        thread.join()


def test_spans_reach_the_endpoint_when_the_tracer_closes(collector):
    url, got = collector
    on = tracer(otlp_endpoint=url, otlp_headers={"x-api-key": "k"})
    with on.span("proxy_call", {}, tool="log"):
        pass
    on.close()
    assert got.arrived.wait(10)
    path, key, body = got.got[0]
    assert (path, key) == ("/v1/traces", "k")
    assert b"proxy_call" in body
    assert b"remora" in body


def test_a_changed_endpoint_is_taken_up_and_what_began_is_exported(collector):
    url, got = collector
    on = tracer(otlp_endpoint=url)
    with on.span("proxy_call", {}):
        pass
    on.configure(ObservabilityConfig(otlp_endpoint=url, capture_content=True))
    assert on.on
    on.configure(ObservabilityConfig())
    assert not on.on
    assert got.arrived.wait(10)


def test_an_endpoint_that_does_not_answer_stops_nothing(monkeypatch):
    answer = threading.Event()

    def export(*_: object) -> SpanExportResult:
        answer.wait()
        return SpanExportResult.FAILURE

    monkeypatch.setattr(OTLPSpanExporter, "export", export)
    monkeypatch.setattr("remora.telemetry.tracing.CLOSE_SECONDS", 0.01)
    on = tracer(otlp_endpoint="http://127.0.0.1:9/deep/path")
    with on.span("proxy_call", {}) as span:
        assert re.fullmatch("[0-9a-f]{32}", span.trace_id)
    on.close()
    on.close()
    assert not on.on
    answer.set()


def test_trace_ids_without_opentelemetry():
    assert re.fullmatch("[0-9a-f]{32}", new_trace_id())
    assert new_trace_id() != new_trace_id()
    assert trace_id_of({"traceparent": PARENT}) == "0af7651916cd43dd8448eb211c80319c"


@pytest.mark.parametrize(
    "given",
    [None, 5, "", "00-" + "0" * 32 + "-b7ad6b7169203331-01", "00-" + "g" * 32 + "-b7ad6b7169203331-01", "x" * 55],
)
def test_a_traceparent_that_is_none_gives_a_new_id(given):
    assert re.fullmatch("[0-9a-f]{32}", trace_id_of({"traceparent": given}))
    assert re.fullmatch("[0-9a-f]{32}", trace_id_of(None))
