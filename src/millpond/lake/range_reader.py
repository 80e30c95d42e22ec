"""Ranges read straight into memory that is there already: no bytes are made, joined or copied on the way.

A general client took twice the processor time for the same ranges, and as long to import as all else that a process
of a crew needs (docs/design/008).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from millpond.errors import BadRequest
from millpond.lake.store_retry import Passing, Tries, failure, shown, wrong_length
from millpond.retry import RetryPolicy


class Timeouts(NamedTuple):
    """Seconds until connected, and for each piece that is sent; and for the next bytes of the answer."""

    connect: float = 10.0
    read: float = 60.0


_TIMEOUTS = Timeouts()


# Told how many bytes have come; less than zero for bytes that do not count after all.
Came = Callable[[int], None]
# Read at a time: so much comes over a slow line before anybody hears of it.
_STEP = 1 << 18


class RangeReader:
    """Reads ranges over signed URLs, tried again where that helps. Safe for threads; errors as DataPlane's.

    Without proxies: what needs one is read by a DataPlane.
    """

    def __init__(
        self,
        policy: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
        timeouts: Timeouts = _TIMEOUTS,
    ) -> None:
        self._tries = Tries(policy, sleep)
        self._connections = _Connections(timeouts)

    def get_range(self, url: str, start: int, end: int) -> memoryview:
        """Bytes `start` to `end` (not included), exactly."""
        return self.read_range(url, start, end, memoryview(bytearray(end - start)))

    def read_range(self, url: str, start: int, end: int, into: memoryview) -> memoryview:
        """The same, into memory that is there already."""
        [data] = self.read_ranges(url, [(start, end)], into)
        return data

    def read_ranges(
        self, url: str, ranges: Sequence[tuple[int, int]], into: memoryview, came: Came = lambda size: None
    ) -> Generator[memoryview, None, None]:
        """Ranges of one object in their order, into the same memory: each is valid until the next is asked for.

        They come with one request, so near each other they cost no more than one long range; if it breaks off, what
        is left is asked for again. To be closed unless it is read to its end. `came` is told of bytes as they come.
        """
        reading = _Reading(self._connections, max(end for _, end in ranges), came)
        try:
            for start, end in ranges:
                data = into[: end - start]
                self._tries.again(url, partial(reading.read, start, data))
                yield data
        finally:
            reading.close()

    def try_get(self, url: str) -> bytes | None:
        """One try at a whole object; None if it came encoded, which takes a general client.

        Passing if it may succeed when it is tried again.
        """
        try:
            connection, answer = self._connections.ask(urlsplit(url), {"Accept-Encoding": "identity"})
            try:
                data = answer.read()
            except BaseException:
                connection.close()
                raise
        except (OSError, HTTPException) as error:
            raise Passing(
                (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
            ) from error
        if connection.sock is not None:
            self._connections.keep(url, connection)
        if answer.status != 200:
            raise failure(answer.status, answer.getheader("Retry-After"), url)
        return data if answer.getheader("Content-Encoding") is None else None

    def close(self) -> None:
        """The connections of this thread; those of others end with them."""
        while self._connections.by_host:
            self._connections.by_host.popitem()[1].close()


class _Reading:
    """What is left of one answer, which holds the bytes of an object up to `last`; asked for when it is needed."""

    def __init__(self, connections: _Connections, last: int, came: Came) -> None:
        self._connections = connections
        self._last = last
        self._came = came
        self._open: tuple[HTTPConnection, HTTPResponse] | None = None
        self._at = 0

    def read(self, start: int, into: memoryview, url: str) -> None:
        """Fill `into` with what begins at `start`. Passing if that may succeed when it is tried again."""
        try:
            answer = self._answer_at(start, url)
            _fill(answer, into, self._came)
            self._at = start + len(into)
            if self._at == self._last:
                self._end(answer, url)
        except (OSError, HTTPException) as error:
            self.close()
            raise Passing(str(error) or type(error).__name__) from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """A connection with something left in it is of no use any more."""
        if self._open is not None:
            self._open[0].close()
            self._open = None

    def _answer_at(self, start: int, url: str) -> HTTPResponse:
        """The answer that is open, if it leads there; what lies between is read in vain."""
        if self._open is not None and start >= self._at:
            answer = self._open[1]
            if start > self._at:
                _fill(answer, memoryview(bytearray(start - self._at)))
            return answer
        self.close()
        self._open = self._connections.ask(
            urlsplit(url), {"Range": f"bytes={start}-{self._last - 1}", "Accept-Encoding": "identity"}
        )
        answer = self._open[1]
        if not _is_range(answer, start, self._last):
            raise failure(answer.status, answer.getheader("Retry-After"), url)
        if answer.length is not None and answer.length != self._last - start:
            told = answer.getheader("Content-Range")
            raise wrong_length(url, answer.length, self._last - start, self._last, told)
        return answer

    def _end(self, answer: HTTPResponse, url: str) -> None:
        """Nothing may follow. Then the connection is there for others, unless the other side asked for its end."""
        if answer.length is None and answer.read(1):
            raise BadRequest(f"{shown(url)} returned more bytes than requested.")
        if self._open is not None and self._open[0].sock is not None:
            self._connections.keep(url, self._open[0])
        self._open = None


class _Connections(threading.local):
    """One for each thread and host, used again."""

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self.by_host: dict[tuple[str, str], HTTPConnection] = {}

    def ask(self, parts: SplitResult, headers: dict[str, str]) -> tuple[HTTPConnection, HTTPResponse]:
        """A connection that was used before may have been closed by the other side at any time: that is no fault."""
        path = parts.path or "/"
        target = f"{path}?{parts.query}" if parts.query else path
        known = self.by_host.pop((parts.scheme, parts.netloc), None)
        if known is not None:
            with suppress(ConnectionError):
                return known, _answer(known, target, headers)
        connection = _connect(parts.scheme, parts.netloc, self._timeouts)
        return connection, _answer(connection, target, headers)

    def keep(self, url: str, connection: HTTPConnection) -> None:
        parts = urlsplit(url)
        other = self.by_host.pop((parts.scheme, parts.netloc), None)
        if other is not None:
            other.close()
        self.by_host[parts.scheme, parts.netloc] = connection


def _connect(scheme: str, host: str, timeouts: Timeouts) -> HTTPConnection:
    plain = scheme == "http"
    connection = HTTPConnection(host, timeout=timeouts.connect) if plain else _secure(host, timeouts.connect)
    connection.connect()
    connection.sock.settimeout(timeouts.read)
    return connection


def _secure(host: str, seconds: float) -> HTTPConnection:
    # What knows the certificates is loaded where they are needed: every process of a crew starts with this module.
    from millpond.trust import tls_context  # noqa: PLC0415

    return HTTPSConnection(host, timeout=seconds, context=tls_context())


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


def _fill(answer: HTTPResponse, into: memoryview, came: Came = lambda size: None) -> None:
    """`came` is told of what has come so far; if that is not all, that it does not count."""
    at = 0
    try:
        while at < len(into) and (count := answer.readinto(into[at : at + _STEP])):
            at += count
            came(count)
        if at < len(into):
            raise IncompleteRead(b"", len(into) - at)
    except BaseException:
        came(-at)
        raise
