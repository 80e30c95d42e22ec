"""Files on https sites: single ones, or those that a text there lists. Read by this process alone, guarded."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote, urljoin

import urllib3

from millpond.blobs.external import Surroundings, changed, same_etag, strong
from millpond.blobs.guarded_http import GuardedHttp, body_of, parts_of, shown
from millpond.errors import BadRequest, Forbidden, MillError, NotFound, StoreUnavailable
from millpond.model.connection import ExternalObject, Place

_LIST_MOST = 64 << 20
_PARALLEL = 8
_AHEAD = 256
# As `sha256sum` writes it: digest, a space, and a space or `*` before the name.
_SUM = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")
_SAFE = "/%:=&?~#+!$,;'@()*[]"


class WebPlace:
    """ExternalPlace on one site."""

    def __init__(self, place: Place, http: GuardedHttp) -> None:
        self._place = place
        self._http = http

    def look(self, uri: str) -> ExternalObject:
        answer = self._http.request("HEAD", self._covered(uri), {"Accept-Encoding": "identity"})
        answer.release_conn()
        _check(answer, uri)
        length = answer.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise BadRequest(f"{shown(uri)} has no known length.")
        etag = answer.headers.get("ETag")
        return ExternalObject(uri, int(length), etag if strong(etag) else None)

    def list(self, uri: str) -> Iterator[ExternalObject]:
        """Each line of the text at `uri` names a file relative to it, or is a line of `sha256sum`."""
        answer = self._http.request("GET", self._covered(uri), {"Accept-Encoding": "identity"})
        _check(answer, uri)
        try:
            text = body_of(answer, uri, _LIST_MOST).decode()
        except UnicodeDecodeError as error:
            raise BadRequest(f"{shown(uri)} is not a text that lists files.") from error
        named = list(_named(uri, text))
        with ThreadPoolExecutor(_PARALLEL, "import-look") as pool:
            for start in range(0, len(named), _AHEAD):
                yield from pool.map(self._listed, named[start : start + _AHEAD])

    def read(self, found: ExternalObject, start: int, end: int) -> Iterator[bytes]:
        if start >= end:
            return
        headers = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
        if strong(found.etag):
            headers["If-Match"] = f'"{strong(found.etag)}"'
        answer = self._http.request("GET", self._covered(found.uri), headers)
        yield from checked_parts(answer, found, start, end)

    def sign(self, uri: str, seconds: int) -> str | None:
        return None

    def close(self) -> None:
        self._http.close()

    def _listed(self, item: tuple[str, str | None]) -> ExternalObject:
        uri, digest = item
        try:
            found = self.look(uri)
        except MillError as error:
            raise type(error)(
                f"{shown(uri)}, which is listed, cannot be used: {error.message}", hint=error.hint
            ) from error
        return ExternalObject(uri, found.size, found.etag, digest)

    def _covered(self, uri: str) -> str:
        if not self._place.covers(uri):
            raise BadRequest(f"{shown(uri)} is not below {self._place.root}.")
        return uri


def checked_parts(answer: urllib3.BaseHTTPResponse, found: ExternalObject, start: int, end: int) -> Iterator[bytes]:
    """The wanted bytes of an answer to a GET with `Range` and `If-Match`, or an error: never other bytes.

    A server may ignore both headers, so what it says of its answer is looked at, too.
    """
    if answer.status == 412:
        answer.release_conn()
        raise changed(shown(found.uri), "its ETag differs")
    _check(answer, found.uri)
    if found.etag is not None and not same_etag(answer.headers.get("ETag"), found.etag):
        answer.release_conn()
        raise changed(shown(found.uri), "its ETag differs")
    # Some servers answer 200 and yet send the range, and say so.
    is_part = answer.status == 206 or "Content-Range" in answer.headers
    if is_part and not answer.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
        answer.release_conn()
        raise StoreUnavailable(f"{shown(found.uri)} returned another range than requested.")
    size = _whole_size(answer, is_part=is_part)
    if size is not None and size != found.size:
        answer.release_conn()
        raise changed(shown(found.uri), f"it has {size} bytes, not {found.size}")
    at = start if is_part else 0
    for part in parts_of(answer, found.uri):
        piece = part[max(start - at, 0) : max(end - at, 0)]
        at += len(part)
        if piece:
            yield piece
        if at >= end:
            break
    if at < end:
        raise StoreUnavailable(f"{shown(found.uri)} was cut off after {at} bytes.")


def _whole_size(answer: urllib3.BaseHTTPResponse, *, is_part: bool) -> int | None:
    if is_part:
        told = answer.headers.get("Content-Range", "").rpartition("/")[2]
    else:
        told = answer.headers.get("Content-Length", "")
    return int(told) if told.isdecimal() else None


def _check(answer: urllib3.BaseHTTPResponse, uri: str) -> None:
    if answer.status in (200, 206):
        return
    answer.release_conn()
    if answer.status in (404, 410):
        raise NotFound(f"{shown(uri)} not found.")
    if answer.status in (401, 403):
        raise Forbidden(f"Access to {shown(uri)} denied.", hint="Check the connection's credentials.")
    raise BadRequest(f"{shown(uri)} answered {answer.status}.")


def _named(uri: str, text: str) -> Iterator[tuple[str, str | None]]:
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        found = _SUM.fullmatch(line)
        if found:  # a name as it is on disk
            yield urljoin(uri, quote(found[2].removeprefix("./"))), found[1].lower()
        else:  # a URL, or the end of one
            yield urljoin(uri, quote(line.strip(), safe=_SAFE)), None


def open_place(place: Place, credentials: Mapping[str, str], around: Surroundings) -> WebPlace:
    return WebPlace(place, GuardedHttp(around.reach, authorization=_authorization(credentials)))


def _authorization(credentials: Mapping[str, str]) -> str | None:
    if "bearer" in credentials:
        return f"Bearer {credentials['bearer']}"
    if "user" in credentials:
        return "Basic " + b64encode(f"{credentials['user']}:{credentials['password']}".encode()).decode()
    return None
