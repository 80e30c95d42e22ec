"""One request and its answer over connections that are kept: timeouts, proxies, and errors of HTTP as our own."""

from __future__ import annotations

# Looking up a host imports it, in whatever thread; a process forked at that moment could never import it again.
import encodings.idna  # noqa: F401
import io
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

import urllib3
from urllib3 import exceptions

from millpond.errors import MillError, ServerUnreachable
from millpond.model.address import is_local_host
from millpond.pools import new_pool, words_of
from millpond.proxy import proxy_for
from millpond.trust import CA_FILE

CONNECT_SECONDS = 5.0
CONNECTIONS = 32
# Connections that rested longer are not used again: whoever is at the other end may be closing them right now.
IDLE_SECONDS = 30.0

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


class Request(NamedTuple):
    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None
    timeout: float


class Streamed(NamedTuple):
    """An answer whose body comes piece by piece."""

    headers: urllib3.HTTPHeaderDict
    pieces: Iterator[bytes]


class Response(NamedTuple):
    """An answer, wholly read. Names of headers are found however they are written."""

    status: int
    reason: str
    url: str
    headers: urllib3.HTTPHeaderDict
    content: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Transport:
    """The connections to one server. Safe to use from several threads."""

    def __init__(self, base_url: str, timeout: float) -> None:
        self._base_url = base_url
        self._used_at = time.monotonic()
        self._pool = new_pool(
            proxy_for(base_url),
            is_secure=urlsplit(base_url).scheme == "https",
            timeout=_seconds(timeout),
            connections=CONNECTIONS,
            wait=True,
        )

    def close(self) -> None:
        self._pool.clear()

    def exchange(self, request: Request) -> Response:
        """ServerUnreachable for what goes wrong on the way."""
        with self._understood():
            return _whole(request, self._send(request))

    @contextmanager
    def streamed(self, request: Request, piece_bytes: int) -> Iterator[Response | Streamed]:
        """The body of an answer in pieces of at most `piece_bytes`; whole, where it is no success."""
        with self._understood():
            answer = self._send(request)
            try:
                is_success = 200 <= answer.status < 300
                yield Streamed(answer.headers, _pieces(answer, piece_bytes)) if is_success else _whole(request, answer)
            finally:
                # Closing alone would leave the pool one connection short.
                answer.close()
                answer.release_conn()

    def _send(self, request: Request) -> urllib3.BaseHTTPResponse:
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
            raise MillError(f"Cannot understand the answer of {self._base_url}: {error}") from error

    def _unreachable(self, error: Exception) -> ServerUnreachable:
        # A connection that was refused at once counts as late in urllib3.
        is_late = isinstance(error, _LATE) and not isinstance(error, exceptions.NewConnectionError)
        reason = "does not answer in time" if is_late else "cannot be reached"
        local = is_local_host(urlsplit(self._base_url).hostname or "")
        proxy = proxy_for(self._base_url)
        if isinstance(error, exceptions.SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(error):
            return ServerUnreachable(
                f"The certificate of {self._base_url} is not trusted: {words_of(error)}",
                hint=f"Name a file with its authority's certificate: export {CA_FILE}=FILE",
                server=self._base_url,
            )
        proxied = f", the proxy {urlsplit(proxy).hostname}" if proxy else ""
        return ServerUnreachable(
            f"The server {self._base_url} {reason}: {words_of(error)}",
            hint="Start it: mill up." if local else f"Check the address{proxied} and your network.",
            server=self._base_url,
        )


def was_never_sent(error: MillError) -> bool:
    """Whether it is about a connection that was never made: that carried nothing."""
    cause = error.__cause__
    if isinstance(cause, exceptions.ProxyError):
        cause = cause.original_error
    return isinstance(cause, _NEVER_SENT)


def _whole(request: Request, answer: urllib3.BaseHTTPResponse) -> Response:
    return Response(answer.status, answer.reason or "", request.url, answer.headers, answer.data)


def _pieces(answer: urllib3.BaseHTTPResponse, most: int) -> Iterator[bytes]:
    """The body as it comes: when it breaks off, what has arrived is not lost for want of a whole piece."""
    if "Content-Length" not in answer.headers or "Content-Encoding" in answer.headers:
        yield from answer.stream(most)
        return
    while piece := answer.read1(most):
        yield piece


def _seconds(timeout: float) -> urllib3.Timeout:
    return urllib3.Timeout(connect=CONNECT_SECONDS, read=timeout)
