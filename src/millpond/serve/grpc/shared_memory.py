"""Shared memory is refused: models and clients are on different machines, or must not trust each other."""

from __future__ import annotations

from typing import Any

from tritonclient.grpc import service_pb2

from ..errors import ServeError


def status(kind: str) -> Any:
    """No region is ever registered, so none is listed, and one that is asked for is not found."""
    response = getattr(service_pb2, f"{kind}SharedMemoryStatusResponse")

    def answer(request: Any, _context: Any) -> Any:
        if request.name:
            raise ServeError(404, f"Unable to find {kind.lower()} shared memory region: '{request.name}'")
        return response()

    return answer


def register(kind: str) -> Any:
    def answer(_request: Any, _context: Any) -> Any:
        raise ServeError(501, f"{kind.lower()} shared memory is not supported: send tensors in the request")

    return answer


def unregister(kind: str) -> Any:
    """There is nothing to do, which is what a client that cleans up wants to hear."""
    response = getattr(service_pb2, f"{kind}SharedMemoryUnregisterResponse")
    return lambda _request, _context: response()
