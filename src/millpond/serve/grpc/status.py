"""Errors as gRPC tells them: the codes that Triton uses for the same."""

from __future__ import annotations

import grpc

from ..errors import ServeError

_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    409: grpc.StatusCode.ALREADY_EXISTS,
    413: grpc.StatusCode.RESOURCE_EXHAUSTED,
    415: grpc.StatusCode.UNIMPLEMENTED,
    # A full queue, a wait that took too long, a server about to end: try again, perhaps elsewhere.
    429: grpc.StatusCode.UNAVAILABLE,
    500: grpc.StatusCode.INTERNAL,
    501: grpc.StatusCode.UNIMPLEMENTED,
    503: grpc.StatusCode.UNAVAILABLE,
    504: grpc.StatusCode.UNAVAILABLE,
}


def code_of(error: ServeError) -> grpc.StatusCode:
    known = _CODES.get(error.status)
    if known is not None:
        return known
    return grpc.StatusCode.INVALID_ARGUMENT if error.status < 500 else grpc.StatusCode.INTERNAL
