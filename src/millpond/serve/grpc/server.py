"""Listen for gRPC with a pool of threads, which takes less CPU for a request than gRPC on asyncio."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc

from ..core import ModelServer
from ..grpc_ports import bind
from .service import handlers

log = logging.getLogger(__name__)

# A thread is busy while a model works for its request; beyond these, requests wait for one.
THREADS = 64
STREAMS = 48


class GrpcServer:
    """A listening server. `addresses` are `tcp:host:port` or `unix:/path`, as it was asked to listen."""

    def __init__(self, server: grpc.Server, addresses: tuple[str, ...]) -> None:
        self._server = server
        self.addresses = addresses

    @property
    def address(self) -> str:
        """The first of them."""
        return self.addresses[0]

    def drain(self, seconds: float) -> None:
        """Refuse new calls, let those in flight finish for so long, then end. May be called twice."""
        self._server.stop(seconds).wait()


def serve_grpc(
    server: ModelServer,
    *,
    listen: str,
    also: str | None = None,
    token: str | None = None,
    most_bytes: int = 256 << 20,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    threads: int = THREADS,
    streams: int = STREAMS,
) -> GrpcServer:
    """Begin to serve at `listen`, and `also` there; port 0 is any free one."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="grpc")
    grpc_server = grpc.server(
        pool,
        handlers(server, token, min(streams, threads - 1)),
        options=[
            # A message of this many bytes holds nothing but one tensor and its description.
            ("grpc.max_receive_message_length", most_bytes),
            ("grpc.max_send_message_length", -1),
            # Two servers on one port would each get some of the calls.
            ("grpc.so_reuseport", 0),
        ],
    )
    credentials = _credentials(tls_cert, tls_key)
    addresses = tuple(_listen(grpc_server, one, credentials) for one in (listen, also) if one)
    grpc_server.start()
    log.info("gRPC at %s", " and ".join(addresses))
    return GrpcServer(grpc_server, addresses)


def _listen(server: grpc.Server, address: str, credentials: grpc.ServerCredentials | None) -> str:
    """The address with the port that it got."""
    kind, _, where = address.partition(":")
    bound = bind(server, address if kind == "unix" else where, credentials)
    return address if kind == "unix" else f"tcp:{where.rpartition(':')[0]}:{bound}"


def _credentials(cert: Path | None, key: Path | None) -> grpc.ServerCredentials | None:
    if cert is None:
        return None
    chain = cert.read_bytes()
    return grpc.ssl_server_credentials([(key.read_bytes() if key else chain, chain)])
