"""One gRPC request on its way through the router, in a thread of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import grpc

from .config import RoutedVersion
from .dispatch import Target
from .grpc_links import GrpcLinks
from .log_rows import LogEntry, LoggedBody, is_sampled
from .proxy import HttpProxy
from .replicas import Replica
from .tokens import TokenClaims
from .wire_names import WireNames, with_names

Metadata = Sequence[tuple[str, str | bytes]]

# Clients without a deadline of their own say so with a time far away.
ANSWER_SECONDS = 120.0
# What the router says itself, or what concerns one connection.
_NOT_FOR_REPLICAS = frozenset({"authorization", "mill-endpoint", "user-agent", "te", "content-type"})
# The nearest status of HTTP, for counts and the log.
_HTTP_STATUS = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.CANCELLED: 499,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
}


class GrpcFailed(Exception):
    """The answer of a replica is an error, or there was none."""

    def __init__(self, code: Any, details: str) -> None:
        super().__init__(details)
        self.code = code
        self.details = details


@dataclass(frozen=True, slots=True)
class Sender:
    """What the metadata of a request say to the router."""

    authorization: str | None
    endpoint: str | None

    @staticmethod
    def of(metadata: Metadata) -> Sender:
        known = {key: value for key, value in metadata if isinstance(value, str)}
        return Sender(known.get("authorization"), known.get("mill-endpoint"))


class GrpcExchange:
    """A request for a model. ServeError while it is made where names or token are wrong."""

    def __init__(
        self,
        proxy: HttpProxy,
        links: GrpcLinks,
        method: str,
        message: bytes,
        names: WireNames,
        metadata: Metadata,
        seconds: float | None,
    ) -> None:
        self._proxy = proxy
        self._links = links
        self._method = method
        self._message = message
        self._names = names
        self._deadline = time.monotonic() + min(seconds or ANSWER_SECONDS, ANSWER_SECONDS)
        sender = Sender.of(metadata)
        self._target = proxy.dispatcher.target(names.model, names.version, sender.endpoint)
        self._claims: TokenClaims | None = proxy.dispatcher.admit(
            self._target, sender.authorization, costs=self._is_inference
        )
        self._metadata = [(key, value) for key, value in metadata if key not in _NOT_FOR_REPLICAS]
        self._id = proxy.ids.next()
        self._began = time.monotonic()
        self.trailing: tuple[tuple[str, str], ...] = (("mill-request-id", self._id),)

    @property
    def _is_inference(self) -> bool:
        return self._method == "ModelInfer"

    def answer(self) -> bytes:
        """The message that the client gets. GrpcFailed or ServeError."""
        replica = self._choose(self._target) or self._hold()
        try:
            return self._ask(replica)
        except GrpcFailed as failed:
            if failed.code is not grpc.StatusCode.UNAVAILABLE:
                raise self._failed(replica, failed) from None
        # No byte of an answer came: it may be sent once more, to another replica of the same version if there is one.
        version = replica.address.serves
        self._proxy.dispatcher.count_retry(self._target, version)
        replica = self._proxy.dispatcher.choose_of(self._target, version, (replica,)) or self._hold()
        try:
            return self._ask(replica)
        except GrpcFailed as failed:
            raise self._failed(replica, failed) from None

    def _choose(self, target: Target) -> Replica | None:
        if self._is_inference:
            return self._proxy.dispatcher.choose(target)
        return self._proxy.dispatcher.choose_of(target, target.ready[0]) if target.ready else None

    def _hold(self) -> Replica:
        waiting = asyncio.run_coroutine_threadsafe(
            self._proxy.holding.wait(self._target, self._choose), self._proxy.loop
        )
        self._target, replica = waiting.result()
        return replica

    def _ask(self, replica: Replica) -> bytes:
        served = replica.address.serves
        try:
            call = self._links.call(replica, self._method)
            if call is None:
                raise GrpcFailed(grpc.StatusCode.UNAVAILABLE, "The replica has no gRPC port.")
            seconds = max(0.0, self._deadline - time.monotonic())
            answer: bytes = call(self._for_replica(served), timeout=seconds, metadata=self._metadata_for(replica))
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                self._proxy.loop.call_soon_threadsafe(self._proxy.health.look, replica)
            raise GrpcFailed(error.code(), error.details() or "") from error
        finally:
            self._proxy.dispatcher.release(self._target, replica)
        answer = self._for_client(answer, served)
        self._finish(served, 200, answer)
        return answer

    def _metadata_for(self, replica: Replica) -> list[tuple[str, str | bytes]]:
        token = replica.address.token
        return [*self._metadata, ("authorization", f"Bearer {token}")] if token else self._metadata

    def _for_replica(self, served: RoutedVersion) -> bytes:
        """Replicas know the model by its own name, and no version of it but the one they have."""
        if self._names.model == served.model and not self._names.version:
            return self._message
        return with_names(self._message, served.model, "")

    def _for_client(self, answer: bytes, served: RoutedVersion) -> bytes:
        """Clients find the name they asked for, and the version as the endpoint counts them."""
        return with_names(answer, self._names.model, str(served.version)) if self._is_inference else answer

    def _failed(self, replica: Replica, failed: GrpcFailed) -> GrpcFailed:
        self._finish(replica.address.serves, _status_of(failed.code), b"")
        return failed

    def _finish(self, served: RoutedVersion, status: int, answer: bytes) -> None:
        self.trailing = (*self.trailing, ("mill-model-version", str(served.version)))
        if not self._is_inference:
            return
        seconds = time.monotonic() - self._began
        self._proxy.dispatcher.count(self._target, served, status, seconds)
        self._log(served, status, seconds, answer)
        self._send_shadow()

    def _send_shadow(self) -> None:
        copy = self._proxy.shadow.copy(self._target, len(self._message))
        if copy is None:
            return
        call = self._links.call(copy.replica, self._method)
        if call is None:
            copy.ended(502)
            return
        message = self._for_replica(copy.replica.address.serves)
        sent = call.future(message, timeout=ANSWER_SECONDS, metadata=self._metadata_for(copy.replica))
        sent.add_done_callback(lambda done: copy.ended(_status_of(done.code())))

    def _log(self, served: RoutedVersion, status: int, seconds: float, answer: bytes) -> None:
        endpoint = self._target.endpoint
        if endpoint.log.level == "none" or not is_sampled(endpoint.log, self._id):
            return
        entry = LogEntry(
            id=self._id,
            time=time.time(),
            endpoint=endpoint.name,
            served=served,
            protocol="grpc",
            status=status,
            seconds=seconds,
            token=self._claims.id if self._claims else None,
            bytes_in=len(self._message),
            bytes_out=len(answer),
        )
        if endpoint.log.level == "full":
            entry.redact = endpoint.log.redact
            entry.request = LoggedBody(self._message, grpc=True)
            entry.response = LoggedBody(answer, grpc=True) if answer else None
        self._proxy.request_log.offer(entry)


def _status_of(code: Any) -> int:
    return 200 if code is grpc.StatusCode.OK else _HTTP_STATUS.get(code, 500)
