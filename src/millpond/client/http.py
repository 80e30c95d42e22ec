"""The API over HTTP: one `request`, errors as the server meant them, patience with a server that restarts."""

from __future__ import annotations

# Looking up a host imports it, in whatever thread; a process forked at that moment could never import it again.
import encodings.idna  # noqa: F401
import io
import platform
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from pydantic import BaseModel, ValidationError
from urllib3 import exceptions

from millpond import __version__
from millpond.errors import (
    Forbidden,
    MillError,
    NotFound,
    NotSignedIn,
    ServerUnreachable,
    TooLarge,
    TooMany,
    Unavailable,
    by_code,
)
from millpond.model.address import is_local_host
from millpond.pools import new_pool, words_of
from millpond.wire.base import Page, Problem

Shape = TypeVar("Shape", bound=BaseModel)

API = "/api/v1"
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 60.0
CONNECTIONS = 32
# Connections that rested longer are not used again: whoever is at the other end may be closing them right now.
IDLE_SECONDS = 30.0
# How long a server that has answered before may be away: longer than a restart takes.
PATIENCE_SECONDS = 60.0
# A request that is answered sooner, by whichever try, is no news to anybody.
TOLD_AFTER_SECONDS = 1.0
PAGE_LIMIT = 1000

_IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE"})
# Statuses of a proxy in front of a server that is away, and of a busy server.
_TRANSIENT = frozenset({429, 502, 503, 504})
_BY_STATUS: dict[int, type[MillError]] = {
    401: NotSignedIn,
    403: Forbidden,
    404: NotFound,
    413: TooLarge,
    429: TooMany,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}
_NEVER_SENT = (exceptions.NewConnectionError, exceptions.ConnectTimeoutError)
_LATE = (exceptions.TimeoutError, exceptions.EmptyPoolError)
# What goes wrong on the way, not in what was said.
_ON_THE_WAY = (
    *_NEVER_SENT,
    *_LATE,
    exceptions.ClosedPoolError,
    exceptions.ProtocolError,
    exceptions.ProxyError,
    exceptions.SSLError,
)


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, wholly read. Names of headers are found however they are written."""

    status: int
    reason: str
    url: str
    headers: urllib3.HTTPHeaderDict
    content: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None
    timeout: float


def segment(text: str) -> str:
    """`text` as one part of a path: `/`, `#` and everything else that has a meaning there is escaped."""
    return quote(text, safe="") if text.strip(".") else text.replace(".", "%2E")


class Api:
    """One server, one identity. Safe to use from several threads; close it or use it as a context manager."""

    def __init__(
        self,
        base_url: str,
        token: str | None = None,
        *,
        patience: float = PATIENCE_SECONDS,
        timeout: float = ANSWER_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
        waiting: Callable[[str], None] = lambda why: None,
    ) -> None:
        """`patience` is also had with the lake; `waiting` is told meanwhile who does not answer, and why."""
        self.base_url = base_url.rstrip("/")
        self.token = token
        self.patience = patience
        self.waiting = waiting
        self._timeout = timeout
        self._sleep = sleep
        self._answered = threading.Event()
        self._used_at = time.monotonic()
        self._pool = new_pool(
            _proxy(self.base_url),
            is_secure=urlsplit(self.base_url).scheme == "https",
            timeout=_seconds(timeout),
            connections=CONNECTIONS,
            wait=True,
        )
        self._headers = {
            "User-Agent": f"millpond/{__version__} python/{platform.python_version()} {platform.system()}",
            "Accept": "*/*",
            "Accept-Encoding": "gzip, deflate",
        }

    def close(self) -> None:
        self._pool.clear()

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        body: BaseModel | bytes | None = None,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        idempotent: bool | None = None,
        timeout: float | None = None,
    ) -> Response:
        """Send and return a successful response; raise the MillError the answer stands for otherwise.

        `path` begins after `/api/v1`. A call that may be repeated without harm (`idempotent`; by default every method
        but POST and PATCH) is repeated on transient errors, with growing pauses, for `patience` seconds once this
        server has answered at all; a server that never answered is reported at once.
        """
        request = self._build(method, path, body, params, headers, timeout)
        repeatable = method in _IDEMPOTENT if idempotent is None else idempotent
        deadline: float | None = None
        began = time.monotonic()
        for attempt in range(1_000_000):
            try:
                return self._once(request)
            except MillError as error:
                if not _may_repeat(error, repeatable) or not self._answered.is_set():
                    raise
                now = time.monotonic()
                deadline = deadline or now + self.patience
                pause = min(0.2 * 2**attempt, 5.0) * random.uniform(0.7, 1.3)
                if now + pause > deadline:
                    raise
                if now - began >= TOLD_AFTER_SECONDS:
                    self.waiting(error.message)
                self._sleep(pause)
        raise AssertionError("unreachable")

    def get(self, path: str, shape: type[Shape], /, **params: Any) -> Shape:
        return self._shape(self.request("GET", path, params=params), shape)

    def send(
        self,
        method: str,
        path: str,
        shape: type[Shape],
        body: BaseModel | bytes | None = None,
        /,
        *,
        idempotent: bool | None = None,
        timeout: float | None = None,
        **params: Any,
    ) -> Shape:
        """A changing call whose answer has a shape."""
        response = self.request(method, path, body=body, params=params, idempotent=idempotent, timeout=timeout)
        return self._shape(response, shape)

    def items(self, path: str, shape: type[Shape], /, *, at_most: int | None = None, **params: Any) -> Iterator[Shape]:
        """Everything a list holds (or its first `at_most` items), page after page as it is consumed."""
        limit = PAGE_LIMIT if at_most is None else max(1, min(at_most, PAGE_LIMIT))
        left = at_most
        cursor: str | None = None
        while left is None or left > 0:
            page = self.get(path, Page[shape], **params, limit=limit, cursor=cursor)  # type: ignore[valid-type]
            yield from page.items[:left]
            if page.next is None:
                return
            cursor = page.next
            left = None if left is None else left - len(page.items)

    @contextmanager
    def stream(
        self, path: str, piece_bytes: int, /, *, headers: Mapping[str, str] | None = None, **params: Any
    ) -> Iterator[Iterator[bytes]]:
        """GET a body in pieces of at most `piece_bytes`. Nothing is repeated: the reader decides about that."""
        request = self._build("GET", path, None, params, headers, None)
        with self._understood():
            answer = self._send(request)
            try:
                if not 200 <= answer.status < 300:
                    raise problem_of(_whole(request, answer))
                self._answered.set()
                yield answer.stream(piece_bytes)
            finally:
                # Closing alone would leave the pool one connection short.
                answer.close()
                answer.release_conn()

    def _build(
        self,
        method: str,
        path: str,
        body: BaseModel | bytes | None,
        params: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None,
        timeout: float | None,
    ) -> _Request:
        sent = self._headers | dict(headers or {})
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        content: bytes | None = None
        if isinstance(body, BaseModel):
            sent["Content-Type"] = "application/json"
            content = body.model_dump_json().encode()
        elif body is not None:
            sent.setdefault("Content-Type", "application/octet-stream")
            content = body
        if content is not None:
            sent["Content-Length"] = str(len(content))
        url = f"{self.base_url}{API}{path}{_query(params or {})}"
        return _Request(method, url, sent, content, self._timeout if timeout is None else timeout)

    def _once(self, request: _Request) -> Response:
        with self._understood():
            response = _whole(request, self._send(request))
        if response.status not in _TRANSIENT:
            self._answered.set()
        if response.is_success:
            return response
        raise problem_of(response)

    def _send(self, request: _Request) -> urllib3.BaseHTTPResponse:
        """The beginning of an answer."""
        now = time.monotonic()
        if now - self._used_at > IDLE_SECONDS:
            self._pool.clear()
        self._used_at = now
        return self._pool.request(
            request.method,
            request.url,
            # In pieces: a timeout is one for all that is handed over at once, and a slow line needs longer for 64 MiB.
            body=None if request.content is None else io.BytesIO(request.content),
            headers=request.headers,
            timeout=_seconds(request.timeout),
            pool_timeout=request.timeout,
            preload_content=False,
        )

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """Errors of HTTP become ours."""
        try:
            yield
        except _ON_THE_WAY as error:
            raise self._unreachable(error) from error
        except exceptions.HTTPError as error:
            raise MillError(f"The answer of {self.base_url} cannot be understood: {error}") from error

    def _unreachable(self, error: Exception) -> ServerUnreachable:
        # A connection that was refused at once counts as late in urllib3.
        is_late = isinstance(error, _LATE) and not isinstance(error, exceptions.NewConnectionError)
        reason = "does not answer in time" if is_late else "cannot be reached"
        local = is_local_host(urlsplit(self.base_url).hostname or "")
        proxy = _proxy(self.base_url)
        proxied = f", the proxy {urlsplit(proxy).hostname}" if proxy else ""
        start = (
            "Start it with: mill up   (or name" if local else f"Check the address{proxied} and your network (or name"
        )
        return ServerUnreachable(
            f"The server {self.base_url} {reason}: {words_of(error)}",
            hint=f"{start} another server with --server or MILL_SERVER)",
        )

    def _shape(self, response: Response, shape: type[Shape]) -> Shape:
        try:
            return shape.model_validate_json(response.content)
        except ValidationError as error:
            raise MillError(
                f"{self.base_url} answered something that is not a {shape.__name__}.",
                hint="Is this a Millpond server, and of a version that fits? Compare: mill version",
            ) from error


def problem_of(response: Response) -> MillError:
    """The error a response stands for, with the server's own words where it is a problem document."""
    if response.headers.get("content-type", "").startswith("application/problem+json"):
        try:
            problem = Problem.model_validate_json(response.content)
        except ValidationError:
            return _foreign_error(response)
        error = by_code(problem.code)(problem.detail, hint=problem.hint)
        # Not by keyword: the server may one day send a detail called "hint" or "message".
        error.details = {**problem.details, "request_id": problem.request_id}
        if isinstance(error, NotSignedIn) and not error.hint:
            error.hint = "Sign in with: mill login"
        return error
    return _foreign_error(response)


def _foreign_error(response: Response) -> MillError:
    """An answer that no Millpond server gives: something else listens there, or a proxy stands in between."""
    kind = _BY_STATUS.get(response.status, MillError)
    return kind(
        f"{response.url} answered {response.status} {response.reason}.",
        hint="This does not look like a Millpond server. Check --server, MILL_SERVER and your proxy settings.",
    )


def _may_repeat(error: MillError, repeatable: bool) -> bool:
    """A connection that was never made carried nothing, so anything may be sent again over a new one."""
    cause = error.__cause__
    if isinstance(cause, exceptions.ProxyError):
        cause = cause.original_error
    return error.transient and (repeatable or isinstance(cause, _NEVER_SENT))


def _whole(request: _Request, answer: urllib3.BaseHTTPResponse) -> Response:
    return Response(answer.status, answer.reason or "", request.url, answer.headers, answer.data)


def _seconds(timeout: float) -> urllib3.Timeout:
    return urllib3.Timeout(connect=CONNECT_SECONDS, read=timeout)


def _query(params: Mapping[str, Any]) -> str:
    """`?a=1&b=true`, of what is not None."""
    said = {key: str(value).lower() if isinstance(value, bool) else value for key, value in params.items()}
    text = urlencode({key: value for key, value in said.items() if value is not None}, doseq=True)
    return f"?{text}" if text else ""


def _proxy(base_url: str) -> str | None:
    """The proxy that the environment names for this server; never one for a local address."""
    parts = urlsplit(base_url)
    if is_local_host(parts.hostname or "") or proxy_bypass(parts.netloc):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"
