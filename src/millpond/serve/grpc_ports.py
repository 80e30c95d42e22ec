"""A port for gRPC, of the model server and of the router."""

from __future__ import annotations

import grpc

from .errors import ServeError
from .ports import port_taken


def bind(server: grpc.Server, where: str, credentials: grpc.ServerCredentials | None) -> int:
    """Listen at `host:port` or `unix:/path`; the port. ServeError says who has it: gRPC's own message does not."""
    try:
        bound = server.add_secure_port(where, credentials) if credentials else server.add_insecure_port(where)
    except RuntimeError as error:
        raise _refused(where, str(error)) from error
    if not bound:
        raise _refused(where, "refused")
    return int(bound)


def _refused(where: str, said: str) -> ServeError:
    port = where.rpartition(":")[2]
    taken = port_taken(int(port)) if port.isdecimal() else None
    return ServeError(500, f"cannot listen for gRPC: {taken or f'{where}: {said}'}")
