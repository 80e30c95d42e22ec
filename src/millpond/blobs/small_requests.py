"""Very many requests with small bodies and answers: each thread keeps a connection, and sends a request in one piece.

A general client spends three quarters of its processor time for such a request on URLs, headers and pools.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage, HTTPResponse
from urllib.parse import urlsplit

from urllib3.connection import HTTPConnection

from millpond.blobs.guarded_connections import Guarded

# Of an answer: an error in XML, or nothing.
_ANSWER_MOST = 1 << 16
_Origin = tuple[str, str]


@dataclass(frozen=True, slots=True)
class SmallAnswer:
    """`body` is what came of it first, if it is long."""

    status: int
    headers: HTTPMessage
    body: bytes


class SmallRequests:
    """Safe for threads."""

    def __init__(self, connections: Guarded) -> None:
        self._connections = connections
        self._mine = threading.local()
        self._lock = threading.Lock()
        self._all: set[HTTPConnection] = set()

    def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> SmallAnswer:
        """Raises HTTPError of urllib3, HTTPException or OSError; then nobody knows whether it arrived."""
        parts = urlsplit(url)
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        lines = [f"{method} {target} HTTP/1.1", f"Host: {parts.netloc}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if any("\r" in line or "\n" in line for line in lines):
            raise HTTPException("a header has a line break")
        request = "\r\n".join([*lines, "", ""]).encode("latin-1") + body
        origin = (parts.scheme, parts.netloc)
        known = self._known().pop(origin, None)
        if known is not None:
            # The other side may have closed it at any time since it was used: that is no fault.
            with suppress(ConnectionError):
                return self._exchanged(known, origin, method, request)
        fresh = self._connections.connected(parts.scheme, parts.hostname or "", parts.port)
        with self._lock:
            self._all.add(fresh)
        return self._exchanged(fresh, origin, method, request)

    def close(self) -> None:
        with self._lock:
            for one in self._all:
                one.close()
            self._all.clear()

    def _known(self) -> dict[_Origin, HTTPConnection]:
        found: dict[_Origin, HTTPConnection] = self._mine.__dict__.setdefault("by_origin", {})
        return found

    def _exchanged(self, connection: HTTPConnection, origin: _Origin, method: str, request: bytes) -> SmallAnswer:
        kept = False
        try:
            connection.sock.sendall(request)
            with closing(HTTPResponse(connection.sock, method=method)) as answer:
                answer.begin()
                data = answer.read(_ANSWER_MOST)
                # Read to its end, or else what is left would be taken for the next answer.
                kept = answer.isclosed() and not answer.will_close
            return SmallAnswer(answer.status, answer.headers, data)
        finally:
            if kept:
                self._known()[origin] = connection
            else:
                connection.close()
                with self._lock:
                    self._all.discard(connection)
