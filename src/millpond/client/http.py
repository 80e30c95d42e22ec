"""The API over HTTP: one `request`, errors as the server meant them, patience with a server that restarts."""

from __future__ import annotations

# Looking up a host imports it, in whatever thread; a process forked at that moment could never import it again.
import encodings.idna  # noqa: F401
import platform
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

from pydantic import BaseModel, ValidationError

from millpond import __version__
from millpond.client.lean_httpx import httpx
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
from millpond.trust import tls_context
from millpond.wire.base import Page, Problem

Shape = TypeVar("Shape", bound=BaseModel)

API = "/api/v1"
TIMEOUT = httpx.Timeout(60.0, connect=5.0, pool=60.0)
# How long a server that has answered before may be away: longer than a restart takes.
PATIENCE_SECONDS = 60.0
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
        timeout: httpx.Timeout = TIMEOUT,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.token = token
        self._patience = patience
        self._sleep = sleep
        self._answered = threading.Event()
        self._client = httpx.Client(
            headers={"User-Agent": f"millpond/{__version__} python/{platform.python_version()} {platform.system()}"},
            timeout=timeout,
            transport=transport,
            mounts=_direct(self.base_url),
            verify=False if _is_plain(self.base_url) else tls_context(),
            limits=httpx.Limits(max_connections=32, max_keepalive_connections=32),
        )

    def close(self) -> None:
        self._client.close()

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
    ) -> httpx.Response:
        """Send and return a successful response; raise the MillError the answer stands for otherwise.

        `path` begins after `/api/v1`. A call that may be repeated without harm (`idempotent`; by default every method
        but POST and PATCH) is repeated on transient errors, with growing pauses, for `patience` seconds once this
        server has answered at all; a server that never answered is reported at once.
        """
        request = self._build(method, path, body, params, headers, timeout)
        repeatable = method in _IDEMPOTENT if idempotent is None else idempotent
        deadline: float | None = None
        for attempt in range(1_000_000):
            try:
                return self._once(request)
            except MillError as error:
                if not _may_repeat(error, repeatable) or not self._answered.is_set():
                    raise
                now = time.monotonic()
                deadline = deadline or now + self._patience
                pause = min(0.2 * 2**attempt, 5.0) * random.uniform(0.7, 1.3)
                if now + pause > deadline:
                    raise
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
        self, path: str, /, *, headers: Mapping[str, str] | None = None, **params: Any
    ) -> Iterator[httpx.Response]:
        """GET a body piece by piece. Only the start is protected by retries: the reader decides about the rest."""
        request = self._build("GET", path, None, params, headers, None)
        response = self._send(request, stream=True)
        try:
            if response.is_error:
                response.read()
                raise problem_of(response)
            self._answered.set()
            yield response
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        finally:
            response.close()

    def _build(
        self,
        method: str,
        path: str,
        body: BaseModel | bytes | None,
        params: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None,
        timeout: float | None,
    ) -> httpx.Request:
        sent = dict(headers or {})
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        content: bytes | None = None
        if isinstance(body, BaseModel):
            sent["Content-Type"] = "application/json"
            content = body.model_dump_json().encode()
        elif body is not None:
            sent.setdefault("Content-Type", "application/octet-stream")
            content = body
        return self._client.build_request(
            method,
            f"{self.base_url}{API}{path}",
            params={key: value for key, value in (params or {}).items() if value is not None} or None,
            headers=sent,
            content=content,
            timeout=httpx.USE_CLIENT_DEFAULT if timeout is None else httpx.Timeout(timeout, connect=5.0),
        )

    def _once(self, request: httpx.Request) -> httpx.Response:
        response = self._send(request, stream=False)
        if response.status_code not in _TRANSIENT:
            self._answered.set()
        if response.is_success:
            return response
        raise problem_of(response)

    def _send(self, request: httpx.Request, *, stream: bool) -> httpx.Response:
        try:
            return self._client.send(request, stream=stream)
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        except httpx.HTTPError as error:
            raise MillError(f"The answer of {self.base_url} cannot be understood: {error}") from error

    def _unreachable(self, error: httpx.TransportError) -> ServerUnreachable:
        reason = "does not answer in time" if isinstance(error, httpx.TimeoutException) else "cannot be reached"
        local = is_local_host(urlsplit(self.base_url).hostname or "")
        proxied = "" if local else _proxy_words(self.base_url)
        start = (
            "Start it with: mill up   (or name" if local else f"Check the address{proxied} and your network (or name"
        )
        return ServerUnreachable(
            f"The server {self.base_url} {reason}: {error or type(error).__name__}",
            hint=f"{start} another server with --server or MILL_SERVER)",
        )

    def _shape(self, response: httpx.Response, shape: type[Shape]) -> Shape:
        try:
            return shape.model_validate_json(response.content)
        except ValidationError as error:
            raise MillError(
                f"{self.base_url} answered something that is not a {shape.__name__}.",
                hint="Is this a Millpond server, and of a version that fits? Compare: mill version",
            ) from error


def problem_of(response: httpx.Response) -> MillError:
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


def _foreign_error(response: httpx.Response) -> MillError:
    """An answer that no Millpond server gives: something else listens there, or a proxy stands in between."""
    kind = _BY_STATUS.get(response.status_code, MillError)
    return kind(
        f"{response.request.url} answered {response.status_code} {response.reason_phrase}.",
        hint="This does not look like a Millpond server. Check --server, MILL_SERVER and your proxy settings.",
    )


def _may_repeat(error: MillError, repeatable: bool) -> bool:
    """A connection that was never made carried nothing, so anything may be sent again over a new one."""
    never_sent = isinstance(error.__cause__, (httpx.ConnectError, httpx.ConnectTimeout))
    return error.transient and (repeatable or never_sent)


def _proxy_words(base_url: str) -> str:
    """`, the proxy http://… ` when the environment sends calls to this server through one: often it is to blame."""
    parts = urlsplit(base_url)
    proxies = getproxies()
    proxy = urlsplit(proxies.get(parts.scheme) or proxies.get("all") or "")
    return f", the proxy {proxy.hostname}" if proxy.hostname and not proxy_bypass(parts.netloc) else ""


def _is_plain(base_url: str) -> bool:
    """A server of this machine, spoken to without TLS: reading all certificates it might have had takes a while."""
    parts = urlsplit(base_url)
    return parts.scheme == "http" and is_local_host(parts.hostname or "")


def _direct(base_url: str) -> dict[str, httpx.BaseTransport | None]:
    """Proxies of the environment are honoured, except for this server when its address is a local one."""
    host = urlsplit(base_url).hostname or ""
    written = f"[{host}]" if ":" in host else host
    return {f"all://{written}": None} if is_local_host(host) else {}
