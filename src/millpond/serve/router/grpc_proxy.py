"""The gRPC side of the router: every method of `inference.GRPCInferenceService`, passed on as bytes.

Threads serve it, as they do in replicas. The same dispatcher decides as for HTTP; only requests that have to wait for a
replica go by the event loop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import grpc

from ..errors import ServeError
from ..grpc_ports import bind
from .grpc_answers import STATUS_CODES, names_in, own_answer
from .grpc_exchange import GrpcExchange, GrpcFailed, Metadata, Sender
from .grpc_links import GrpcLinks
from .proxy import HttpProxy
from .replicas import Replica
from .wire_names import bytes_field, text_field

SERVICE = "/inference.GRPCInferenceService/"
# A stream keeps a thread as long as it is open.
_THREADS = 256
_OPTIONS = [
    ("grpc.max_receive_message_length", 256 * 1024 * 1024),
    ("grpc.max_send_message_length", -1),
    ("grpc.so_reuseport", 0),
]
_FORWARDED = frozenset({"ModelInfer", "ModelMetadata", "ModelConfig", "ModelStatistics"})


class GrpcProxy(grpc.GenericRpcHandler):  # type: ignore[misc]
    """The gRPC port, open from the moment it is made."""

    def __init__(self, proxy: HttpProxy, *, listen: str, tls: Path | None = None, tls_key: Path | None = None) -> None:
        self._proxy = proxy
        self._links = GrpcLinks()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="grpc")
        self._server = grpc.server(self._pool, handlers=[self], options=_OPTIONS)
        where = listen.partition(":")[2] if listen.startswith("tcp:") else listen
        port = bind(self._server, where, None if tls is None else _credentials(tls, tls_key or tls))
        self.address = f"tcp:{where.rpartition(':')[0]}:{port}" if listen.startswith("tcp:") else listen
        self._server.start()

    def drain(self, seconds: float) -> None:
        """Take no new requests, let those under way finish. Blocks; called in a thread."""
        self._server.stop(seconds).wait()
        self._links.close()
        self._pool.shutdown(wait=False)

    def forget(self, present: list[Replica]) -> None:
        """Close the channels of replicas that are gone."""
        self._links.forget(present)

    def service(self, handler_call_details: Any) -> Any:
        method: str = handler_call_details.method
        if not method.startswith(SERVICE):
            return None
        name = method.removeprefix(SERVICE)
        if name == "ModelStreamInfer":
            return grpc.stream_stream_rpc_method_handler(self._stream)
        return grpc.unary_unary_rpc_method_handler(lambda message, context: self._unary(name, message, context))

    def _unary(self, method: str, message: bytes, context: Any) -> bytes:
        metadata: Metadata = context.invocation_metadata()
        try:
            if method not in _FORWARDED:
                sender = Sender.of(metadata)
                return own_answer(self._proxy, method, message, sender.authorization, sender.endpoint)
            exchange = self._exchange(method, message, metadata, context.time_remaining())
            try:
                return exchange.answer()
            finally:
                context.set_trailing_metadata(exchange.trailing)
        except GrpcFailed as failed:
            _abort(context, failed.code, failed.details)
        except ServeError as error:
            _abort(context, STATUS_CODES.get(error.status, grpc.StatusCode.INTERNAL), error.message, error.retry_after)

    def _stream(self, messages: Iterator[bytes], context: Any) -> Iterator[bytes]:
        """Each message of a stream is a request of its own: balanced, repeated and counted like any other."""
        metadata: Metadata = context.invocation_metadata()
        for message in messages:
            try:
                answer = self._exchange("ModelInfer", message, metadata, context.time_remaining()).answer()
            except (GrpcFailed, ServeError) as error:
                yield text_field(1, str(error)) + bytes_field(2, text_field(3, _id_of(message)))
            else:
                yield bytes_field(2, answer)

    def _exchange(self, method: str, message: bytes, metadata: Metadata, seconds: float | None) -> GrpcExchange:
        return GrpcExchange(self._proxy, self._links, method, message, names_in(message), metadata, seconds)


def _credentials(certificate: Path, key: Path) -> Any:
    """TLS from files that are read again when they change."""
    lock = threading.Lock()
    seen: dict[str, bytes] = {}

    def read() -> Any | None:
        with lock:
            try:
                found = {"cert": certificate.read_bytes(), "key": key.read_bytes()}
            except OSError:
                found = dict(seen)
            if found == seen:
                return None
            seen.update(found)
            return grpc.ssl_server_certificate_configuration([(found["key"], found["cert"])])

    first = read()
    fetch: Callable[[], Any | None] = read
    return grpc.dynamic_ssl_server_credentials(first, fetch)


def _id_of(message: bytes) -> str:
    try:
        return names_in(message).id
    except ServeError:
        return ""


def _abort(context: Any, code: Any, details: str, retry_after: int | None = None) -> NoReturn:
    if retry_after is not None:
        context.set_trailing_metadata((("retry-after", str(retry_after)),))
    context.abort(code, details)
    raise AssertionError("abort raises")
