"""HTTP to addresses that imports may reach. What counts is the address a socket is connected to, at every hop.

A name is looked up once for each connection, and the connection goes to the address that was judged: a name that
changes its mind between check and use gains nothing. Proxies of the environment are not used, for they would hide
where a connection ends.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.client import HTTPException
from typing import Any
from urllib.parse import urljoin, urlsplit

import urllib3

from millpond.blobs.deadline import Deadline
from millpond.blobs.guarded_connections import guarded
from millpond.blobs.small_requests import SmallAnswer, SmallRequests
from millpond.decide.allowed_addresses import Reach
from millpond.errors import AddressRefused, BadRequest, StoreUnavailable
from millpond.retry import TRANSIENT, RetryPolicy, retry

_REDIRECTS = {301, 302, 303, 307, 308}
_HOPS = 5
_PART = 1 << 20


class GuardedHttp:
    """Requests of one connection. `authorization` goes to the origin of each request's first URL, and nowhere else."""

    def __init__(
        self,
        reach: Reach,
        *,
        authorization: str | None = None,
        policy: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
        deadline: Deadline | None = None,
    ) -> None:
        """Once the `deadline` is over its connections end, whatever the other side sends."""
        self._reach = reach
        self._authorization = authorization
        self._policy = policy or RetryPolicy(attempts=4, first=0.2)
        self._sleep = sleep
        connections = guarded(reach, deadline)
        self._pool, self._small = connections.pool(), SmallRequests(connections)

    def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        follow: bool = True,
        body: Iterable[bytes] | None = None,
    ) -> urllib3.BaseHTTPResponse:
        """The answer, its body not read yet (`body_of`, `parts_of`). Redirects are followed if `follow`. `body` is gone
        through again if it has to be sent again.

        AddressRefused for what may not be reached, StoreUnavailable for what may pass.
        """

        def once() -> urllib3.BaseHTTPResponse:
            try:
                answer = self._follow(method, url, dict(headers or {}), _HOPS if follow else 0, body)
            except urllib3.exceptions.HTTPError as error:
                raise _unavailable(url, _words(error)) from error
            if answer.status in TRANSIENT:
                _leave(answer)
                raise _unavailable(url, f"it answered {answer.status}", status=answer.status)
            return answer

        return retry(once, StoreUnavailable, self._policy, sleep=self._sleep)

    def send_small(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> SmallAnswer:
        """As `request` without redirects, for a body and an answer that are small: a third of the work for each."""

        def once() -> SmallAnswer:
            self._check_scheme(url)
            try:
                answer = self._small.send(method, url, headers, body)
            except (urllib3.exceptions.HTTPError, HTTPException, OSError) as error:
                raise _unavailable(url, _words(error) or type(error).__name__) from error
            if answer.status in TRANSIENT:
                raise _unavailable(url, f"it answered {answer.status}", status=answer.status)
            return answer

        return retry(once, StoreUnavailable, self._policy, sleep=self._sleep)

    def close(self) -> None:
        self._pool.clear()
        self._small.close()

    def _follow(
        self, method: str, url: str, headers: dict[str, str], hops: int, body: Iterable[bytes] | None = None
    ) -> urllib3.BaseHTTPResponse:
        first = _origin(url)
        for _ in range(hops + 1):
            self._check_scheme(url)
            sent = dict(headers)
            if self._authorization and _origin(url) == first:
                sent["Authorization"] = self._authorization
            answer = self._pool.request(
                method, url, headers=sent, body=body, redirect=False, preload_content=False, retries=False
            )
            target = answer.headers.get("Location")
            if not hops or answer.status not in _REDIRECTS or not target:
                return answer
            _leave(answer)
            url = _led_to(url, target)
        raise BadRequest(f"{shown(url)} redirects more than {_HOPS} times.")

    def _check_scheme(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme == "https" or (parts.scheme == "http" and self._reach.lists(parts.hostname or "")):
            return
        raise AddressRefused(
            f"Access to {shown(url)} refused: it is not https.",
            hint="Plain http is only allowed for hosts that an administrator lists (MILL_IMPORT_HOSTS).",
        )


def parts_of(answer: urllib3.BaseHTTPResponse, uri: str) -> Iterator[bytes]:
    """The body, piece by piece. StoreUnavailable if it breaks off."""
    try:
        yield from answer.stream(_PART, decode_content=False)
    except urllib3.exceptions.HTTPError as error:
        raise StoreUnavailable(f"{shown(uri)} was cut off: {_words(error)}.") from error
    finally:
        answer.release_conn()


def body_of(answer: urllib3.BaseHTTPResponse, uri: str, most: int) -> bytes:
    """The whole body. BadRequest if it is longer than `most`."""
    found = bytearray()
    for part in parts_of(answer, uri):
        found += part
        if len(found) > most:
            raise BadRequest(f"The answer of {shown(uri)} is longer than {most:,} bytes.")
    return bytes(found)


def shown(url: str) -> str:
    """Without the query: it may hold a signature, which does not belong into messages and logs."""
    return url.partition("?")[0]


def _leave(answer: urllib3.BaseHTTPResponse) -> None:
    """The body is not wanted, and may have no end: its connection is given up rather than read."""
    answer.close()
    answer.release_conn()


def _led_to(url: str, target: str) -> str:
    """Where a redirect leads. AddressRefused for what two readers could take for different hosts."""
    try:
        told, led = urlsplit(target), urljoin(url, target)
        parts = urlsplit(led)
        is_plain = bool(parts.hostname) and (parts.port or 0) >= 0 and "@" not in parts.netloc
        is_plain = is_plain and bool(told.netloc or not told.scheme)
    except ValueError:
        is_plain, led = False, target
    if not is_plain or any(ord(character) <= 32 or character == "\\" for character in led):
        raise AddressRefused(f"{shown(url)} leads to an address that is not written plainly: {shown(led)[:200]!r}.")
    return led


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def _words(error: BaseException) -> str:
    """What urllib3 says, without the object it says it of: `HTTPConnection(host='a', port=80): Failed to …`."""
    said = re.sub(r"^\w+\(host=.*?\): ", "", str(error))
    return said.rpartition(">: ")[2].strip().rstrip(".")[:200]


def _unavailable(url: str, problem: str, **details: Any) -> StoreUnavailable:
    return StoreUnavailable(f"Unexpected answer from {shown(url)}: {problem}.", **details)
