"""What the router answers itself over gRPC, written in the bytes of the protocol's messages."""

from __future__ import annotations

import grpc

from ..errors import ServeError
from .proxy import HttpProxy, repository_index, server_metadata
from .wire_names import WireError, WireNames, bytes_field, read_names, text_field, true_field

STATUS_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    501: grpc.StatusCode.UNIMPLEMENTED,
    502: grpc.StatusCode.UNAVAILABLE,
    503: grpc.StatusCode.UNAVAILABLE,
    504: grpc.StatusCode.DEADLINE_EXCEEDED,
}


def names_in(message: bytes) -> WireNames:
    """The names in a request. ServeError 400 where it cannot be read."""
    try:
        return read_names(message)
    except WireError as error:
        raise ServeError(400, f"Cannot read the request: {error}") from error


def own_answer(proxy: HttpProxy, method: str, message: bytes, authorization: str | None, endpoint: str | None) -> bytes:
    """The answer to a method that no replica is asked for. ServeError for what the router does not do."""
    if method == "ServerLive":
        return true_field(1)
    if method == "ServerReady":
        return true_field(1) if proxy.dispatcher.config.revision else b""
    if method == "ServerMetadata":
        metadata = server_metadata()
        extensions = b"".join(text_field(3, name) for name in metadata["extensions"])
        return text_field(1, metadata["name"]) + text_field(2, metadata["version"]) + extensions
    if method == "RepositoryIndex":
        return _index(proxy, authorization, endpoint)
    if method == "ModelReady":
        names = names_in(message)
        target = proxy.dispatcher.target(names.model, names.version, endpoint)
        proxy.dispatcher.admit(target, authorization, costs=False)
        return true_field(1) if target.ready else b""
    raise ServeError(400, "Models are not loaded or set here. Change the endpoint: mill endpoint update NAME")


def _index(proxy: HttpProxy, authorization: str | None, endpoint: str | None) -> bytes:
    entries = repository_index(proxy.dispatcher, proxy.open_to(authorization, endpoint))
    return b"".join(
        bytes_field(1, b"".join(text_field(number, text) for number, text in enumerate(entry.values(), start=1)))
        for entry in entries
    )
