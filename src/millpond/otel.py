"""Traces by OpenTelemetry's SDK over OTLP/HTTP; loaded only where an endpoint is configured (`tracing.py`)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from millpond import __version__
from millpond.tracing import COMMAND, HEADER, Value

_KINDS = {"internal": SpanKind.INTERNAL, "server": SpanKind.SERVER, "client": SpanKind.CLIENT}
_NANO = 1_000_000_000
_W3C = TraceContextTextMapPropagator()
# A collector that is away keeps no command from ending.
_TIMEOUT_SECONDS = 3
_TIMEOUTS = ("OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT")


class OtelSpan:
    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def set(self, **attributes: Value) -> None:
        self._span.set_attributes(_dotted(attributes))

    def fail(self, kind: str) -> None:
        self._span.set_attribute("error.type", kind)
        self._span.set_status(Status(StatusCode.ERROR))


class OtelTracer:
    """Sampling, limits, headers and further attributes are those of the standard variables."""

    def __init__(self, service: str, environ: Mapping[str, str]) -> None:
        if service == COMMAND:
            # What comes of a command is its own; that a collector is away is said by servers and agents.
            logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        named = {SERVICE_VERSION: __version__}
        if not environ.get("OTEL_SERVICE_NAME"):
            named[SERVICE_NAME] = service
        self._provider = TracerProvider(resource=Resource.create(named))
        patience = None if any(environ.get(name) for name in _TIMEOUTS) else _TIMEOUT_SECONDS
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=patience)))
        self._tracer = self._provider.get_tracer("millpond", __version__)

    @contextmanager
    def span(self, name: str, kind: str, parent: str | None, attributes: Mapping[str, Value]) -> Iterator[OtelSpan]:
        with self._tracer.start_as_current_span(
            name, _context(parent), _KINDS[kind], _dotted(attributes), record_exception=False,
            set_status_on_exception=False,
        ) as span:  # fmt: skip
            found = OtelSpan(span)
            try:
                yield found
            except Exception as error:
                found.fail(type(error).__name__)
                raise

    def record(self, name: str, begin: float, end: float, parent: str | None, attributes: Mapping[str, Value]) -> None:
        context = _context(parent)
        if not trace.get_current_span(context).get_span_context().is_valid:
            return
        span = self._tracer.start_span(name, context, attributes=_dotted(attributes), start_time=int(begin * _NANO))
        span.end(int(max(begin, end) * _NANO))

    def traceparent(self) -> str | None:
        carrier: dict[str, str] = {}
        _W3C.inject(carrier)
        return carrier.get(HEADER)

    def stop(self) -> None:
        self._provider.shutdown()


def _context(parent: str | None) -> Context | None:
    """That of a header; None: the one that is open here. What is no header of W3C's begins a trace of its own."""
    return _W3C.extract({HEADER: parent}) if parent else None


def _dotted(attributes: Mapping[str, Value]) -> dict[str, Value]:
    return {name.replace("__", "."): value for name, value in attributes.items()}
