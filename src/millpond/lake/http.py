"""The data plane: signed GETs and PUTs of whole packs and pages over HTTP, tried again where that helps."""

from __future__ import annotations

import json
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from hashlib import md5
from typing import cast
from urllib.parse import urljoin, urlsplit

import urllib3

from millpond.blobs.external import strong
from millpond.blobs.external_web import checked_parts
from millpond.blobs.store import CRC32_HEADER, CREATE_HEADER, Buffer
from millpond.errors import MillError, StoreUnavailable, by_code
from millpond.lake.range_reader import RangeReader, Timeouts
from millpond.lake.store_retry import Passing, Result, Tries, Waiting, as_mill_error, failure, wrong_length
from millpond.model.connection import ExternalObject
from millpond.pools import new_pool, words_of
from millpond.proxy import proxy_for
from millpond.retry import TRANSIENT, RetryPolicy

_SENT_BYTES = 1 << 18
# Codes with which a store refuses a body that is not what was sent.
_LOST_ON_THE_WAY = (b"BadDigest", b"IncompleteBody", b"RequestTimeout")


class DataPlane:
    """Signed requests to the object store, or to a server that plays one. Safe for threads.

    403 is Forbidden (a URL that has expired: the caller renews it), 404 NotFound, 507 DiskFull; what may pass is
    retried and at last StoreUnavailable. Goes through the proxy of the environment (`millpond.proxy`).
    """

    def __init__(
        self,
        base_url: str = "",
        *,
        policy: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
        connections: int = 8,
        waiting: Waiting = lambda why: None,
        timeouts: Timeouts | None = None,
    ) -> None:
        """`base_url` completes URLs that begin with `/`."""
        self._base = base_url
        self._tries = Tries(policy, sleep, waiting)
        self._connections = connections
        self._pools: dict[tuple[str | None, bool], urllib3.PoolManager] = {}
        self._lock = threading.Lock()
        timeouts = timeouts or Timeouts()
        self._timeout = urllib3.Timeout(connect=timeouts.connect, read=timeouts.read)
        self._direct = RangeReader(timeouts=timeouts)

    def get(self, url: str) -> bytes:
        return self._again(url, self._get_once)

    def get_range(self, url: str, start: int, end: int) -> bytes:
        """Bytes `start` to `end` (not included), exactly."""
        headers = {"Range": f"bytes={start}-{end - 1}"}

        def once(complete: str) -> bytes:
            answer = self._accepted("GET", complete, None, headers, 206)
            if len(answer.data) != end - start:
                told = answer.headers.get("Content-Range")
                raise wrong_length(complete, len(answer.data), end - start, end, told)
            return answer.data

        return self._again(url, once)

    def get_external(self, url: str, found: ExternalObject, start: int, end: int) -> bytes:
        """Bytes of an object outside the lake, exactly. ChangedOutside if it is not the one that was `found`."""
        headers = {"Range": f"bytes={start}-{end - 1}", "If-Match": f'"{strong(found.etag)}"'}
        headers["Accept-Encoding"] = "identity"
        return self._again(url, lambda complete: self._external_once(complete, headers, found, start, end))

    def put(self, url: str, data: Buffer, headers: Mapping[str, str] | None = None) -> None:
        """Sent with a checksum: a store refuses bytes that were damaged on the way, and they are sent again."""
        sent = dict(headers or {})
        if CRC32_HEADER not in sent:
            sent["Content-MD5"] = b64encode(md5(data, usedforsecurity=False).digest()).decode()
        self._request("PUT", url, data, sent, 200)

    def close(self) -> None:
        self._direct.close()
        for pool in self._pools.values():
            pool.clear()

    def _request(self, method: str, url: str, body: Buffer | None, headers: dict[str, str], expected: int) -> bytes:
        return self._again(url, lambda complete: self._once(method, complete, body, headers, expected))

    def _get_once(self, url: str) -> bytes:
        """Past the general client where that is possible: it takes nearly twice the processor time for a page."""
        came = self._direct.try_get(url) if proxy_for(url) is None else None
        return self._once("GET", url, None, {}, 200) if came is None else came

    def _again(self, url: str, once: Callable[[str], Result]) -> Result:
        return self._tries.again(urljoin(self._base, url), once)

    def _once(self, method: str, url: str, body: Buffer | None, headers: dict[str, str], expected: int) -> bytes:
        return self._accepted(method, url, body, headers, expected).data

    def _accepted(
        self, method: str, url: str, body: Buffer | None, headers: dict[str, str], expected: int
    ) -> urllib3.BaseHTTPResponse:
        try:
            answer = self._answer(method, url, body, headers)
        except urllib3.exceptions.HTTPError as error:
            raise Passing(words_of(error)) from error
        if answer.status == expected or _means_the_same(method, answer, headers):
            return answer
        if method == "PUT" and answer.status == 400 and any(code in answer.data for code in _LOST_ON_THE_WAY):
            raise Passing("the bytes were damaged or cut off in transfer")
        if method == "PUT" and answer.status == 409 and CREATE_HEADER in headers:
            raise Passing("an earlier attempt is still being written")
        raise failure(answer.status, answer.headers.get("Retry-After"), url)

    def _answer(self, method: str, url: str, body: Buffer | None, headers: dict[str, str]) -> urllib3.BaseHTTPResponse:
        if body is None:
            return self._pool(url).request(method, url, headers=headers)
        sent = {**headers, "Content-Length": str(len(body))}
        # Closed also when sending breaks off: a buffer that is looked at cannot be used for the next pack.
        with closing(_pieces(body)) as pieces:
            return self._pool(url).request(method, url, body=pieces, headers=sent)

    def _external_once(self, url: str, headers: dict[str, str], found: ExternalObject, start: int, end: int) -> bytes:
        try:
            answer = self._pool(url).request("GET", url, headers=headers, preload_content=False, redirect=False)
            if answer.status in TRANSIENT:
                answer.drain_conn()
                raise failure(answer.status, answer.headers.get("Retry-After"), url)
            if "problem+json" in answer.headers.get("Content-Type", ""):
                raise _told(answer.read())
            if answer.status == 403:
                raise as_mill_error(403, url)
            return b"".join(checked_parts(answer, found, start, end))
        except (urllib3.exceptions.HTTPError, StoreUnavailable) as error:
            raise Passing(str(error)) from error

    def _pool(self, url: str) -> urllib3.PoolManager:
        key = proxy_for(url), urlsplit(url).scheme == "https"
        with self._lock:
            pool = self._pools.get(key)
            if pool is None:
                pool = self._pools[key] = new_pool(
                    key[0], is_secure=key[1], timeout=self._timeout, connections=self._connections
                )
            return pool


def _pieces(body: Buffer) -> Generator[bytes]:
    """Handed over one by one, without copying: a timeout is one for all that is handed over at once, and over a slow
    line a whole pack takes longer than that."""
    with memoryview(body) as view:
        for start in range(0, len(view), _SENT_BYTES):
            with view[start : start + _SENT_BYTES] as piece:
                # urllib3 sends any buffer; its types only name bytes.
                yield cast(bytes, piece)


def _means_the_same(method: str, answer: urllib3.BaseHTTPResponse, headers: Mapping[str, str]) -> bool:
    """Other ways to say success: a PUT that created, now or before; a range that came as 200 and says it is that."""
    if method == "PUT":
        # What may only be created and is there already came with an earlier try, whose answer was lost.
        return answer.status in (201, 204) or (answer.status == 412 and CREATE_HEADER in headers)
    came = answer.headers.get("Content-Range", "").partition("/")[0]
    return answer.status == 200 and "Range" in headers and came == headers["Range"].replace("=", " ")


def _told(body: bytes) -> MillError:
    """What our own server says is wrong, in its own words."""
    try:
        problem = json.loads(body)
        return by_code(str(problem["code"]))(str(problem["detail"]), hint=problem.get("hint"))
    except (ValueError, KeyError, TypeError):
        return StoreUnavailable("The server returned an invalid error.")
