"""Objects in an S3 bucket, read with a connection's own keys and with nothing that the environment may hold."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Literal
from urllib.parse import unquote_plus
from xml.etree import ElementTree

import urllib3

from millpond.blobs.external import Surroundings, strong
from millpond.blobs.external_web import checked_parts
from millpond.blobs.guarded_http import GuardedHttp, body_of, shown
from millpond.blobs.sigv4 import Keys, Query, encode_path, encode_query, signed_headers, signed_url
from millpond.blobs.small_requests import SmallAnswer
from millpond.errors import BadRequest, Conflict, Forbidden, NotFound, StoreUnavailable
from millpond.model.connection import ExternalObject, Place

_ANSWER_MOST = 16 << 20
_PER_PAGE = "1000"
_WRITE_SECONDS = 3600
# Objects that are sent in one piece with their request.
_SMALL = 1 << 20


class S3Place:
    """ExternalPlace on one bucket. Without keys the bucket must be public."""

    def __init__(self, place: Place, http: GuardedHttp, keys: Keys | None, clock: Callable[[], datetime]) -> None:
        self._place = place
        self._http = http
        self._keys = keys
        self._clock = clock
        # Path style: one host, so that certificates and listed hosts fit, whatever the bucket is called.
        self._bucket_url = f"{place.endpoint or _amazon(place.region)}/{place.bucket}"

    def look(self, uri: str) -> ExternalObject:
        answer = self._send("HEAD", self._url(uri), (), {})
        answer.release_conn()
        _check(answer, uri)
        etag = answer.headers.get("ETag")
        length = answer.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise StoreUnavailable(f"{uri} has no known length.")
        return ExternalObject(uri, int(length), etag if strong(etag) else None)

    def list(self, uri: str) -> Iterator[ExternalObject]:
        for page in self._pages(uri, self._place.key_of(self._covered(uri))):
            yield from self._objects(page)

    def _pages(self, uri: str, prefix: str) -> Iterator[ElementTree.Element]:
        """Each names the next. From the second on, the next one comes while one is looked at."""
        page = self._page(uri, prefix, None)
        yield page
        token = _next_token(page)
        if token is None:
            return
        with ThreadPoolExecutor(1, "s3-list") as ahead:
            coming = ahead.submit(self._page, uri, prefix, token)
            while token is not None:
                page = coming.result()
                token = _next_token(page)
                if token is not None:
                    coming = ahead.submit(self._page, uri, prefix, token)
                yield page

    def _page(self, uri: str, prefix: str, token: str | None) -> ElementTree.Element:
        query = [("list-type", "2"), ("prefix", prefix), ("max-keys", _PER_PAGE), ("encoding-type", "url")]
        if token:
            query.append(("continuation-token", token))
        answer = self._send("GET", f"{self._bucket_url}", query, {})
        _check(answer, uri)
        return _parse(body_of(answer, uri, _ANSWER_MOST), uri)

    def read(self, found: ExternalObject, start: int, end: int) -> Iterator[bytes]:
        if start >= end:
            return
        headers = {"Range": f"bytes={start}-{end - 1}", "If-Match": f'"{strong(found.etag)}"'}
        yield from checked_parts(self._send("GET", self._url(found.uri), (), headers), found, start, end)

    def sign(self, uri: str, seconds: int) -> str | None:
        url = self._url(uri)
        if self._keys is None:
            return url
        return signed_url(url, keys=self._keys, region=self._place.region, now=self._clock(), seconds=seconds)

    def write(self, uri: str, parts: Iterable[bytes], size: int, md5: str, replaces: str | None) -> str:
        told = base64.b64encode(bytes.fromhex(md5)).decode()
        condition = {"If-None-Match": "*"} if replaces is None else {"If-Match": f'"{strong(replaces)}"'}
        headers = {"Content-MD5": told, "Content-Length": str(size), **condition}
        url = self.sign_change("PUT", uri, _WRITE_SECONDS)
        answer: urllib3.BaseHTTPResponse | SmallAnswer
        if size <= _SMALL:
            del headers["Content-Length"]
            answer = self._http.send_small("PUT", url, headers, b"".join(parts))
        else:
            answer = self._http.request("PUT", url, headers, follow=False, body=parts)
        if answer.status in (409, 412):
            _leave(answer)
            raise Conflict(f"Somebody else put {shown(uri)} there first.")
        _check(answer, uri)
        _leave(answer)
        return strong(answer.headers.get("ETag")) or md5

    def remove(self, uri: str) -> None:
        answer = self._http.send_small("DELETE", self.sign_change("DELETE", uri, _WRITE_SECONDS), {}, b"")
        if answer.status not in (204, 404):
            _check(answer, uri)

    def sign_change(self, method: Literal["PUT", "DELETE"], uri: str, seconds: int) -> str:
        url = self._url(uri)
        if self._keys is None:
            return url
        now, region = self._clock(), self._place.region
        return signed_url(url, keys=self._keys, region=region, now=now, seconds=seconds, method=method)

    def close(self) -> None:
        self._http.close()

    def _send(self, method: str, url: str, query: Query, headers: dict[str, str]) -> urllib3.BaseHTTPResponse:
        if self._keys is not None:
            now, region = self._clock(), self._place.region
            headers = headers | signed_headers(method, url, query, keys=self._keys, region=region, now=now)
        # A redirect of S3 means another region: the signature would not fit there.
        return self._http.request(method, f"{url}?{encode_query(query)}" if query else url, headers, follow=False)

    def _url(self, uri: str) -> str:
        return f"{self._bucket_url}/{encode_path(self._place.key_of(self._covered(uri)))}"

    def _covered(self, uri: str) -> str:
        if not self._place.covers(uri):
            raise BadRequest(f"{uri} is not below {self._place.root}.")
        return uri

    def _objects(self, page: ElementTree.Element) -> Iterator[ExternalObject]:
        # As forms are encoded: a blank is `+`. Servers that do not know the option say nothing of it.
        decode = unquote_plus if _text(page, "EncodingType") == "url" else str
        for item in page:
            if _local(item) != "Contents":
                continue
            told = {_local(child): child.text or "" for child in item}
            key, size, etag = decode(told.get("Key", "")), told.get("Size", ""), told.get("ETag")
            if not key or not size.isdecimal():
                raise StoreUnavailable(f"{self._place.root} lists an object without key or size.")
            yield ExternalObject(self._place.uri_of(key), int(size), etag if strong(etag) else None)


def _amazon(region: str) -> str:
    suffix = ".cn" if region.startswith("cn-") else ""
    return f"https://s3.{region}.amazonaws.com{suffix}"


def _leave(answer: urllib3.BaseHTTPResponse | SmallAnswer) -> None:
    if not isinstance(answer, SmallAnswer):
        answer.release_conn()


def _check(answer: urllib3.BaseHTTPResponse | SmallAnswer, uri: str) -> None:
    if answer.status in (200, 206):
        return
    region = answer.headers.get("x-amz-bucket-region")
    if isinstance(answer, SmallAnswer):
        body = answer.body[:1000]
    else:
        body = b"" if answer.status == 404 else answer.read(1000, decode_content=False)
        answer.release_conn()
    if answer.status == 404:
        raise NotFound(f"{shown(uri)} not found.")
    if answer.status in (401, 403):
        raise Forbidden(f"Access to {shown(uri)} denied.", hint="Check the connection's keys, and what they allow.")
    if answer.status in (301, 307) or region:
        where = f": the bucket is in region {region}" if region else ""
        raise BadRequest(
            f"{shown(uri)} redirects elsewhere{where}.", hint="Add the connection again with its --region."
        )
    raise BadRequest(f"{shown(uri)} answered {answer.status}: {body[:200].decode(errors='replace')}")


def _parse(data: bytes, uri: str) -> ElementTree.Element:
    # Entities could make a small answer huge; lists of S3 have none.
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise StoreUnavailable(f"{shown(uri)} answers with something that is not a list of S3.")
    try:
        return ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        raise StoreUnavailable(f"{shown(uri)} answers with something that is not a list of S3.") from error


def _local(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _next_token(page: ElementTree.Element) -> str | None:
    return _text(page, "NextContinuationToken") or None if _text(page, "IsTruncated") == "true" else None


def _text(element: ElementTree.Element, name: str) -> str | None:
    return next((child.text for child in element if _local(child) == name), None)


def open_place(place: Place, credentials: Mapping[str, str], around: Surroundings) -> S3Place:
    keys = None
    if credentials:
        keys = Keys(credentials["key_id"], credentials["secret"], credentials.get("session_token"))
    return S3Place(place, GuardedHttp(around.reach), keys, around.now)
