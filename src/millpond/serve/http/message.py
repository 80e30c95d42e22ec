"""A request as it came and a response as it goes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus

from ..errors import ServeError

Headers = list[tuple[bytes, bytes]]
Buffer = bytes | bytearray | memoryview


class Request:
    """One request, read whole. Names of headers are lower case; `path` is as sent, without the query."""

    __slots__ = ("body", "headers", "keep_alive", "method", "path", "query", "received")

    def __init__(self, method: bytes, target: bytes, headers: Headers, body: bytes = b"", keep_alive: bool = True):
        path, _, query = target.partition(b"?")
        self.method = method.decode("ascii")
        self.path = path.decode("latin-1")
        self.query = query.decode("latin-1")
        self.headers = headers
        self.body = body
        self.keep_alive = keep_alive
        # Bytes of the body as it came.
        self.received = 0

    def header(self, name: bytes) -> bytes | None:
        """The first header of this lower-case name."""
        for found, value in self.headers:
            if found == name:
                return value
        return None


class Response:
    """Status, headers without Content-Length, and a body in one or several parts, sent without joining them."""

    __slots__ = ("body", "close", "headers", "status")

    def __init__(
        self,
        status: int = 200,
        body: Buffer | Sequence[Buffer] = b"",
        headers: Sequence[tuple[bytes, bytes]] = (),
        *,
        close: bool = False,
    ):
        self.status = status
        self.body: Sequence[Buffer] = body if isinstance(body, list | tuple) else (body,)
        self.headers = headers
        # True if the connection must not be used again.
        self.close = close


Handler = Callable[[Request], Response | Awaitable[Response]]

JSON = ((b"content-type", b"application/json"),)
_STATUS_LINES = {
    status: f"HTTP/1.1 {status} {phrase}\r\n".encode()
    for status, phrase in ((int(each), each.phrase) for each in HTTPStatus)
}
# Responses of these never have a body, nor a length.
_BODILESS = frozenset({204, 304})


def json_response(value: object, status: int = 200) -> Response:
    return Response(status, json.dumps(value, separators=(",", ":")).encode(), JSON)


def error_response(error: ServeError, *, close: bool = False) -> Response:
    """The error as every server of this protocol tells it: `{"error": message}`."""
    headers = list(JSON)
    if error.retry_after is not None:
        headers.append((b"retry-after", str(error.retry_after).encode()))
    body = json.dumps({"error": error.message}, separators=(",", ":")).encode()
    return Response(error.status, body, headers, close=close)


def encode_response(response: Response, *, head_only: bool, close: bool) -> list[Buffer]:
    """The parts to write. Small answers are one part: one packet, one call."""
    length = sum(len(part) for part in response.body)
    lines = [_STATUS_LINES.get(response.status) or f"HTTP/1.1 {response.status} \r\n".encode()]
    for name, value in response.headers:
        lines.append(b"%b: %b\r\n" % (name, value))
    if response.status not in _BODILESS:
        lines.append(b"content-length: %d\r\n" % length)
    if close:
        lines.append(b"connection: close\r\n")
    lines.append(b"\r\n")
    if head_only or not length or response.status in _BODILESS:
        return [b"".join(lines)]
    if length <= 16 * 1024:
        return [b"".join([*lines, *response.body])]
    return [b"".join(lines), *response.body]
