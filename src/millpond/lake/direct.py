"""Ranges read straight into memory that is there already: no bytes are made, joined or copied on the way.

A general client took twice the processor time for the same ranges, and as long to import as all else that a process
of a crew needs (docs/design/008).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from urllib.parse import SplitResult, urlsplit

from millpond.blobs.retry import Patience
from millpond.errors import BadRequest
from millpond.lake.tries import Passing, Tries, failure, shown

_CONNECT_SECONDS = 10.0
_READ_SECONDS = 60.0


class RangeReader:
    """Reads ranges over signed URLs, tried again where that helps. Safe for threads; errors as DataPlane's.

    Without proxies: what needs one is read by a DataPlane.
    """

    def __init__(self, patience: Patience | None = None, sleep: Callable[[float], None] = time.sleep) -> None:
        self._tries = Tries(patience, sleep)
        self._connections = _Connections()

    def get_range(self, url: str, start: int, end: int) -> memoryview:
        """Bytes `start` to `end` (not included), exactly."""
        return self.read_range(url, start, end, memoryview(bytearray(end - start)))

    def read_range(self, url: str, start: int, end: int, into: memoryview) -> memoryview:
        """The same, into memory that is there already: whoever reads many ranges holds no more than that."""
        into = into[: end - start]
        self._tries.again(url, lambda url: self._once(url, start, end, into))
        return into

    def close(self) -> None:
        """The connections of this thread; those of others end with them."""
        while self._connections.by_host:
            self._connections.by_host.popitem()[1].close()

    def _once(self, url: str, start: int, end: int, into: memoryview) -> None:
        parts = urlsplit(url)
        try:
            connection, answer = self._asked(
                parts, {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
            )
            try:
                if not _is_range(answer, start, end):
                    raise failure(answer.status, answer.getheader("Retry-After"), url)
                _fill(answer, into, url)
            except BaseException:
                connection.close()
                raise
        except (OSError, HTTPException) as error:
            raise Passing(str(error) or type(error).__name__) from error
        if connection.sock is not None:  # the other side may have asked for its end
            self._connections.by_host[parts.scheme, parts.netloc] = connection

    def _asked(self, parts: SplitResult, headers: dict[str, str]) -> tuple[HTTPConnection, HTTPResponse]:
        """A connection that was used before may have been closed by the other side at any time: that is no fault."""
        path = parts.path or "/"
        target = f"{path}?{parts.query}" if parts.query else path
        known = self._connections.by_host.pop((parts.scheme, parts.netloc), None)
        if known is not None:
            with suppress(ConnectionError):
                return known, _answer(known, target, headers)
        connection = _connect(parts.scheme, parts.netloc)
        return connection, _answer(connection, target, headers)


class _Connections(threading.local):
    """One for each thread and host, used again."""

    def __init__(self) -> None:
        self.by_host: dict[tuple[str, str], HTTPConnection] = {}


def _connect(scheme: str, host: str) -> HTTPConnection:
    connection = HTTPConnection(host, timeout=_CONNECT_SECONDS) if scheme == "http" else _secure(host)
    connection.connect()
    connection.sock.settimeout(_READ_SECONDS)
    return connection


def _secure(host: str) -> HTTPConnection:
    # What knows the certificates is loaded where they are needed: every process of a crew starts with this module.
    from millpond.trust import tls_context  # noqa: PLC0415

    return HTTPSConnection(host, timeout=_CONNECT_SECONDS, context=tls_context())


def _answer(connection: HTTPConnection, target: str, headers: dict[str, str]) -> HTTPResponse:
    try:
        connection.request("GET", target, headers=headers)
        return connection.getresponse()
    except BaseException:
        connection.close()
        raise


def _is_range(answer: HTTPResponse, start: int, end: int) -> bool:
    """206, or 200 if it says that it is that range."""
    came = (answer.getheader("Content-Range") or "").partition("/")[0]
    return answer.status == 206 or (answer.status == 200 and came == f"bytes {start}-{end - 1}")


def _fill(answer: HTTPResponse, into: memoryview, url: str) -> None:
    if answer.length is not None and answer.length != len(into):
        raise BadRequest(f"{shown(url)} answered with {answer.length} bytes where {len(into)} were asked for.")
    at = 0
    while at < len(into) and (count := answer.readinto(into[at:])):
        at += count
    if at < len(into):
        raise IncompleteRead(b"", len(into) - at)
    if answer.length is None and answer.read(1):
        raise BadRequest(f"{shown(url)} answered with more bytes than were asked for.")
