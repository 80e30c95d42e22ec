"""One request on its way through the router: to a replica, to another if that one dies, and back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ..errors import ServeError
from ..http.message import Request, Response, error_response
from .config import RoutedVersion
from .dispatch import Target
from .links import headers_for_client, name_as_asked
from .paths import Asks, Route
from .replicas import Replica
from .tokens import TokenClaims
from .upstream import ReplicaLost, ReplicaSlow, UpstreamAnswer

if TYPE_CHECKING:
    from .proxy import HttpProxy

# A request that no replica has got may be tried again freely; this is for configurations whose addresses are all wrong.
_MOST_UNSENT = 8


class Exchange:
    """A request and what became of it. `future` has the answer for the client."""

    __slots__ = (
        *("began", "claims", "future", "id", "is_inference", "replica", "request", "route", "target"),
        *("_proxy", "_sent", "_tried", "_unsent"),
    )

    def __init__(
        self, proxy: HttpProxy, request: Request, route: Route, target: Target, claims: TokenClaims | None
    ) -> None:
        self._proxy = proxy
        self.request = request
        self.route = route
        self.is_inference = route.asks is Asks.INFER
        self.target = target
        self.claims = claims
        self.id = proxy.ids.next()
        self.began = proxy.loop.time()
        self.future: asyncio.Future[Response] = proxy.loop.create_future()
        self.replica: Replica | None = None
        self._tried: tuple[Replica, ...] = ()
        self._sent = 0
        self._unsent = 0

    def begin(self) -> asyncio.Future[Response]:
        replica = self._choose(self.target)
        if replica is None:
            self._proxy.spawn(self._hold())
        else:
            self._send(replica)
        return self.future

    def answered(self, answer: UpstreamAnswer) -> None:
        replica, self.replica = self.replica, None
        assert replica is not None
        version = replica.address.serves
        if self.is_inference and self.route.model != version.model:
            name_as_asked(answer, version.model, self.route.model)
        headers = headers_for_client(answer.headers)
        headers.append((b"mill-model-version", b"%d" % version.version))
        headers.append((b"mill-request-id", self.id.encode()))
        response = Response(answer.status, answer.body, headers)
        if not self.is_inference:
            self._proxy.dispatcher.release(self.target, replica)
            self._answer(response)
            return
        seconds = self._proxy.loop.time() - self.began
        self._proxy.dispatcher.finish(self.target, replica, answer.status, seconds)
        self._answer(response)
        self._proxy.after(self, response, version, seconds)

    def failed(self, error: Exception) -> None:
        replica = self._release()
        if not isinstance(error, ReplicaLost):
            status = 504 if isinstance(error, ReplicaSlow) else 502
            self._finish_without_answer(ServeError(status, f"The replica failed: {error}"), replica.address.serves)
            return
        self._proxy.health.suspect(replica)
        self._tried = (*self._tried, replica)
        if error.sent:
            self._sent += 1
        else:
            self._unsent += 1
        if self._sent > 1 or self._unsent > _MOST_UNSENT:
            self._finish_without_answer(ServeError(502, f"Replicas failed: {error}"), replica.address.serves)
        elif not self.future.cancelled():
            self._again(replica.address.serves)

    def _again(self, version: RoutedVersion) -> None:
        """Send it once more, to another replica of the same version if there is one."""
        dispatcher = self._proxy.dispatcher
        dispatcher.count_retry(self.target, version)
        replica = dispatcher.choose_of(self.target, version, self._tried)
        if replica is not None:
            self._send(replica)
        else:
            self._proxy.spawn(self._hold())

    def _choose(self, target: Target) -> Replica | None:
        dispatcher = self._proxy.dispatcher
        if self.is_inference:
            return dispatcher.choose(target, self._tried)
        # Questions about a model take nobody's turn.
        return dispatcher.choose_of(target, target.ready[0], self._tried) if target.ready else None

    async def _hold(self) -> None:
        try:
            self.target, replica = await self._proxy.holding.wait(self.target, self._choose)
        except ServeError as error:
            self._answer(self._error_response(error))
            return
        if self.future.cancelled():
            self._proxy.dispatcher.release(self.target, replica)
            return
        self._send(replica)

    def _send(self, replica: Replica) -> None:
        self.replica = replica
        link = self._proxy.links.to(replica)
        request = self.request
        method = "GET" if request.method == "HEAD" else request.method
        link.upstream.send(link.request(method, self.route.rest, request.headers, request.body), self)

    def _release(self) -> Replica:
        replica, self.replica = self.replica, None
        assert replica is not None
        self._proxy.dispatcher.release(self.target, replica)
        return replica

    def _finish_without_answer(self, error: ServeError, version: RoutedVersion) -> None:
        """No replica has answered: tell so, and count it against the version that was to."""
        seconds = self._proxy.loop.time() - self.began
        response = self._error_response(error)
        response.headers = [*response.headers, (b"mill-model-version", b"%d" % version.version)]
        if self.is_inference:
            self._proxy.dispatcher.count(self.target, version, response.status, seconds)
        self._answer(response)
        if self.is_inference:
            self._proxy.after(self, response, version, seconds)

    def _error_response(self, error: ServeError) -> Response:
        response = error_response(error)
        response.headers = [*response.headers, (b"mill-request-id", self.id.encode())]
        return response

    def _answer(self, response: Response) -> None:
        if not self.future.done():
            self.future.set_result(response)
