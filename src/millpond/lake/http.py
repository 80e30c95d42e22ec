"""The data plane: signed GETs and PUTs of whole packs and pages over HTTP, tried again where that helps."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import md5
from http.client import HTTPException
from typing import TypeVar, cast
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

import urllib3

from millpond.blobs.external import strong
from millpond.blobs.external_web import checked_parts
from millpond.blobs.retry import Patience
from millpond.blobs.store import Buffer
from millpond.errors import BadRequest, DiskFull, Forbidden, MillError, NotFound, StoreUnavailable, by_code
from millpond.lake.direct import DirectReads
from millpond.model.address import is_local_host
from millpond.model.connection import ExternalObject

_TIMEOUT = urllib3.Timeout(connect=10.0, read=60.0)
_TRANSIENT = {408, 425, 429, 500, 502, 503, 504}
_LONGEST_ADVICE = 30.0

Result = TypeVar("Result")


class DataPlane:
    """Signed requests to the object store, or to a server that plays one. Safe for threads.

    403 is Forbidden (a URL that has expired: the caller renews it), 404 NotFound, 507 DiskFull; what may pass is
    tried again and at last StoreUnavailable. Proxies of the environment are honoured, but never for local addresses.
    """

    def __init__(
        self,
        base_url: str = "",
        *,
        patience: Patience | None = None,
        sleep: Callable[[float], None] = time.sleep,
        connections: int = 8,
    ) -> None:
        """`base_url` completes URLs that begin with `/`."""
        self._base = base_url
        self._patience = patience or Patience()
        self._sleep = sleep
        self._connections = connections
        self._pools: dict[str | None, urllib3.PoolManager] = {}
        self._direct = DirectReads()
        self._lock = threading.Lock()

    def get(self, url: str) -> bytes:
        return self._request("GET", url, None, {}, 200)

    def get_range(self, url: str, start: int, end: int) -> bytes:
        """Bytes `start` to `end` (not included), exactly."""
        data = self._request("GET", url, None, {"Range": f"bytes={start}-{end - 1}"}, 206)
        if len(data) != end - start:
            raise BadRequest(f"{_shown(url)} does not have bytes {start} to {end}.")
        return data

    def read_range(self, url: str, start: int, end: int, into: memoryview) -> memoryview:
        """The same, into memory that is there already: whoever reads many ranges holds no more than that."""
        into = into[: end - start]
        if proxy_for(urljoin(self._base, url)) is not None:
            into[:] = self.get_range(url, start, end)
            return into
        return self._again(url, lambda complete: self._once_into(complete, start, end, into))

    def get_external(self, url: str, found: ExternalObject, start: int, end: int) -> bytes:
        """Bytes of an object outside the lake, exactly. ChangedOutside if it is not the one that was `found`."""
        headers = {"Range": f"bytes={start}-{end - 1}", "If-Match": f'"{strong(found.etag)}"'}
        headers["Accept-Encoding"] = "identity"
        return self._again(url, lambda complete: self._external_once(complete, headers, found, start, end))

    def put(self, url: str, data: Buffer, headers: Mapping[str, str] | None = None) -> None:
        """Sent with a checksum: a store refuses bytes that were damaged on the way, and they are sent again."""
        checksum = b64encode(md5(data, usedforsecurity=False).digest()).decode()
        self._request("PUT", url, data, {"Content-MD5": checksum, **(headers or {})}, 200)

    def close(self) -> None:
        self._direct.close()
        for pool in self._pools.values():
            pool.clear()

    def _request(self, method: str, url: str, body: Buffer | None, headers: dict[str, str], expected: int) -> bytes:
        return self._again(url, lambda complete: self._once(method, complete, body, headers, expected))

    def _again(self, url: str, once: Callable[[str], Result]) -> Result:
        url = urljoin(self._base, url)
        attempt = 0
        while True:
            try:
                return once(url)
            except _Passing as passing:
                attempt += 1
                if attempt >= self._patience.attempts:
                    raise StoreUnavailable(f"{_shown(url)}: {passing.reason}") from passing
                wait = self._patience.wait(attempt - 1, random.random())
                self._sleep(max(wait, min(passing.advice, _LONGEST_ADVICE)))

    def _once(self, method: str, url: str, body: Buffer | None, headers: dict[str, str], expected: int) -> bytes:
        try:
            # urllib3 sends any buffer without copying it; its types only name bytes.
            answer = self._pool(url).request(method, url, body=cast(bytes | None, body), headers=headers)
        except urllib3.exceptions.HTTPError as error:
            raise _Passing(str(error)) from error
        if answer.status == expected or _means_the_same(method, answer, headers):
            return answer.data
        if method == "PUT" and answer.status == 400 and b"BadDigest" in answer.data:
            raise _Passing("the bytes were damaged on the way")
        raise _failure(answer.status, _seconds(answer.headers.get("Retry-After")), url)

    def _once_into(self, url: str, start: int, end: int, into: memoryview) -> memoryview:
        try:
            status, advice = self._direct.read(url, start, end, into)
        except (OSError, HTTPException) as error:
            raise _Passing(str(error) or type(error).__name__) from error
        if status != 206:
            raise _failure(status, _seconds(advice), url)
        return into

    def _external_once(self, url: str, headers: dict[str, str], found: ExternalObject, start: int, end: int) -> bytes:
        try:
            answer = self._pool(url).request("GET", url, headers=headers, preload_content=False, redirect=False)
            if answer.status in _TRANSIENT:
                answer.drain_conn()
                raise _Passing(f"answered {answer.status}", _seconds(answer.headers.get("Retry-After")))
            if "problem+json" in answer.headers.get("Content-Type", ""):
                raise _told(answer.read())
            if answer.status == 403:
                raise _as_mill_error(403, url)
            return b"".join(checked_parts(answer, found, start, end))
        except (urllib3.exceptions.HTTPError, StoreUnavailable) as error:
            raise _Passing(str(error)) from error

    def _pool(self, url: str) -> urllib3.PoolManager:
        proxy = proxy_for(url)
        with self._lock:
            pool = self._pools.get(proxy)
            if pool is None:
                pool = self._pools[proxy] = self._new_pool(proxy)
            return pool

    def _new_pool(self, proxy: str | None) -> urllib3.PoolManager:
        if proxy is None:
            return urllib3.PoolManager(
                retries=False, timeout=_TIMEOUT, maxsize=self._connections, block=False, blocksize=1 << 16
            )
        return urllib3.ProxyManager(proxy, retries=False, timeout=_TIMEOUT, maxsize=self._connections)


def _failure(status: int, advice: float, url: str) -> Exception:
    """What an answer that is no success stands for."""
    return _Passing(f"answered {status}", advice) if status in _TRANSIENT else _as_mill_error(status, url)


def _means_the_same(method: str, answer: urllib3.BaseHTTPResponse, headers: Mapping[str, str]) -> bool:
    """Other ways to say success: a PUT that created; a range that came as 200, if it says that it is that range."""
    if method == "PUT":
        return answer.status in (201, 204)
    came = answer.headers.get("Content-Range", "").partition("/")[0]
    return answer.status == 200 and "Range" in headers and came == headers["Range"].replace("=", " ")


class _Passing(Exception):
    """An error after which the same request may succeed."""

    def __init__(self, reason: str, advice: float = 0.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice


def proxy_for(url: str, environment: Mapping[str, str] | None = None) -> str | None:
    """The proxy that `http_proxy`, `https_proxy` and `no_proxy` name for this URL; None for local addresses."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_local_host(host):
        return None
    proxies = _proxies(os.environ if environment is None else environment)
    if proxy_bypass_environment(host, proxies):
        return None
    proxy = proxies.get(parts.scheme)
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _proxies(environment: Mapping[str, str]) -> dict[str, str]:
    if environment is os.environ:
        return getproxies_environment()
    return {
        name.lower().removesuffix("_proxy"): value
        for name, value in environment.items()
        if name.lower().endswith("_proxy") and value
    }


def _as_mill_error(status: int, url: str) -> MillError:
    if status == 403:
        return Forbidden(f"{_shown(url)} may not be used, or no longer.", hint="Ask the server for a new URL.")
    if status == 404:
        return NotFound(f"{_shown(url)} is not there.")
    if status == 507:
        return DiskFull(
            f"The lake at {urlsplit(url).netloc} has no room left.",
            hint="Make room there and try again: what has arrived is not sent again.",
        )
    return BadRequest(f"{_shown(url)} answered {status}.")


def _told(body: bytes) -> MillError:
    """What our own server says is wrong, in its own words."""
    try:
        problem = json.loads(body)
        return by_code(str(problem["code"]))(str(problem["detail"]), hint=problem.get("hint"))
    except (ValueError, KeyError, TypeError):
        return StoreUnavailable("The server answered with an error that cannot be read.")


def _shown(url: str) -> str:
    """Without the query: a signature does not belong into messages and logs."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{parts.path}" if parts.netloc else parts.path


def _seconds(text: str | None) -> float:
    return float(text) if text and text.isdigit() else 0.0
