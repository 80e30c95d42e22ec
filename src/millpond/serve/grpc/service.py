"""The table of calls: names of the protocol, functions of ours, what guards each of them."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable, Iterator
from typing import Any

import grpc
from tritonclient.grpc import service_pb2

from ..core import ModelServer
from ..errors import ServeError
from . import shared_memory
from .describing import Describing, check_version
from .messages import read_request, write_response
from .status import code_of
from .streaming import Streams

log = logging.getLogger(__name__)

SERVICE = "inference.GRPCInferenceService"
# grpc.health.v1: field 1 of the answer is 1 for serving, 2 for not serving.
HEALTH, _SERVING, _NOT_SERVING = "grpc.health.v1.Health", b"\x08\x01", b"\x08\x02"

Call = Callable[[Any, Any], Any]


def handlers(server: ModelServer, token: str | None, most_streams: int) -> list[grpc.GenericRpcHandler]:
    """Everything that is served, for `grpc.Server.add_generic_rpc_handlers`."""
    guard = _Guard(token)
    describing, streams = Describing(server), Streams(server, most_streams)

    def infer(message: Any, _context: Any) -> Any:
        if message.model_version:
            check_version(message.model_version)
        return write_response(server.infer_blocking(read_request(message)))

    def health(_request: bytes, _context: Any) -> bytes:
        return _SERVING if server.is_ready() else _NOT_SERVING

    calls: dict[str, Call] = {
        "ServerLive": describing.server_live,
        "ServerReady": describing.server_ready,
        "ModelReady": describing.model_ready,
        "ServerMetadata": describing.server_metadata,
        "ModelMetadata": describing.model_metadata,
        "ModelInfer": infer,
        "ModelConfig": describing.model_config,
        "ModelStatistics": describing.model_statistics,
        "RepositoryIndex": describing.repository_index,
        "RepositoryModelLoad": describing.load,
        "RepositoryModelUnload": describing.unload,
        "TraceSetting": describing.trace_setting,
        "LogSettings": describing.log_settings,
    }
    for kind in ("System", "Cuda"):
        calls[f"{kind}SharedMemoryStatus"] = shared_memory.status(kind)
        calls[f"{kind}SharedMemoryRegister"] = shared_memory.register(kind)
        calls[f"{kind}SharedMemoryUnregister"] = shared_memory.unregister(kind)
    methods = {name: _unary(name, guard.around(call)) for name, call in calls.items()}
    methods["ModelStreamInfer"] = grpc.stream_stream_rpc_method_handler(
        guard.around_stream(streams.infer),
        request_deserializer=service_pb2.ModelInferRequest.FromString,
        response_serializer=service_pb2.ModelStreamInferResponse.SerializeToString,
    )
    return [
        grpc.method_handlers_generic_handler(SERVICE, methods),
        grpc.method_handlers_generic_handler(
            HEALTH, {"Check": grpc.unary_unary_rpc_method_handler(guard.around(health))}
        ),
    ]


def _unary(name: str, call: Call) -> grpc.RpcMethodHandler:
    return grpc.unary_unary_rpc_method_handler(
        call,
        request_deserializer=getattr(service_pb2, f"{name}Request").FromString,
        response_serializer=getattr(service_pb2, f"{name}Response").SerializeToString,
    )


class _Guard:
    """Checks the token before a call, and tells its errors as the protocol does after it."""

    def __init__(self, token: str | None) -> None:
        self._expected = f"Bearer {token}".encode() if token else None

    def around(self, call: Call) -> Call:
        def guarded(request: Any, context: Any) -> Any:
            try:
                if self._expected is not None:
                    self._check(context)
                return call(request, context)
            except ServeError as error:
                context.abort(code_of(error), error.message)
            except Exception as error:  # A fault of ours: the log has it whole, the client its kind.
                log.exception("a call failed")
                context.abort(grpc.StatusCode.INTERNAL, f"unexpected {type(error).__name__}; see the server's log")

        return guarded

    def around_stream(self, call: Callable[[Iterator[Any], Any], Iterator[Any]]) -> Call:
        def guarded(requests: Iterator[Any], context: Any) -> Iterator[Any]:
            try:
                if self._expected is not None:
                    self._check(context)
                yield from call(requests, context)
            except ServeError as error:
                context.abort(code_of(error), error.message)

        return guarded

    def _check(self, context: Any) -> None:
        assert self._expected is not None
        for key, value in context.invocation_metadata():
            if key == "authorization":
                given = value.encode() if isinstance(value, str) else value
                if hmac.compare_digest(given, self._expected):
                    return
        raise ServeError(
            401, "the token of this server is missing or wrong: send metadata 'authorization: Bearer TOKEN'"
        )
