"""Traces, where the standard variables of OpenTelemetry name an endpoint (`OTEL_EXPORTER_OTLP_ENDPOINT`).

Without one nothing that sends traces is loaded, and every call here is one comparison. Spans carry ids, states and
routes; never a name, a path, a value or the message of an error, which may quote what somebody sent.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

Value = str | int | float | bool
ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
# The service that commands are.
COMMAND = "mill"
# W3C's header, and the variable by which a process passes it on to those that it starts.
HEADER, VARIABLE = "traceparent", "TRACEPARENT"


class Span(Protocol):
    """One piece of work while it goes on."""

    def rename(self, name: str) -> None: ...

    def set(self, **attributes: Value) -> None:
        """Attributes; `__` in a name stands for a dot."""
        ...

    def fail(self, kind: str) -> None:
        """It went wrong: the kind of error, never its message."""
        ...


class Tracer(Protocol):
    def span(
        self, name: str, kind: str, parent: str | None, attributes: Mapping[str, Value]
    ) -> AbstractContextManager[Span]: ...

    def record(
        self, name: str, begin: float, end: float, parent: str | None, attributes: Mapping[str, Value]
    ) -> None: ...

    def traceparent(self) -> str | None: ...

    def stop(self) -> None: ...


class _NoSpan:
    def rename(self, name: str) -> None:
        pass

    def set(self, **attributes: Value) -> None:
        pass

    def fail(self, kind: str) -> None:
        pass


_NOTHING: AbstractContextManager[Span] = nullcontext(_NoSpan())
_tracer: Tracer | None = None


def is_on() -> bool:
    return _tracer is not None


def start(service: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Trace this process from now on if its environment says where to; whether it does."""
    global _tracer
    if not any(environ.get(name) for name in ENDPOINTS) or environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    try:
        from millpond.otel import OtelTracer  # noqa: PLC0415 — an extra of the installation
    except ImportError as error:
        import logging  # noqa: PLC0415 — commands load no more than they need

        words = "traces_not_sent missing=%s hint=\"pip install 'millpond[otel]'\""
        logging.getLogger(__name__).warning(words, error.name)
        return False
    if _tracer is None:
        _tracer = OtelTracer(service, environ)
    return True


def stop() -> None:
    """Send what has not been sent, and trace no more."""
    global _tracer
    tracer, _tracer = _tracer, None
    if tracer is not None:
        tracer.stop()


def span(
    name: str, *, kind: str = "internal", parent: str | None = None, **attributes: Value
) -> AbstractContextManager[Span]:
    """A span around what is done within it, below the one that is open in this context, or below `parent`."""
    return _tracer.span(name, kind, parent, attributes) if _tracer is not None else _NOTHING


def record(name: str, begin: float, end: float, *, parent: str | None = None, **attributes: Value) -> None:
    """A span that is over: moments in seconds since 1970. Nothing without a span that it belongs to."""
    if _tracer is not None:
        _tracer.record(name, begin, end, parent, attributes)


def traceparent() -> str | None:
    """What tells another process to go on with this trace; None: there is none."""
    if _tracer is not None and (found := _tracer.traceparent()):
        return found
    return inherited()


def inherited() -> str | None:
    """The trace in which this process was started."""
    return os.environ.get(VARIABLE)
