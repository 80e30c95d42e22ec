"""Every case of the suite, in the order in which they run: those that change a server put it back."""

from __future__ import annotations

from tests.conformance.cases import (
    grpc_calls,
    grpc_infer,
    grpc_stream,
    http_client,
    http_control,
    http_describe,
    http_errors,
    http_infer,
    http_types,
    queueing,
    shared,
)
from tests.conformance.registry import Case, cases_of

MODULES = (
    http_describe,
    http_infer,
    http_types,
    http_errors,
    http_client,
    grpc_calls,
    grpc_infer,
    grpc_stream,
    shared,
    http_control,
    queueing,
)


def all_cases() -> list[Case]:
    return [case for module in MODULES for case in cases_of(module)]
