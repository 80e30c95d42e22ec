"""One connection: bytes become requests, requests are handled one after the other, answers go out in that order."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

import httptools

from ..errors import ServeError
from .message import Headers, Request, Response, encode_response, error_response

if TYPE_CHECKING:
    from .server import HttpServer

log = logging.getLogger(__name__)

# How long the rest of a refused request is read and dropped, so that its client gets to see the answer.
LINGER_SECONDS = 2.0
NEVER = float("inf")


class Connection(asyncio.Protocol):
    """Made by the server for each client. `deadline` is looked at by the server once a second (`expire`)."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._limits = server.limits
        self._now = server.loop.time
        self._parser = httptools.HttpRequestParser(self)
        self._transport: Any = None
        # What waits for its turn: requests, and at last the error that ended reading.
        self._waiting: deque[Request | ServeError] = deque()
        self._current: Request | None = None
        self._answering: asyncio.Future[Response] | None = None
        self._paused = False
        self._client_reads = True
        # True once nothing more is read; bytes that still come are dropped.
        self._deaf = False
        self._lingering = False
        # The request that is being read.
        self._reading = False
        self._target = b""
        self._headers: Headers = []
        self._header_bytes = 0
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._body_began = 0.0
        # Bytes of bodies that are not answered yet.
        self._held = 0
        self._expects_continue = False
        self.deadline = self._now() + self._limits.header_seconds

    @property
    def busy(self) -> bool:
        """True if a request was begun and its answer is not sent."""
        return self._current is not None or bool(self._waiting) or (self._reading and not self._deaf)

    # Called by the server

    def expire(self) -> None:
        """The deadline is over: the client is too slow, or has nothing to ask."""
        if not self._client_reads or self._lingering:
            self._transport.abort()
        elif self._reading and not self._deaf:
            self._fail(ServeError(408, "the request took too long to arrive"))
        else:
            self._transport.close()

    def close_if_idle(self) -> None:
        if not self.busy:
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        if not self._server.opened(self):
            self._fail(ServeError(503, "too many connections", retry_after=1))

    def connection_lost(self, error: Exception | None) -> None:
        self._deaf = True
        self._waiting.clear()
        self._hold(-self._held)
        self._server.closed(self)
        if self._answering is not None:
            self._answering.cancel()

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # Another protocol was offered; the request was read, and is answered in this one. The rest is not HTTP.
            self._deaf = True
            self._advance()
        except httptools.HttpParserError as error:
            # Errors of our own, raised in the callbacks below, are the context of the parser's.
            ours = error.__context__
            self._fail(ours if isinstance(ours, ServeError) else ServeError(400, f"malformed request: {error}"))

    def eof_received(self) -> bool:
        # Ending one side only looks the same as leaving, and who has left must not keep a model busy.
        return False

    def pause_writing(self) -> None:
        self._client_reads = False
        self.deadline = self._now() + self._limits.write_seconds

    def resume_writing(self) -> None:
        self._client_reads = True
        self._advance()

    # Called by the parser

    def on_message_begin(self) -> None:
        self._reading = True
        self._target = b""
        self._headers = []
        self._header_bytes = 0
        self._body = []
        self._body_bytes = 0
        if self._current is None:
            self.deadline = self._now() + self._limits.header_seconds

    def on_url(self, url: bytes) -> None:
        self._target += url
        self._count_header(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_header(len(name) + len(value))
        if len(self._headers) >= self._limits.header_count:
            raise ServeError(431, f"the request has more than {self._limits.header_count} headers")
        name = name.lower()
        self._headers.append((name, value))
        if name == b"content-length":
            if int(value) > self._limits.body_bytes:
                raise self._too_large()
        elif name == b"expect" and value.lower() == b"100-continue":
            self._expects_continue = True

    def on_headers_complete(self) -> None:
        self._body_began = self._now()
        if self._current is None:
            self.deadline = self._body_began + self._limits.body_seconds
        if self._expects_continue:
            self._tell_continue()

    def on_body(self, data: bytes) -> None:
        self._body.append(data)
        self._body_bytes += len(data)
        self._hold(len(data))
        if self._body_bytes > self._limits.body_bytes:
            raise self._too_large()
        if self._current is None:
            limits = self._limits
            self.deadline = self._body_began + limits.body_seconds + self._body_bytes / limits.body_rate

    def on_message_complete(self) -> None:
        self._reading = self._expects_continue = False
        if self._deaf:
            return
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body = []
        target = self._target if self._target.startswith(b"/") else _path_of(self._target)
        # Of HTTP/1.0 only tools of old keep connections, and they want to be told so: each request has its own.
        keep_alive = self._parser.should_keep_alive() and self._parser.get_http_version() != "1.0"
        request = Request(self._parser.get_method(), target, self._headers, body, keep_alive)
        request.received = len(body)
        self._waiting.append(request)
        self._advance()

    def _hold(self, size: int) -> None:
        """Count bytes as held by this connection (or, below zero, as given back); 503 if that is too much for all."""
        self._held += size
        self._server.buffered += size
        if size > 0 and self._server.buffered > self._limits.buffered_bytes:
            raise ServeError(503, "the server is receiving too much at once", retry_after=1)

    def _count_header(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > self._limits.header_bytes:
            raise ServeError(431, f"the headers of the request are larger than {self._limits.header_bytes} bytes")

    def _too_large(self) -> ServeError:
        return ServeError(413, f"request body is larger than {self._limits.body_bytes} bytes")

    # Handling

    def _advance(self) -> None:
        """Handle what waits, as far as nothing is being handled and the client reads its answers."""
        while self._current is None and self._client_reads and self._waiting:
            waiting = self._waiting.popleft()
            if isinstance(waiting, ServeError):
                self._refuse(waiting)
                return
            self._handle(waiting)
            if self._transport.is_closing():
                return
        self._pace_reading()
        if self._current is not None:
            self.deadline = NEVER
        elif self._client_reads:
            self._wait_for_more()

    def _wait_for_more(self) -> None:
        if self._deaf:
            self._transport.close()
        elif self._reading:
            self.deadline = self._now() + self._limits.body_seconds
            if self._expects_continue:
                self._tell_continue()
        else:
            self.deadline = self._now() + self._limits.idle_seconds

    def _pace_reading(self) -> None:
        many = len(self._waiting) >= self._limits.pipelined
        if many and not self._paused:
            self._transport.pause_reading()
        elif self._paused and not many:
            self._transport.resume_reading()
        self._paused = many

    def _handle(self, request: Request) -> None:
        self._current = request
        try:
            result = self._server.handle(request)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is told to its client
            self._answer(_told(error, request))
            return
        if isinstance(result, Response):
            self._answer(result)
        else:
            self._answer_later(result)

    def _answer_later(self, result: Awaitable[Response]) -> None:
        self._answering = asyncio.ensure_future(result)
        self._answering.add_done_callback(self._answered)

    def _answered(self, future: asyncio.Future[Response]) -> None:
        self._answering = None
        error: BaseException | None
        error = ServeError(503, "the request was cancelled") if future.cancelled() else future.exception()
        if self._transport.is_closing() or self._current is None:
            return
        self._answer(future.result() if error is None else _told(error, self._current))
        if not self._transport.is_closing():
            self._advance()

    def _answer(self, response: Response) -> None:
        request, self._current = self._current, None
        if self._transport.is_closing():
            return
        assert request is not None
        if request.received:
            self._hold(-request.received)
        close = response.close or not request.keep_alive or self._server.draining
        parts = encode_response(response, head_only=request.method == "HEAD", close=close)
        if len(parts) == 1:
            self._transport.write(parts[0])
        else:
            self._transport.writelines(parts)
        if close:
            self._deaf = True
            self._waiting.clear()
            self._transport.close()

    def _fail(self, error: ServeError) -> None:
        """Read nothing more; tell the error when the answers before it are sent."""
        if self._deaf or self._transport.is_closing():
            return
        self._deaf = True
        if self._reading:
            self._hold(-self._body_bytes)
        self._body = []
        self._body_bytes = 0
        self._waiting.append(error)
        self._advance()

    def _refuse(self, error: ServeError) -> None:
        # Closing with unread bytes resets the connection, and the client may never see why: drop them for a while.
        response = error_response(error, close=True)
        self._transport.writelines(encode_response(response, head_only=False, close=True))
        self._lingering = True
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        self.deadline = self._now() + LINGER_SECONDS

    def _tell_continue(self) -> None:
        if self._current is None and not self._waiting:
            self._expects_continue = False
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def _told(error: BaseException, request: Request) -> Response:
    """The answer for an error; what nobody expected is logged, and its text stays here."""
    if isinstance(error, ServeError):
        return error_response(error)
    log.error("cannot answer %s %s", request.method, request.path, exc_info=error)
    return error_response(ServeError(500, "internal error of the server; its log has the cause"))


def _path_of(target: bytes) -> bytes:
    """Path and query of a target in absolute form, as proxies send it; others (`*`, `host:port`) as they are."""
    try:
        url = httptools.parse_url(target)
    except httptools.HttpParserInvalidURLError:
        return target
    path = url.path or b"/"
    return path + b"?" + url.query if url.query else path
