"""The HTTP side of the router: what it answers itself, and what goes to replicas."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time
from collections.abc import Awaitable, Coroutine, Sequence
from typing import Any

from ..errors import ServeError
from ..http.message import Request, Response, error_response, json_response
from .config import RoutedVersion
from .dispatch import Dispatcher, Target
from .exchange import Exchange
from .health import Health
from .holding import Holding
from .links import Links
from .log_rows import LogEntry, LoggedBody, is_sampled
from .paths import Asks, Route, read_path
from .request_log import RequestLog
from .shadow import Shadow
from .statistics import gather_statistics

_MOST_PATHS = 4096
_POST = frozenset({Asks.INFER, Asks.INDEX})
EXTENSIONS = ("classification", "model_repository", "statistics", "binary_tensor_data")


class RequestIds:
    """Ids that no other router and no other start of this one gives: a random beginning and a count."""

    def __init__(self) -> None:
        self._beginning = secrets.token_hex(6)
        self._counter = itertools.count()

    def next(self) -> str:
        return f"{self._beginning}{next(self._counter):010x}"


class HttpProxy:
    """The handler of the HTTP port."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        links: Links,
        health: Health,
        holding: Holding,
        ids: RequestIds,
        shadow: Shadow,
        request_log: RequestLog,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.dispatcher = dispatcher
        self.links = links
        self.health = health
        self.holding = holding
        self.ids = ids
        self.shadow = shadow
        self.request_log = request_log
        self._routes: dict[str, Route] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def __call__(self, request: Request) -> Response | Awaitable[Response]:
        try:
            return self._handle(request)
        except ServeError as error:
            response = error_response(error)
            more = [(b"mill-request-id", self.ids.next().encode())]
            if error.status == 401:
                more.append((b"www-authenticate", b"Bearer"))
            response.headers = [*response.headers, *more]
            return response

    def _handle(self, request: Request) -> Response | Awaitable[Response]:
        route = self._routes.get(request.path)
        if route is None:
            route = read_path(request.path)
            if len(self._routes) >= _MOST_PATHS:
                self._routes.clear()
            self._routes[request.path] = route
        asks = route.asks
        if asks is Asks.INFER or asks is Asks.MODEL:
            _check_method(request, asks)
            target = self.dispatcher.target(route.model, route.version, route.endpoint)
            claims = self.dispatcher.admit(target, _authorization(request), costs=asks is Asks.INFER)
            return Exchange(self, request, route, target, claims).begin()
        return self._answer_itself(request, route)

    def _answer_itself(self, request: Request, route: Route) -> Response | Awaitable[Response]:
        asks = route.asks
        if asks is Asks.UNKNOWN:
            raise ServeError(404, "There is nothing at this path. Inference is at /v2/models/ENDPOINT/infer.")
        if asks is Asks.CHANGE:
            raise ServeError(
                400, "Models are not loaded, unloaded or set here. Change the endpoint: mill endpoint update NAME"
            )
        _check_method(request, asks)
        if asks is Asks.LIVE:
            return Response(200)
        if asks is Asks.READY:
            return Response(200 if self.dispatcher.config.revision else 503)
        if asks is Asks.SERVER:
            return json_response(server_metadata())
        if asks is Asks.INDEX:
            return json_response(
                repository_index(self.dispatcher, self.open_to(_authorization(request), route.endpoint))
            )
        if asks is Asks.ALL_STATISTICS:
            return gather_statistics(self.dispatcher, self.links, self.open_to(_authorization(request), route.endpoint))
        target = self.dispatcher.target(route.model, route.version, route.endpoint)
        self.dispatcher.admit(target, _authorization(request), costs=False)
        if asks is Asks.MODEL_READY:
            return Response(200 if target.ready else 400)
        return gather_statistics(self.dispatcher, self.links, [target])

    def open_to(self, authorization: str | None, endpoint: str | None) -> list[Target]:
        """The endpoints (or this one) that whoever sends this may know of."""
        found = []
        for one in self.dispatcher.config.endpoints:
            if endpoint not in (None, one.name):
                continue
            try:
                target = self.dispatcher.target(one.name)
                self.dispatcher.admit(target, authorization, costs=False)
            except ServeError:
                continue
            found.append(target)
        return found

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run in the background, kept from the collector until it is done."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def after(self, exchange: Exchange, response: Response, version: RoutedVersion, seconds: float) -> None:
        """What follows an answer: nothing of it delays or fails the client."""
        endpoint, request = exchange.target.endpoint, exchange.request
        if endpoint.shadow is not None and (copy := self.shadow.copy(exchange.target, len(request.body))):
            link = self.links.to(copy.replica)
            link.upstream.send(link.request("POST", exchange.route.rest, request.headers, request.body), copy)
        if endpoint.log.level != "none" and is_sampled(endpoint.log, exchange.id):
            self.request_log.offer(_log_entry(exchange, response, version, seconds))


def _log_entry(exchange: Exchange, response: Response, version: RoutedVersion, seconds: float) -> LogEntry:
    endpoint, request = exchange.target.endpoint, exchange.request
    entry = LogEntry(
        id=exchange.id,
        time=time.time(),
        endpoint=endpoint.name,
        served=version,
        protocol="http",
        status=response.status,
        seconds=seconds,
        token=exchange.claims.id if exchange.claims else None,
        bytes_in=len(request.body),
        bytes_out=sum(len(part) for part in response.body),
    )
    if endpoint.log.level == "full":
        entry.redact = endpoint.log.redact
        entry.request = _logged_body(request.headers, request.body)
        entry.response = _logged_body(response.headers, b"".join(response.body))
    return entry


def _logged_body(headers: Sequence[tuple[bytes, bytes]], content: bytes) -> LoggedBody:
    found = dict(headers)
    length = found.get(b"inference-header-content-length", b"")
    encoding = found.get(b"content-encoding", b"").decode("latin-1").strip().lower()
    return LoggedBody(content, encoding, int(length) if length.isdigit() else None)


def server_metadata() -> dict[str, Any]:
    """What `GET /v2` answers."""
    return {"name": "millpond", "version": "1", "extensions": list(EXTENSIONS)}


def repository_index(dispatcher: Dispatcher, targets: list[Target]) -> list[dict[str, str]]:
    """The endpoints as models, with a line for each version."""
    return [
        {
            "name": target.endpoint.name,
            "version": str(version.version),
            "state": "READY" if dispatcher.taking(target.endpoint.name, version) else "UNAVAILABLE",
            "reason": "" if dispatcher.taking(target.endpoint.name, version) else "no replica is ready",
        }
        for target in targets
        for version in target.versions
    ]


def _authorization(request: Request) -> str | None:
    value = request.header(b"authorization")
    return None if value is None else value.decode("latin-1")


def _check_method(request: Request, asks: Asks) -> None:
    wanted = ("POST",) if asks in _POST else ("GET", "HEAD")
    if request.method not in wanted:
        raise ServeError(405, f"Expected {wanted[0]} at this path, not {request.method}.")
