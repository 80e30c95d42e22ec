"""The API over HTTP: one `request`, errors as the server meant them, patience with a server that restarts."""

from __future__ import annotations

import platform
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol, Self, TypeVar
from urllib.parse import quote, urlencode
from uuid import uuid4

from millpond import __version__, tracing
from millpond.client.problems import problem_of
from millpond.client.transport import Request, Response, Streamed, Transport, was_never_sent
from millpond.errors import MillError
from millpond.retry import Backoff, RetryPolicy
from millpond.wire.quick.base import Page

API = "/api/v1"
ANSWER_SECONDS = 60.0
# How long a server that has answered before may be away: longer than a restart takes, and than a minute in which its
# database is away.
PATIENCE_SECONDS = 90.0
# A request that is answered sooner, by whichever try, is no news to anybody.
TOLD_AFTER_SECONDS = 1.0
PAGE_LIMIT = 1000

_IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE"})
_KEYED = frozenset({"POST", "PATCH"})
_KEY_HEADER, _KEYS_HEADER = "Idempotency-Key", "X-Mill-Request-Keys"
# Statuses of a proxy in front of a server that is away, and of a busy server.
_TRANSIENT = frozenset({429, 502, 503, 504})


class Body(Protocol):
    """What is sent: a request of `wire`, or a quick one."""

    def model_dump_json(self) -> str: ...


class HttpAnswer(Protocol):
    """What is read: a response of `wire`, or a quick one. ValueError for what does not have its shape."""

    @classmethod
    def model_validate_json(cls, content: bytes, /) -> Self: ...

    @classmethod
    def model_validate(cls, document: Any, /) -> Self: ...


Shape = TypeVar("Shape", bound=HttpAnswer)
Read = TypeVar("Read")


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
        self._takes_keys = threading.Event()
        self._transport = Transport(self.base_url, timeout)
        self._headers = {
            "User-Agent": f"millpond/{__version__} python/{platform.python_version()} {platform.system()}",
            "Accept": "*/*",
            "Accept-Encoding": "gzip, deflate",
        }

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Body | bytes | None = None,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        idempotent: bool | None = None,
        timeout: float | None = None,
    ) -> Response:
        """Send and return a successful response; raise the MillError the answer stands for otherwise.

        `path` begins after `/api/v1`. A call that may be repeated without harm is repeated on transient errors, with
        growing pauses, for `patience` seconds once this server has answered at all; a server that never answered is
        reported at once. Harmless (`idempotent`) are by default all methods but POST and PATCH, and those as well with
        a server that takes an `Idempotency-Key`.
        """
        repeatable = method in _IDEMPOTENT if idempotent is None else idempotent
        if not repeatable and method in _KEYED and self._takes_keys.is_set():
            # A server that knows the key answers as it did, and does nothing twice.
            headers = {**(headers or {}), _KEY_HEADER: str(uuid4())}
            repeatable = True
        request = self._build(method, path, body, params, headers, timeout)
        return self._patiently(lambda: self._once(request), repeatable=repeatable)

    def get(self, path: str, shape: type[Shape], /, **params: Any) -> Shape:
        return self._understood(self.request("GET", path, params=params), shape.__name__, shape.model_validate_json)

    def send(
        self,
        method: str,
        path: str,
        shape: type[Shape],
        body: Body | bytes | None = None,
        /,
        *,
        idempotent: bool | None = None,
        timeout: float | None = None,
        **params: Any,
    ) -> Shape:
        """A changing call whose answer has a shape."""
        response = self.request(method, path, body=body, params=params, idempotent=idempotent, timeout=timeout)
        return self._understood(response, shape.__name__, shape.model_validate_json)

    def items(self, path: str, shape: type[Shape], /, *, at_most: int | None = None, **params: Any) -> Iterator[Shape]:
        """Everything a list holds (or its first `at_most` items), page after page as it is consumed."""
        limit = PAGE_LIMIT if at_most is None else max(1, min(at_most, PAGE_LIMIT))
        left = at_most
        cursor: str | None = None

        def read_page(content: bytes) -> tuple[list[Shape], str | None]:
            page = Page.model_validate_json(content)
            return [shape.model_validate(item) for item in page.items], page.next

        while left is None or left > 0:
            answer = self.request("GET", path, params={**params, "limit": limit, "cursor": cursor})
            items, cursor = self._understood(answer, f"Page[{shape.__name__}]", read_page)
            yield from items[:left]
            if cursor is None:
                return
            left = None if left is None else left - len(items)

    @contextmanager
    def stream(
        self, path: str, piece_bytes: int, /, *, headers: Mapping[str, str] | None = None, **params: Any
    ) -> Iterator[Streamed]:
        """GET a body in pieces of at most `piece_bytes`. Its beginning is waited for as by `request`.

        Of a body that breaks off nothing is repeated: the reader decides about that.
        """
        request = self._build("GET", path, None, params, headers, None)
        with ExitStack() as stack:
            yield self._patiently(lambda: stack.enter_context(self._begun(request, piece_bytes)), repeatable=True)

    @contextmanager
    def _begun(self, request: Request, piece_bytes: int) -> Iterator[Streamed]:
        with self._transport.streamed(request, piece_bytes) as answer:
            if isinstance(answer, Response):
                raise problem_of(answer)
            self._answered.set()
            yield answer

    def _patiently(self, once: Callable[[], Read], *, repeatable: bool) -> Read:
        began = time.monotonic()
        backoff = Backoff(RetryPolicy(attempts=1, first=0.2, longest=5.0, seconds=self.patience))
        while True:
            try:
                return once()
            except MillError as error:
                pause = backoff.next()
                if not _may_repeat(error, repeatable) or not self._answered.is_set() or backoff.is_over(pause):
                    raise
                if time.monotonic() - began >= TOLD_AFTER_SECONDS:
                    self.waiting(error.message)
            self._sleep(pause)

    def _build(
        self,
        method: str,
        path: str,
        body: Body | bytes | None,
        params: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None,
        timeout: float | None,
    ) -> Request:
        # The same however often it is sent: the logs of proxies and servers name it.
        sent = {"X-Request-Id": secrets.token_hex(8)} | self._headers | dict(headers or {})
        if trace := tracing.traceparent():
            sent.setdefault(tracing.HEADER, trace)
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        content: bytes | None = None
        if isinstance(body, bytes):
            sent.setdefault("Content-Type", "application/octet-stream")
            content = body
        elif body is not None:
            sent["Content-Type"] = "application/json"
            content = body.model_dump_json().encode()
        if content is not None:
            sent["Content-Length"] = str(len(content))
        url = f"{self.base_url}{API}{path}{_query(params or {})}"
        return Request(method, url, sent, content, self._timeout if timeout is None else timeout)

    def _once(self, request: Request) -> Response:
        response = self._transport.exchange(request)
        if response.status not in _TRANSIENT:
            self._answered.set()
        if _KEYS_HEADER in response.headers:
            self._takes_keys.set()
        if response.is_success:
            return response
        raise problem_of(response)

    def _understood(self, response: Response, name: str, read: Callable[[bytes], Read]) -> Read:
        """What `read` makes of an answer that is to be a `name`."""
        try:
            return read(response.content)
        except (ValueError, RecursionError) as error:
            raise MillError(
                f"Unexpected answer from {self.base_url}: not a {name}.",
                hint="Is it a Millpond server of a compatible version? Compare: mill version",
            ) from error


def _may_repeat(error: MillError, repeatable: bool) -> bool:
    """A connection that was never made carried nothing, so anything may be sent again over a new one."""
    return error.transient and (repeatable or was_never_sent(error))


def _query(params: Mapping[str, Any]) -> str:
    """`?a=1&b=true`, of what is not None."""
    said = {key: str(value).lower() if isinstance(value, bool) else value for key, value in params.items()}
    text = urlencode({key: value for key, value in said.items() if value is not None}, doseq=True)
    return f"?{text}" if text else ""
