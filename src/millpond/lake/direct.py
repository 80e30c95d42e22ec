"""Ranges read straight into memory that is there already: no bytes are made, joined or copied on the way.

A general client took two and a half times the processor time for the same ranges (docs/design/008).
"""

from __future__ import annotations

import ssl
import threading
from functools import cache
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection, IncompleteRead
from urllib.parse import urlsplit

from millpond.errors import BadRequest

_CONNECT_SECONDS = 10.0
_READ_SECONDS = 60.0


class DirectReads(threading.local):
    """One connection for each thread and host, used again. No proxies: whoever needs one reads in another way."""

    def __init__(self) -> None:
        self._connections: dict[tuple[str, str], HTTPConnection] = {}

    def read(self, url: str, start: int, end: int, into: memoryview) -> tuple[int, str | None]:
        """Fill `into` with bytes `start` to `end` (not included): 206, or the status and its `Retry-After`.

        BadRequest if the object does not have them. OSError and HTTPException may pass.
        """
        parts = urlsplit(url)
        key = (parts.scheme, parts.netloc)
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        headers = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
        connection = self._connections.pop(key, None)
        answer = _answer_if_open(connection, target, headers) if connection else None
        if connection is None or answer is None:
            connection = _connect(*key)
            answer = _answer(connection, target, headers)
        if not _is_range(answer, start, end):
            connection.close()
            return answer.status, answer.getheader("Retry-After")
        try:
            _fill(answer, into, f"{parts.scheme}://{parts.netloc}{parts.path}")
        except BaseException:
            connection.close()
            raise
        if connection.sock is not None:  # the other side may have asked for its end
            self._connections[key] = connection
        return 206, None

    def close(self) -> None:
        """The connections of this thread; those of others end with them."""
        while self._connections:
            self._connections.popitem()[1].close()


def _connect(scheme: str, host: str) -> HTTPConnection:
    connection = (
        HTTPSConnection(host, timeout=_CONNECT_SECONDS, context=_tls())
        if scheme == "https"
        else HTTPConnection(host, timeout=_CONNECT_SECONDS)
    )
    connection.connect()
    connection.sock.settimeout(_READ_SECONDS)
    return connection


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _answer_if_open(connection: HTTPConnection, target: str, headers: dict[str, str]) -> HTTPResponse | None:
    """None if the other side has closed a connection that was used before, which it may at any time."""
    try:
        return _answer(connection, target, headers)
    except ConnectionError:
        return None


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


def _fill(answer: HTTPResponse, into: memoryview, shown: str) -> None:
    if answer.length is not None and answer.length != len(into):
        raise BadRequest(f"{shown} answered with {answer.length} bytes where {len(into)} were asked for.")
    at = 0
    while at < len(into) and (count := answer.readinto(into[at:])):
        at += count
    if at < len(into):
        raise IncompleteRead(b"", len(into) - at)
    if answer.length is None and answer.read(1):
        raise BadRequest(f"{shown} answered with more bytes than were asked for.")
