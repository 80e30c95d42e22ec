"""The bucket, through the server: it lists objects and signs URLs; bytes go straight between here and the bucket."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .plan import There

TRIES = 5
_PART = 1 << 20
_TIMEOUT = 120.0
# Objects that can be put in one piece.
PUT_MOST = 5 * 2**30
# How long URLs are used; the server signs them for an hour.
URL_SECONDS = 1800.0


class MoveFailed(Exception):
    """What happened, for people."""


class Mismatch(MoveFailed):
    """What arrived is not what was sent."""


@dataclass(frozen=True)
class Server:
    """`token` is the job's own: it reaches nothing but its project."""

    url: str
    token: str
    project: str
    connection: str

    def listed(self, uri: str) -> Iterator[dict[str, Any]]:
        """Everything below `uri`. MoveFailed if the list is cut off."""
        path = f"objects?uri={urllib.parse.quote(uri, safe='')}"
        with self._send("GET", path) as answer:
            for line in answer:
                found = json.loads(line)
                if "end" in found:
                    return
                if "problem" in found:
                    raise MoveFailed(found["problem"])
                yield found
        raise MoveFailed(f"The list of {uri} was cut off.")

    def signed(self, method: str, uris: list[str]) -> list[str]:
        with self._send("POST", "urls", {"method": method, "uris": uris}) as answer:
            found: list[str] = json.load(answer)["urls"]
            return found

    def _send(self, method: str, path: str, body: object = None) -> http.client.HTTPResponse:
        base = f"{self.url}/api/v1/projects/{urllib.parse.quote(self.project)}/connections"
        url = f"{base}/{urllib.parse.quote(self.connection)}/{path}"
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        return _retried(lambda: urllib.request.Request(url, data, headers, method=method))


class Bucket:
    """Objects below one prefix of a connection. Safe for threads."""

    def __init__(self, server: Server, root: str) -> None:
        self._server = server
        self.root = root if root.endswith("/") else f"{root}/"
        # Signed ahead of need, each with the time after which it is signed anew.
        self._urls: dict[tuple[str, str], tuple[str, float]] = {}

    def objects(self) -> Iterator[tuple[str, There]]:
        """Keys behind the prefix, with what lies there."""
        for one in self._server.listed(self.root):
            yield one["uri"].removeprefix(self.root), There(one["size"], plain_etag(one["etag"] or ""))

    def sign_ahead(self, method: str, keys: list[str]) -> None:
        """Ask for the URLs of many requests at once."""
        until = time.monotonic() + URL_SECONDS
        urls = self._server.signed(method, [self.root + key for key in keys])
        self._urls.update({(method, key): (url, until) for key, url in zip(keys, urls, strict=True)})

    def _url(self, method: str, key: str) -> str:
        """Each is given once: whoever asks again has found that it does not work."""
        url, until = self._urls.pop((method, key), ("", 0.0))
        if time.monotonic() > until:
            (url,) = self._server.signed(method, [self.root + key])
        return url

    def fetch(self, key: str, there: There, target: Path) -> str:
        """Write the object to a new file and verify it; its SHA-256. Mismatch if it is another one by now."""
        md5, sha, size = hashlib.md5(usedforsecurity=False), hashlib.sha256(), 0
        with self._get(key) as answer, target.open("wb") as file:
            came = plain_etag(answer.headers.get("ETag") or "")
            if there.etag and came and came != there.etag:
                raise Mismatch("it changed while it was fetched")
            while part := answer.read(_PART):
                md5.update(part)
                sha.update(part)
                size += len(part)
                file.write(part)
        if size != there.size:
            raise Mismatch(f"{size} of {there.size} bytes came")
        if is_md5(there.etag) and md5.hexdigest() != there.etag:
            raise Mismatch("its content has another digest than the bucket says")
        return sha.hexdigest()

    def put(self, key: str, source: Path, replaces: str | None) -> There:
        """Send the file; what the bucket has then. `replaces`: the ETag of the object it takes the place of."""
        size, md5 = source.stat().st_size, md5_of(source)
        if size > PUT_MOST:
            raise MoveFailed("it is larger than 5 GiB, which a bucket takes in parts only")
        condition = {"If-None-Match": "*"} if replaces is None else {"If-Match": f'"{replaces}"'}
        told = base64.b64encode(bytes.fromhex(md5)).decode()
        headers = {"Content-MD5": told, "Content-Length": str(size), **condition}

        def request() -> urllib.request.Request:
            url = self._url("PUT", key)
            return urllib.request.Request(url, _parts(source) if size else b"", headers, method="PUT")

        with _retried(request) as answer:
            etag = plain_etag(answer.headers.get("ETag") or "")
        if is_md5(etag) and etag != md5:
            raise Mismatch("the bucket has another content than was sent")
        return There(size, etag or md5)

    def remove(self, key: str) -> None:
        def request() -> urllib.request.Request:
            return urllib.request.Request(self._url("DELETE", key), method="DELETE")

        _retried(request).close()

    def _get(self, key: str) -> http.client.HTTPResponse:
        def request() -> urllib.request.Request:
            return urllib.request.Request(self._url("GET", key))

        return _retried(request)


def _parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while part := file.read(_PART):
            yield part


def md5_of(path: Path) -> str:
    """As buckets tell it in their ETags."""
    md5 = hashlib.md5(usedforsecurity=False)
    for part in _parts(path):
        md5.update(part)
    return md5.hexdigest()


def plain_etag(text: str) -> str:
    return text.strip('"')


def is_md5(etag: str) -> bool:
    """Of an object that was put in one piece; one that came in parts has another kind of ETag."""
    return len(etag) == 32 and all(character in "0123456789abcdef" for character in etag)


def _retried(make: Any) -> http.client.HTTPResponse:
    """Send what `make` makes, again after what may pass. MoveFailed with the server's or bucket's own words."""
    problem = ""
    for number in range(TRIES):
        if number:
            time.sleep(min(8.0, 0.25 * 2**number))
        try:
            answer: http.client.HTTPResponse = urllib.request.urlopen(make(), timeout=_TIMEOUT, context=_trust())
            return answer
        except urllib.error.HTTPError as error:
            problem = _said(error)
            if error.code in (409, 412):
                raise MoveFailed("somebody else put an object there meanwhile") from error
            if error.code < 500 and error.code not in (408, 429):
                raise MoveFailed(problem) from error
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            problem = str(getattr(error, "reason", error))
    raise MoveFailed(problem)


def _said(error: urllib.error.HTTPError) -> str:
    body = error.read(10_000).decode(errors="replace")
    try:
        found = json.loads(body)
        return f"{found['detail']} {found.get('hint') or ''}".strip()
    except (ValueError, KeyError, TypeError):
        return f"{error.code} {error.reason}"


def _trust() -> ssl.SSLContext | None:
    given = os.environ.get("MILL_CA_FILE")
    return ssl.create_default_context(cafile=given) if given else None
